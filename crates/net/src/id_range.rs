//! Ranges of identifiers, as files of settings have them.

use frame::CanId;
use std::fmt;

/// Identifiers from the first to the last one, of 11 or 29 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdRange {
    first: u32,
    last: u32,
    is_eff: bool,
}

impl IdRange {
    /// How ranges are written, as advice.
    pub const HINT: &str =
        "write \"123\", \"100-1FF\" or \"18FEF100\" (29 bits: 8 digits), all in hex";

    /// Reads an identifier or a range: `123`, `100-1FF`, `18FEF100` (8 digits: 29 bits). `None` if
    /// the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, is_eff) = number(first.trim())?;
        let (last, last_is_eff) = number(last.trim())?;
        let range = Self {
            first,
            last,
            is_eff,
        };
        (is_eff == last_is_eff && first <= last).then_some(range)
    }

    /// Returns whether an identifier is in the range. Remote frames have the same identifiers.
    #[must_use]
    pub fn contains(&self, id: CanId) -> bool {
        id.is_eff() == self.is_eff && (self.first..=self.last).contains(&id.number())
    }
}

/// Returns the number, and whether it has 29 bits: then it has 8 digits.
fn number(text: &str) -> Option<(u32, bool)> {
    let (is_eff, most) = match text.len() {
        1..=3 => (false, CanId::SFF_MASK),
        8 => (true, CanId::EFF_MASK),
        _ => return None,
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(text, 16).ok().filter(|_| digits)?;
    (number <= most).then_some((number, is_eff))
}

impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.is_eff { 8 } else { 3 };
        write!(f, "{:0width$X}", self.first)?;
        if self.last == self.first {
            return Ok(());
        }
        write!(f, "-{:0width$X}", self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_identifiers() {
        let sff = |id| CanId::sff(id).unwrap();
        let eff = |id| CanId::eff(id).unwrap();
        for (text, id, contained) in [
            ("100-1FF", sff(0x100), true),
            ("100-1FF", sff(0x1FF), true),
            ("100-1FF", sff(0x200), false),
            ("100-1FF", eff(0x100), false),
            ("100-1FF", sff(0x123).with_rtr(), true),
            ("7ff", sff(0x7FF), true),
            ("18FEF100", eff(0x18FE_F100), true),
            ("00000000 - 1FFFFFFF", eff(5), true),
            ("00000000-1FFFFFFF", sff(5), false),
        ] {
            let range = IdRange::parse(text).unwrap();
            assert_eq!(range.contains(id), contained, "{text} {id:?}");
            assert_eq!(IdRange::parse(&range.to_string()), Some(range));
        }
        for wrong in [
            "",
            "800",
            "1234",
            "+12",
            "200-100",
            "100-00000200",
            "20000000",
            "1-",
        ] {
            assert_eq!(IdRange::parse(wrong), None, "{wrong}");
        }
    }
}
