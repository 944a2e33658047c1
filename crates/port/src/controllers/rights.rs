//! The identifiers that a machine receives and may send, as `gateway.toml` specifies them.

use bus::vcontroller::IdRule;
use config::read::{ReadKey, by};
use config::{Diagnostics, TomlValue, ValueShape};
use frame::CanId;

/// Both lists, as they are in the file; an absent one means all identifiers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RightsText {
    /// Identifiers that the machine receives.
    pub receive: Option<Vec<IdRule>>,
    /// Identifiers that it may send.
    pub send: Option<Vec<IdRule>>,
}

/// A list of identifiers, or one entry of such a list.
pub(crate) fn identifiers<'t>() -> impl ReadKey<'t, Value = Vec<IdRule>> {
    by(
        || ValueShape::OneOrList(Box::new(ValueShape::Text)),
        |value, found| {
            let all = value.one_or_list();
            let rules = all.iter().filter_map(|one| read(one, found));
            Some(rules.flatten().collect())
        },
    )
}

fn read(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<IdRule>> {
    let text = value.string(found)?;
    let rules = rules(text.value);
    if rules.is_none() {
        let message = format!("`{}` names no identifiers", text.value);
        let hint = "write \"123\", \"100-1FF\", \"120:7F0\" (ID:MASK) or \"18FEF100\" (29 bits: 8 digits), all in hex";
        value.wrong(message, hint, found);
    }
    rules
}

/// Parses an identifier, a range or an identifier with a mask, in hex, into rules; 8 digits are 29
/// bits. Data frames and remote frames match alike.
#[must_use]
pub fn rules(text: &str) -> Option<Vec<IdRule>> {
    let text = text.trim();
    if let Some((id, mask)) = text.split_once(':') {
        let (id, width) = number(id)?;
        let (mask, _) = number_of(mask, width)?;
        return Some(vec![rule(id, mask, width)]);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, width) = number(first)?;
    let (last, _) = number_of(last, width)?;
    if first > last {
        return None;
    }
    Some(range(first, last, width))
}

/// Parses an identifier, and returns it with its number of bits: up to three digits are 11 bits,
/// eight are 29.
fn number(text: &str) -> Option<(u32, u32)> {
    let text = text.trim();
    let width = match text.len() {
        1..=3 => 11,
        8 => 29,
        _ => return None,
    };
    number_of(text, width)
}

fn number_of(text: &str, width: u32) -> Option<(u32, u32)> {
    let text = text.trim();
    let digits = text.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u32::from_str_radix(text, 16).ok().filter(|_| digits)?;
    (number < 1 << width).then_some((number, width))
}

const fn rule(id: u32, mask: u32, width: u32) -> IdRule {
    let eff = if width == 29 { CanId::EFF_FLAG } else { 0 };
    IdRule {
        id: id | eff,
        mask: mask | CanId::EFF_FLAG,
    }
}

/// Returns a range as the smallest number of rules with masks.
fn range(mut first: u32, last: u32, width: u32) -> Vec<IdRule> {
    let all = (1 << width) - 1;
    let mut rules = Vec::new();
    loop {
        // The largest aligned block that begins here and does not extend beyond the end.
        let aligned = if first == 0 {
            width
        } else {
            first.trailing_zeros().min(width)
        };
        let size = (0..=aligned)
            .rev()
            .find(|n| u64::from(first) + (1 << n) - 1 <= u64::from(last));
        let bits = size.unwrap_or(0);
        rules.push(rule(first, all & !((1 << bits) - 1), width));
        let end = u64::from(first) + (1 << bits);
        if end > u64::from(last) {
            return rules;
        }
        first = end as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(text: &str, id: CanId) -> bool {
        rules(text).unwrap().iter().any(|rule| rule.matches(id))
    }

    #[test]
    fn identifiers_are_read_in_hex() {
        let sff = |n| CanId::sff(n).unwrap();
        assert!(matches("123", sff(0x123)) && !matches("123", sff(0x122)));
        assert!(matches("123", sff(0x123).with_rtr()));
        assert!(!matches("00000123", sff(0x123)));
        assert!(matches("00000123", CanId::eff(0x123).unwrap()));
        assert!(matches("120:7F0", sff(0x12F)) && !matches("120:7F0", sff(0x130)));
        for wrong in [
            "",
            "800",
            "1234",
            "123-",
            "200-100",
            "xyz",
            "+12",
            "120:8FF",
            "123456789",
        ] {
            assert_eq!(rules(wrong), None, "{wrong}");
        }
        assert_eq!(rules("000-7FF").unwrap().len(), 1);
        assert_eq!(rules("00000000-1FFFFFFF").unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn a_range_is_what_lies_between(a in 0_u32..0x800, b in 0_u32..0x800, id in 0_u32..0x800) {
            let (first, last) = (a.min(b), a.max(b));
            let text = format!("{first:03X}-{last:03X}");
            let inside = (first..=last).contains(&id);
            prop_assert_eq!(matches(&text, CanId::sff(id).unwrap()), inside);
            prop_assert!(!matches(&text, CanId::eff(id).unwrap()));
        }
    }
}
