//! `do = [ … ]`: what happens to a frame, in this order.

use super::{checksum, ids, matching::Limits, modify};
use crate::{Action, ModifyOp};
use ::config::{Diagnostic, Diagnostics, Table, Value};
use alloc::{format, vec::Vec};

/// What reads an action.
type Read = fn(&Value<'_>, Limits, &mut Diagnostics) -> Option<Action>;

/// All actions. A new one is a row here and a function that reads it.
const ACTIONS: [(&str, Read); 10] = [
    ("and", |v, l, f| modify::parse(ModifyOp::And, v, l, f)),
    ("or", |v, l, f| modify::parse(ModifyOp::Or, v, l, f)),
    ("xor", |v, l, f| modify::parse(ModifyOp::Xor, v, l, f)),
    ("set", |v, l, f| modify::parse(ModifyOp::Set, v, l, f)),
    ("id_offset", id_offset),
    ("map_id", map_id),
    ("copy", |v, l, f| copy(v, l, false, f)),
    ("move", |v, l, f| copy(v, l, true, f)),
    ("crc8", checksum::crc8),
    ("xor_sum", checksum::xor_sum),
];

pub(super) fn parse(table: &mut Table<'_>, limits: Limits, found: &mut Diagnostics) -> Vec<Action> {
    let Some(value) = table.get("do") else {
        return Vec::new();
    };
    let Some(list) = value.as_list() else {
        value.expected("a list of actions: [{ set = { … } }, …]", found);
        return Vec::new();
    };
    if list.is_empty() {
        let hint = "leave it out where frames are not changed";
        value.wrong("`do` is an empty list", hint, found);
    }
    list.iter()
        .filter_map(|value| action(value, limits, found))
        .collect()
}

fn action(value: &Value<'_>, limits: Limits, found: &mut Diagnostics) -> Option<Action> {
    let mut table = value.table("`do`", found)?;
    let mut named = Vec::new();
    for (name, read) in ACTIONS {
        if let Some(value) = table.get(name) {
            named.push((value, read));
        }
    }
    if table.is_empty() {
        let hint = "write what is to be done, such as { set = { id = \"123\" } }";
        value.wrong("this action is empty", hint, found);
        return None;
    }
    if let [_, (second, _), ..] = named.as_slice() {
        let d = Diagnostic::error(second.span(), "an action does one thing")
            .hint("write a list of actions: [{ … }, { … }]; they happen in that order");
        found.push(d);
    }
    table.finish(found);
    let (value, read) = named.first()?;
    read(value, limits, found)
}

fn id_offset(value: &Value<'_>, _: Limits, found: &mut Diagnostics) -> Option<Action> {
    const MOST: i64 = 0x1FFF_FFFF;
    let by = value.integer(-MOST..=MOST, found)?.value;
    if by == 0 {
        let d = Diagnostic::warning(value.span(), "an offset of 0 changes nothing");
        found.push(d.hint("leave it out"));
    }
    Some(Action::OffsetId { by })
}

/// `{ from = "100-1FF", to = "500" }`; `format` where digits do not say it.
fn map_id(value: &Value<'_>, _: Limits, found: &mut Diagnostics) -> Option<Action> {
    const FORMATS: [(&str, Option<bool>); 3] =
        [("keep", None), ("sff", Some(false)), ("eff", Some(true))];
    let mut table = value.table("`map_id`", found)?;
    let from_value = table.need("from", found);
    let to_value = table.need("to", found);
    let format = table.one_of("format", &FORMATS, found);
    table.finish(found);
    let (from_value, to_value) = (from_value?, to_value?);
    let from = read(&from_value, ids::range, found);
    let to = read(&to_value, ids::id, found);
    let ((first, last), to) = (from?, to?);
    let eff = match format {
        Some(format) => format.value,
        None => (first.eff != to.eff).then_some(to.eff),
    };
    let count = last.number - first.number + 1;
    let most = if eff.unwrap_or(to.eff) {
        0x1FFF_FFFF
    } else {
        0x7FF
    };
    // Both numbers are below 2^29, so that the sum fits.
    let end = to.number + (count - 1);
    if end > most {
        let message = format!("the block would end at {end:X}, above the highest ID {most:X}");
        let hint = "start lower, or map fewer IDs";
        found.push(Diagnostic::error(to_value.span(), message).hint(hint));
    }
    if first.number == to.number && eff.is_none() {
        let d = Diagnostic::warning(to_value.span(), "every ID is mapped to itself");
        found.push(d.hint("leave it out"));
    }
    Some(Action::MapId {
        from: first.number,
        to: to.number,
        count,
        eff,
    })
}

/// Reads a string with one of the functions of [`ids`].
pub(super) fn read<T>(
    value: &Value<'_>,
    read: impl FnOnce(&str) -> Result<T, ids::Wrong>,
    found: &mut Diagnostics,
) -> Option<T> {
    match read(value.string(found)?.value) {
        Ok(read) => Some(read),
        Err((message, hint)) => {
            value.wrong(message, hint, found);
            None
        }
    }
}

/// `{ from = 0, to = 4, count = 2 }`
fn copy(value: &Value<'_>, limits: Limits, clear: bool, found: &mut Diagnostics) -> Option<Action> {
    let mut table = value.table(if clear { "`move`" } else { "`copy`" }, found)?;
    let most = limits.payload as i64;
    let from = table
        .need("from", found)
        .and_then(|v| v.integer(0..=most - 1, found));
    let to = table
        .need("to", found)
        .and_then(|v| v.integer(0..=most - 1, found));
    let count = table
        .integer("count", 1..=most, found)
        .map_or(1, |n| n.value);
    table.finish(found);
    let (from, to) = (from?, to?);
    for place in [&from, &to] {
        if place.value + count > most {
            let message = format!(
                "byte {} is beyond the {most} bytes that frames of this route can carry",
                place.value + count - 1
            );
            found.push(Diagnostic::error(place.span.clone(), message).hint("bytes count from 0"));
        }
    }
    if from.value == to.value {
        let d = Diagnostic::warning(to.span.clone(), "the bytes stay where they are");
        found.push(d.hint("`from` and `to` are the same"));
    }
    Some(Action::CopyBytes {
        from: from.value as u16,
        to: to.value as u16,
        count: count as u16,
        clear,
    })
}
