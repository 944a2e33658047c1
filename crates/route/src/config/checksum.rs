//! `crc8` and `xor_sum`.

use super::matching::Limits;
use crate::{Action, Crc8, Crc8Profile, XorSum};
use ::config::{Diagnostic, Diagnostics, Table, Value};
use alloc::{format, string::String};
use core::fmt::Write as _;

struct Range {
    from: i16,
    to: i16,
    result: i16,
    init: u8,
}

fn range(table: &mut Table<'_>, limits: Limits, found: &mut Diagnostics) -> Option<Range> {
    let most = limits.payload as i64;
    let mut index = |key: &'static str| {
        let index = table.need(key, found)?.integer(-most..=most - 1, found)?;
        Some(index.value as i16)
    };
    let (from, to, result) = (index("from"), index("to"), index("result"));
    let init = table.byte("init", found).map_or(0, |b| b.value);
    let range = Range {
        from: from?,
        to: to?,
        result: result?,
        init,
    };
    // Only where all count from the same end is it certain that the result is part of the sum.
    let inside = (range.from.min(range.to)..=range.from.max(range.to)).contains(&range.result);
    if inside && (range.from < 0) == (range.to < 0) && (range.result < 0) == (range.from < 0) {
        let span = table.key_span("result").unwrap_or_else(|| table.span());
        let message = "the checksum's own byte is part of the sum";
        let hint = "its old value goes into the new one; most protocols leave it out";
        found.push(Diagnostic::warning(span, message).hint(hint));
    }
    Some(range)
}

pub(super) fn xor_sum(v: &Value<'_>, limits: Limits, found: &mut Diagnostics) -> Option<Action> {
    let mut table = v.table("`xor_sum`", found)?;
    let range = range(&mut table, limits, found);
    table.finish(found);
    let range = range?;
    Some(Action::XorSum(XorSum {
        from: range.from,
        to: range.to,
        result: range.result,
        init: range.init,
    }))
}

pub(super) fn crc8(v: &Value<'_>, limits: Limits, found: &mut Diagnostics) -> Option<Action> {
    let mut table = v.table("`crc8`", found)?;
    let range = range(&mut table, limits, found);
    let final_xor = table.byte("final_xor", found).map_or(0, |b| b.value);
    let crc = crc_table(&mut table, found);
    let profile = match table.get("profile") {
        Some(value) => profile(&value, found),
        None => Some(Crc8Profile::None),
    };
    table.finish(found);
    let range = range?;
    Some(Action::Crc8(Crc8 {
        from: range.from,
        to: range.to,
        result: range.result,
        init: range.init,
        final_xor,
        table: crc?,
        profile: profile?,
    }))
}

/// `polynomial = "1D"` or `table = "…"`, 256 bytes.
fn crc_table(table: &mut Table<'_>, found: &mut Diagnostics) -> Option<[u8; 256]> {
    let polynomial = table.get("polynomial");
    let whole = table.get("table");
    match (polynomial, whole) {
        (Some(_), Some(whole)) => {
            let hint = "leave out one of them";
            whole.wrong("`polynomial` and `table` say the same thing", hint, found);
            None
        }
        (Some(value), None) => {
            let polynomial = value.byte(found)?.value;
            if polynomial & 1 == 0 {
                let message = "a CRC polynomial ends in a one";
                let hint = "write it without its top bit, most significant bit first: \"1D\" is \
                            SAE J1850, \"2F\" AUTOSAR";
                found.push(Diagnostic::warning(value.span(), message).hint(hint));
            }
            Some(Crc8::table_of(polynomial))
        }
        (None, Some(value)) => bytes::<256>(&value, found),
        (None, None) => {
            let hint = "add `polynomial = \"1D\"`, or `table = \"…\"` with its 256 bytes";
            table.missing("polynomial", hint, found);
            None
        }
    }
}

/// Exactly `N` bytes in hex.
fn bytes<const N: usize>(value: &Value<'_>, found: &mut Diagnostics) -> Option<[u8; N]> {
    let read = value.hex(found)?;
    let count = read.value.len();
    match <[u8; N]>::try_from(read.value) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            let message = format!("{N} bytes are needed here, this has {count}");
            found.push(Diagnostic::error(read.span, message));
            None
        }
    }
}

/// `{ one_byte = "12" }`, `{ sixteen = "…" }` or `{ sff_id_xor = true }`.
fn profile(value: &Value<'_>, found: &mut Diagnostics) -> Option<Crc8Profile> {
    let mut table = value.table("`profile`", found)?;
    let one = table.get("one_byte");
    let sixteen = table.get("sixteen");
    let id = table.get("sff_id_xor");
    let count = [&one, &sixteen, &id].iter().filter(|p| p.is_some()).count();
    if count != 1 {
        let hint = "write { one_byte = \"12\" }, { sixteen = \"…\" } or { sff_id_xor = true }";
        value.wrong("`profile` names one of can-gw's profiles", hint, found);
        return None;
    }
    table.finish(found);
    if let Some(value) = one {
        return Some(Crc8Profile::OneByte(value.byte(found)?.value));
    }
    if let Some(value) = sixteen {
        return Some(Crc8Profile::Sixteen(bytes::<16>(&value, found)?));
    }
    let value = id?;
    sff_id_xor(&value, found)
}

fn sff_id_xor(value: &Value<'_>, found: &mut Diagnostics) -> Option<Crc8Profile> {
    if value.boolean(found)?.value {
        return Some(Crc8Profile::SffIdXor);
    }
    value.wrong(
        "`sff_id_xor` is chosen by `true`",
        "leave out `profile`",
        found,
    );
    None
}

/// The polynomial that a table was made of, where it is one.
pub(super) fn polynomial_of(table: &[u8; 256]) -> Option<u8> {
    (Crc8::table_of(table[1]) == *table).then_some(table[1])
}

/// Upper-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}
