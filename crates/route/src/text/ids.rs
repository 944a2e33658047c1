//! IDs and ID filters as text.
//!
//! As in candump's output, three hex digits are an SFF ID and eight an EFF ID, so that `123` and
//! `00000123` are different frames.

use crate::{IdFilter, IdSet};
use ::config::{Diagnostics, SpannedValue, TomlValue};
use alloc::{format, string::String, vec, vec::Vec};
use frame::CanId;

/// The mistake in a text, and its remedy.
pub type Wrong = (String, String);

fn wrong<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Wrong> {
    Err((what.into(), hint.into()))
}

/// Parses a string with one of the functions below; mistakes are added to `found`.
pub(crate) fn read<T>(
    value: &TomlValue<'_>,
    read: impl FnOnce(&str) -> Result<T, Wrong>,
    found: &mut Diagnostics,
) -> Option<T> {
    match read(text(value, found)?.value) {
        Ok(read) => Some(read),
        Err((message, hint)) => {
            value.wrong(message, hint, found);
            None
        }
    }
}

/// Returns a text with IDs. If the value is a number, the hint contains the corresponding text.
pub(crate) fn text<'t>(
    value: &TomlValue<'t>,
    found: &mut Diagnostics,
) -> Option<SpannedValue<&'t str>> {
    let (Some((digits, radix)), Some(number)) = (value.as_digits(), value.as_integer()) else {
        return value.string(found);
    };
    let hint = match u32::try_from(number).ok().and_then(as_text) {
        Some(text) if radix == 10 && hex(digits) != hex(&text) => format!(
            "IDs are hexadecimal, in quotes, as candump prints them: \"{text}\" if {digits} is a decimal number"
        ),
        Some(text) => format!("IDs are in quotes, without 0x: \"{text}\""),
        None => "IDs are hexadecimal, in quotes: \"123\" (SFF), \"00000123\" (EFF)".into(),
    };
    value.expected_as("a string of hex digits", hint, found);
    None
}

/// Returns a text with a raw filter. If the value is a number, the hint contains a filter for that
/// ID alone.
pub(crate) fn filter_text<'t>(
    value: &TomlValue<'t>,
    found: &mut Diagnostics,
) -> Option<SpannedValue<&'t str>> {
    let Some(number) = value.as_integer() else {
        return value.string(found);
    };
    let hint = match u32::try_from(number) {
        Ok(id) if id <= CanId::SFF_MASK => {
            format!("write ID:MASK in quotes, without 0x; for this ID alone \"{id:03X}:C00007FF\"")
        }
        Ok(id) if id <= CanId::EFF_MASK => {
            let id = id | CanId::EFF_FLAG;
            format!("write ID:MASK in quotes, without 0x; for this ID alone \"{id:08X}:DFFFFFFF\"")
        }
        _ => "write ID:MASK in quotes, without 0x: \"123:C00007FF\"".into(),
    };
    value.expected_as("a string with an ID and a mask", hint, found);
    None
}

/// Returns a number as an ID of the shortest format that can hold it.
fn as_text(number: u32) -> Option<String> {
    if number <= CanId::SFF_MASK {
        Some(format!("{number:03X}"))
    } else if number <= CanId::EFF_MASK {
        Some(format!("{number:08X}"))
    } else {
        None
    }
}

/// An ID without flags, and its frame format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FormattedId {
    pub(crate) eff: bool,
    pub(crate) number: u32,
}

impl FormattedId {
    pub(crate) fn raw(self) -> u32 {
        if self.eff {
            self.number | CanId::EFF_FLAG
        } else {
            self.number
        }
    }

    pub(crate) fn max(self) -> u32 {
        if self.eff {
            CanId::EFF_MASK
        } else {
            CanId::SFF_MASK
        }
    }
}

fn hex(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    digits.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

/// Parses one ID: three or eight hex digits.
pub(crate) fn id(text: &str) -> Result<FormattedId, Wrong> {
    let text = text.trim();
    let Some(number) = hex(text) else {
        let hint = "write three hex digits for an SFF ID, eight for an EFF ID, without 0x";
        return wrong(format!("`{text}` is not a valid ID"), hint);
    };
    match text.len() {
        3 if number > CanId::SFF_MASK => wrong(
            format!("`{text}` is not a valid SFF ID: 7FF is the highest"),
            format!("as an EFF ID it is \"{number:08X}\""),
        ),
        8 if number > CanId::EFF_MASK => wrong(
            format!("`{text}` is not a valid EFF ID: 1FFFFFFF is the highest"),
            "IDs with flag bits, as in can-gw, belong in `filter` and `raw_id`",
        ),
        3 => Ok(FormattedId { eff: false, number }),
        8 => Ok(FormattedId { eff: true, number }),
        _ => {
            let hint = if number <= CanId::SFF_MASK {
                format!("write \"{number:03X}\" for the SFF ID, \"{number:08X}\" for the EFF ID")
            } else if number <= CanId::EFF_MASK {
                format!("write \"{number:08X}\" for the EFF ID")
            } else {
                "1FFFFFFF is the highest".into()
            };
            wrong(
                format!(
                    "an ID has three or eight digits, `{text}` has {}",
                    text.len()
                ),
                hint,
            )
        }
    }
}

/// Parses `123` or `200-2FF` into the first and the last ID.
pub(crate) fn range(text: &str) -> Result<(FormattedId, FormattedId), Wrong> {
    let Some((first, last)) = text.split_once('-') else {
        let one = id(text)?;
        return Ok((one, one));
    };
    let (first, last) = (id(first)?, id(last)?);
    if first.eff != last.eff {
        return wrong(
            format!("the ends of `{text}` have different frame formats"),
            "write both ends with three digits (SFF) or both with eight (EFF)",
        );
    }
    if first.number > last.number {
        let (a, b) = text.split_once('-').unwrap_or_default();
        return wrong(
            format!("the range `{text}` is reversed"),
            format!("write \"{}-{}\"", b.trim(), a.trim()),
        );
    }
    Ok((first, last))
}

/// Parses an element of `id`: `123`, `200-2FF`, `100:700`, each with `!` in front for all other IDs
/// of that frame format. An inverted mask can result in several filters, of which any one must
/// match.
///
/// # Errors
/// [`Wrong`]
pub fn filters(text: &str) -> Result<Vec<IdFilter>, Wrong> {
    let trimmed = text.trim();
    let (inverted, plain) = match trimmed.strip_prefix('!') {
        Some(rest) => (true, rest.trim()),
        None => (false, trimmed),
    };
    if plain.contains('~') {
        return wrong(
            format!("`{text}` is can-gw's way to write a filter"),
            format!("write `filter = \"{plain}\"`"),
        );
    }
    let Some((value, mask)) = plain.split_once(':') else {
        let (first, last) = range(plain)?;
        let set = IdSet::Range {
            eff: first.eff,
            first: first.number,
            last: last.number,
        };
        return Ok(vec![IdFilter { set, inverted }]);
    };
    let value = id(value)?;
    let mask = mask_of(value, mask.trim())?;
    let unheard = value.number & !mask;
    if unheard != 0 {
        return wrong(
            format!("`{plain}`: the mask leaves out bits that the ID has set"),
            format!("write the ID with those bits 0: {unheard:X} does not matter"),
        );
    }
    if !inverted {
        return Ok(vec![masked(value.raw(), mask)]);
    }
    Ok(others(value, mask))
}

fn mask_of(value: FormattedId, text: &str) -> Result<u32, Wrong> {
    let Some(mask) = hex(text) else {
        return wrong(
            format!("`{text}` is not a valid mask"),
            "write it in hex, without 0x",
        );
    };
    if mask > value.max() {
        let format = if value.eff { "an EFF" } else { "an SFF" };
        return wrong(
            format!("the mask `{text}` is wider than {format} ID"),
            format!(
                "the mask of the whole ID is {:X}; for flag bits, as in can-gw, write `filter = …`",
                value.max()
            ),
        );
    }
    Ok(mask)
}

fn masked(id: u32, mask: u32) -> IdFilter {
    let set = IdSet::Masked {
        id,
        mask: mask | CanId::EFF_FLAG,
    };
    IdFilter {
        set,
        inverted: false,
    }
}

/// Returns filters for all other IDs of the value's format. If the mask consists of leading ones,
/// it matches a block of IDs, and the others are an inverted range; otherwise there is one filter
/// for each bit of the mask, with that bit inverted.
fn others(value: FormattedId, mask: u32) -> Vec<IdFilter> {
    let rest = value.max() & !mask;
    if rest & rest.wrapping_add(1) == 0 {
        let set = IdSet::Range {
            eff: value.eff,
            first: value.number,
            last: value.number | rest,
        };
        return vec![IdFilter {
            set,
            inverted: true,
        }];
    }
    (0..29)
        .map(|n| 1_u32 << n)
        .filter(|bit| mask & bit != 0)
        .map(|bit| masked((value.raw() ^ bit) & (bit | CanId::EFF_FLAG), bit))
        .collect()
}

/// Parses the filter of can-gw and of the raw socket, `123:C00007FF`, or `123~C00007FF` for the
/// others.
///
/// # Errors
/// [`Wrong`]
pub fn raw_filter(text: &str) -> Result<IdFilter, Wrong> {
    let hint = "write ID:MASK in hex as can-gw does, \"123:C00007FF\", or ID~MASK for the others";
    let bad = || {
        (
            format!("`{text}` is not a valid raw filter"),
            String::from(hint),
        )
    };
    let split = text.find([':', '~']).ok_or_else(bad)?;
    let (id, rest) = text.split_at(split);
    let inverted = rest.starts_with('~');
    let id = hex(id.trim()).ok_or_else(bad)?;
    let mask = hex(rest[1..].trim()).ok_or_else(bad)?;
    if inverted && mask & CanId::ERR_FLAG != 0 {
        return wrong(
            format!("`{text}`: a filter for error frames cannot be inverted"),
            "put the wanted error classes into the mask",
        );
    }
    Ok(IdFilter {
        set: IdSet::Masked { id, mask },
        inverted,
    })
}

/// Parses SocketCAN's raw 32 bits: at most eight hex digits.
pub(crate) fn raw_id(text: &str) -> Result<u32, Wrong> {
    match hex(text.trim()) {
        Some(raw) => Ok(raw),
        None => wrong(
            format!("`{text}` is not a valid raw ID"),
            "write up to eight hex digits, flag bits included: \"80000123\"",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(filters: &[IdFilter], raw: u32) -> bool {
        filters.iter().any(|f| {
            let inside = match f.set {
                IdSet::Range { eff, first, last } => {
                    if (raw & CanId::EFF_FLAG != 0) != eff {
                        return false;
                    }
                    (first..=last).contains(&(raw & CanId::EFF_MASK))
                }
                IdSet::Masked { id, mask } => raw & mask == id & mask,
            };
            inside != f.inverted
        })
    }

    #[test]
    fn digits_state_the_format() {
        assert_eq!(
            id("123"),
            Ok(FormattedId {
                eff: false,
                number: 0x123
            })
        );
        assert_eq!(
            id("00000123"),
            Ok(FormattedId {
                eff: true,
                number: 0x123
            })
        );
        for bad in [
            "",
            "12",
            "800",
            "1234",
            "20000000",
            "0x1",
            "+12",
            "12g",
            "１２３",
        ] {
            assert!(id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn inverted_masks_are_exact() {
        for text in ["100:700", "100:701", "000:7FF", "000:000", "555:555"] {
            let plain = filters(text).unwrap();
            let inverted = filters(&format!("!{text}")).unwrap();
            for raw in 0..=0x7FF {
                assert_ne!(
                    matches(&plain, raw),
                    matches(&inverted, raw),
                    "{text} {raw:X}"
                );
                let eff = raw | CanId::EFF_FLAG;
                assert!(
                    !matches(&plain, eff) && !matches(&inverted, eff),
                    "{text} {eff:X}"
                );
            }
        }
    }

    #[test]
    fn raw_filters() {
        assert!(matches(&[raw_filter("123:C00007FF").unwrap()], 0x123));
        assert!(!matches(&[raw_filter("123~C00007FF").unwrap()], 0x123));
        for bad in ["123", ":", "1:2:3", "~7FF", "1~20000000", "123456789:1"] {
            assert!(raw_filter(bad).is_err(), "{bad}");
        }
    }
}
