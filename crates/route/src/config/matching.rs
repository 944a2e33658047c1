//! The keys of a route that specify which frames it takes.

use super::payload_limit;
use crate::text::{ids, limits::FrameLimits};
use crate::{FrameMatch, IdFilter, KindSet, PayloadPattern, TriState};
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use alloc::{boxed::Box, format, vec, vec::Vec};

const KINDS: [(&str, u8); 3] = [("classic", 0), ("fd", 1), ("xl", 2)];

/// Returns the keys that [`parse`] reads.
pub(super) fn keys() -> Vec<KeySpec> {
    let list = |shape| ValueShape::OneOrList(Box::new(shape));
    let tri = || ValueShape::Any(vec![ValueShape::Flag, ValueShape::Words(vec!["either"])]);
    let most = frame::dlc::XL_MAX as i64;
    let payload = vec![
        KeySpec::new(
            "at",
            ValueShape::Integer(0..=most - 1),
            "The first byte, from 0. Default 0.",
        ),
        KeySpec::new("value", ValueShape::Hex, "The bytes.").needed(),
        KeySpec::new(
            "mask",
            ValueShape::Hex,
            "Which of their bits are compared. Default: all.",
        ),
    ];
    vec![
        KeySpec::new(
            "id",
            list(ValueShape::Text),
            "IDs in hex: \"123\" (SFF), \"00000123\" (EFF), \"200-2FF\", \"100:700\" (mask), \"!7DF\".",
        ),
        KeySpec::new(
            "filter",
            list(ValueShape::Text),
            "Raw filters as in can-gw: \"123:C00007FF\", \"123~7FF\".",
        ),
        KeySpec::new(
            "kind",
            list(ValueShape::words(&KINDS)),
            "The kinds of frame. Default: all.",
        ),
        KeySpec::new(
            "rtr",
            tri(),
            "Remote frames: only these, none, or \"either\", the default.",
        ),
        KeySpec::new(
            "error",
            tri(),
            "Error frames: only these, none (the default), or \"either\".",
        ),
        KeySpec::new(
            "payload",
            list(ValueShape::Table(payload)),
            "Payload bytes that must match.",
        ),
        KeySpec::new(
            "length",
            ValueShape::Any(vec![ValueShape::Integer(0..=most), ValueShape::Text]),
            "Number of payload bytes, or a range: 8, \"2-8\".",
        ),
    ]
}

const NO_KIND: KindSet = KindSet {
    classic: false,
    fd: false,
    xl: false,
};

pub(super) fn parse(
    table: &mut TomlTable<'_>,
    found: &mut Diagnostics,
) -> (FrameMatch, FrameLimits) {
    let kinds = kinds(table, found);
    let limits = FrameLimits {
        kinds: kinds.unwrap_or_default(),
        payload: match kinds {
            // The limits of the kinds are unknown; use the largest, so that there is no further
            // error.
            None if table.get("kind").is_some() => frame::dlc::XL_MAX,
            None => payload_limit(KindSet::default(), false),
            Some(kinds) => payload_limit(kinds, kinds.xl),
        },
    };
    let matching = FrameMatch {
        ids: id_filters(table, found),
        kinds: limits.kinds,
        rtr: tri(table, "rtr", TriState::Either, found),
        err: tri(table, "error", TriState::No, found),
        payload: patterns(table, limits, found),
        len: table.get("length").and_then(|v| length(&v, limits, found)),
    };
    check(&matching, table, found);
    (matching, limits)
}

fn kinds(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<KindSet> {
    let value = table.get("kind")?;
    let values = value.one_or_list();
    if values.is_empty() {
        let hint = "leave it out to take all kinds";
        value.wrong("`kind` names no kind of frame", hint, found);
        return None;
    }
    let mut kinds = NO_KIND;
    for value in values {
        match value.one_of(&KINDS, found)?.value {
            0 => kinds.classic = true,
            1 => kinds.fd = true,
            _ => kinds.xl = true,
        }
    }
    Some(kinds)
}

fn id_filters(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Vec<IdFilter> {
    let mut filters = Vec::new();
    let mut inverted = 0;
    for key in ["id", "filter"] {
        if let Some(value) = table.get(key)
            && value.as_list().is_some_and(|list| list.is_empty())
        {
            let message = format!("`{key}` is an empty list");
            value.wrong(message, "leave it out to take all IDs", found);
        }
        for value in table.list(key) {
            let text = match key {
                "id" => ids::text(&value, found),
                _ => ids::filter_text(&value, found),
            };
            let Some(text) = text else {
                continue;
            };
            let read = match key {
                "id" => ids::filters(text.value),
                _ => ids::raw_filter(text.value).map(|filter| vec![filter]),
            };
            match read {
                Ok(read) => {
                    let others =
                        text.value.trim_start().starts_with('!') || text.value.contains('~');
                    inverted += usize::from(others);
                    if inverted == 2 && others {
                        let message = "a frame needs to match one filter of the list only, so two \
                                       inverted ones take nearly every ID";
                        let hint = "write the ranges that are wanted instead";
                        found.push(Diagnostic::warning(text.span, message).hint(hint));
                    }
                    filters.extend(read);
                }
                Err((message, hint)) => value.wrong(message, hint, found),
            }
        }
    }
    filters
}

fn tri(
    table: &mut TomlTable<'_>,
    key: &'static str,
    default: TriState,
    found: &mut Diagnostics,
) -> TriState {
    let Some(value) = table.get(key) else {
        return default;
    };
    match (value.as_bool(), value.as_str()) {
        (Some(true), _) => TriState::Yes,
        (Some(false), _) => TriState::No,
        (_, Some("either")) => TriState::Either,
        _ => {
            value.expected(
                "true (only those), false (none of those) or \"either\"",
                found,
            );
            default
        }
    }
}

/// Parses `length = 8` or `"2-8"`.
fn length(
    value: &TomlValue<'_>,
    limits: FrameLimits,
    found: &mut Diagnostics,
) -> Option<(u16, u16)> {
    if let Some(n) = value.as_integer() {
        if n > limits.payload as i64 && n <= frame::dlc::XL_MAX as i64 {
            too_long(value, n as usize, limits, found);
            return None;
        }
        let n = value.integer(0..=limits.payload as i64, found)?.value as u16;
        return Some((n, n));
    }
    let Some(text) = value.as_str() else {
        value.expected("a length, such as 8, or a range, such as \"2-8\"", found);
        return None;
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |s: &str| s.trim().parse::<u16>().ok();
    let (Some(first), Some(last)) = (number(first), number(last)) else {
        let message = format!("`length`: `{text}` is no length");
        value.wrong(message, "write 8, or a range such as \"2-8\"", found);
        return None;
    };
    if usize::from(first.max(last)) > limits.payload {
        too_long(value, usize::from(first.max(last)), limits, found);
        return None;
    }
    if first > last {
        let message = format!("the range `{text}` is the wrong way round");
        value.wrong(message, format!("write \"{last}-{first}\""), found);
        return None;
    }
    Some((first, last))
}

/// Reports a length or a position that requires another kind of frame, and names that kind.
fn too_long(value: &TomlValue<'_>, bytes: usize, limits: FrameLimits, found: &mut Diagnostics) {
    let message = format!(
        "frames of this route carry at most {} bytes",
        limits.payload
    );
    let hint = if bytes <= frame::dlc::FD_MAX {
        "`kind = \"fd\"` takes frames of up to 64 bytes"
    } else if bytes <= frame::dlc::XL_MAX {
        "only XL frames are longer: `kind = \"xl\"` takes them, and only where it is named are more than 64 \
         bytes meant"
    } else {
        "XL frames have 2048 bytes at most"
    };
    value.wrong(message, hint, found);
}

fn patterns(
    table: &mut TomlTable<'_>,
    limits: FrameLimits,
    found: &mut Diagnostics,
) -> Vec<PayloadPattern> {
    table
        .list("payload")
        .iter()
        .filter_map(|value| pattern(value, limits, found))
        .collect()
}

/// Parses `{ at = 0, value = "10", mask = "F0" }`.
fn pattern(
    value: &TomlValue<'_>,
    limits: FrameLimits,
    found: &mut Diagnostics,
) -> Option<PayloadPattern> {
    let mut table = value.table("`payload`", found)?;
    let at = position(&mut table, limits, found);
    let bytes = table.need("value", found).and_then(|v| v.hex(found));
    let mask = table.hex("mask", found);
    table.finish(found);
    let bytes = bytes?;
    let count = bytes.value.len();
    if count == 0 {
        found.push(Diagnostic::error(bytes.span, "`value` holds no byte"));
        return None;
    }
    if usize::from(at) + count > limits.payload {
        let message = format!(
            "byte {} is beyond the {} bytes that frames of this route can carry",
            usize::from(at) + count - 1,
            limits.payload
        );
        found.push(Diagnostic::error(bytes.span, message).hint("bytes count from 0"));
        return None;
    }
    let mask = match mask {
        None => vec![0xFF; count],
        Some(mask) if mask.value.len() != count => {
            let message = format!(
                "`mask` has {} bytes and `value` has {count}",
                mask.value.len()
            );
            found.push(Diagnostic::error(mask.span, message).hint("write a mask byte for each"));
            return None;
        }
        Some(mask) => mask.value,
    };
    if bytes.value.iter().zip(&mask).any(|(v, m)| v & !m != 0) {
        let message = "`value` has bits set that `mask` leaves out; they do not matter";
        found.push(Diagnostic::warning(bytes.span, message).hint("write them as 0"));
    }
    Some(PayloadPattern {
        at,
        value: bytes.value,
        mask,
    })
}

/// Returns `at`; 0 if it is absent or wrong.
fn position(table: &mut TomlTable<'_>, limits: FrameLimits, found: &mut Diagnostics) -> u16 {
    let beyond = limits.payload as i64..frame::dlc::XL_MAX as i64;
    if let Some(value) = table.get("at")
        && let Some(at) = value.as_integer().filter(|at| beyond.contains(at))
    {
        too_long(&value, at as usize + 1, limits, found);
        return 0;
    }
    let at = table.integer("at", 0..=limits.payload as i64 - 1, found);
    at.map_or(0, |at| at.value as u16)
}

/// Warns of combinations that no frame can match.
fn check(matching: &FrameMatch, table: &TomlTable<'_>, found: &mut Diagnostics) {
    let mut never = |key: &str, message: &str| {
        let span = table.key_span(key).unwrap_or_else(|| table.span());
        let hint = "no frame can match this route";
        found.push(Diagnostic::warning(span, message).hint(hint));
    };
    if !matching.kinds.classic {
        if matching.rtr == TriState::Yes {
            never("rtr", "only classic frames can be remote frames");
        }
        if matching.err == TriState::Yes {
            never("error", "error frames are classic frames");
        }
    }
    if matching.rtr == TriState::Yes && !matching.payload.is_empty() {
        never("payload", "remote frames have no payload");
    }
    if let Some((_, last)) = matching.len {
        for pattern in &matching.payload {
            if usize::from(pattern.at) + pattern.value.len() > usize::from(last) {
                never("payload", "`payload` looks at bytes beyond `length`");
                break;
            }
        }
    }
}
