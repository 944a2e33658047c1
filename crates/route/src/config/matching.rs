//! The keys of a route that specify which frames it takes.

use super::keys::{PatternKeys, RouteKeys};
use super::message::MessageChoice;
use super::{except, groups, payload_limit, when};
use crate::text::message::RouteMessage;
use crate::text::{ids, limits::FrameLimits};
use crate::{FrameMatch, IdFilter, KindSet, PayloadPattern, TriState};
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue};
use alloc::{format, vec, vec::Vec};

/// Returns the limits of the frames that a route takes.
pub(super) fn limits<'m>(
    kinds: Option<KindSet>,
    message: RouteMessage<'m>,
    table: &TomlTable<'_>,
) -> FrameLimits<'m> {
    FrameLimits {
        kinds: kinds.unwrap_or_default(),
        payload: match kinds {
            // The limits of the kinds are unknown; use the largest, so that there is no further
            // error.
            None if table.has("kind") => frame::dlc::XL_MAX,
            None => payload_limit(KindSet::default(), false),
            Some(kinds) => payload_limit(kinds, kinds.xl),
        },
        message,
    }
}

pub(super) fn parse(
    keys: &RouteKeys<'_>,
    limits: FrameLimits<'_>,
    message: Option<&MessageChoice<'_>>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> FrameMatch {
    let length = keys.length.as_ref();
    // The mistakes of `id` are reported together with `message`, too.
    let ids = ids(keys, table, found);
    let when = keys.when.as_ref();
    let matching = FrameMatch {
        ids: message.map_or(ids, |message| message.filters.clone()),
        kinds: limits.kinds,
        rtr: keys.rtr,
        err: keys.error,
        payload: patterns(keys, limits, found),
        len: length.and_then(|value| length_range(value, limits, found)),
        message: message.map(|message| message.names.join(", ")),
        when: when.and_then(|value| when::parse(value, limits, found)),
    };
    check(&matching, table, found);
    matching
}

/// Returns the filters by whichever keys the route has.
fn ids(keys: &RouteKeys<'_>, table: &TomlTable<'_>, found: &mut Diagnostics) -> Vec<IdFilter> {
    let mut filters = id_filters(keys, found);
    filters.extend(groups::filters(keys, table, found));
    except::apply(filters, keys, table, found)
}

fn id_filters(keys: &RouteKeys<'_>, found: &mut Diagnostics) -> Vec<IdFilter> {
    let mut filters = Vec::new();
    let mut inverted = 0;
    for (key, value) in [("id", &keys.id), ("filter", &keys.filter)] {
        let Some(value) = value else {
            continue;
        };
        if value.as_list().is_some_and(|list| list.is_empty()) {
            let message = format!("`{key}` is an empty list");
            value.wrong(message, "leave it out to take all IDs", found);
        }
        for value in value.one_or_list() {
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
                        let message = "a frame needs to match only one filter of the list, so two \
                                       inverted filters together match nearly every ID";
                        let hint = "write the wanted ranges instead";
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

/// Parses `length = 8` or `"2-8"`.
fn length_range(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
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
        let message = format!("`length`: `{text}` is not a valid length");
        value.wrong(message, "write 8, or a range such as \"2-8\"", found);
        return None;
    };
    if usize::from(first.max(last)) > limits.payload {
        too_long(value, usize::from(first.max(last)), limits, found);
        return None;
    }
    if first > last {
        let message = format!("the range `{text}` is reversed");
        value.wrong(message, format!("write \"{last}-{first}\""), found);
        return None;
    }
    Some((first, last))
}

/// Reports a length or a position that requires another kind of frame, and names that kind.
fn too_long(value: &TomlValue<'_>, bytes: usize, limits: FrameLimits<'_>, found: &mut Diagnostics) {
    let message = format!(
        "frames of this route carry at most {} bytes",
        limits.payload
    );
    let hint = if bytes <= frame::dlc::FD_MAX {
        "`kind = \"fd\"` takes frames of up to 64 bytes"
    } else if bytes <= frame::dlc::XL_MAX {
        "only XL frames are longer: add `kind = \"xl\"`"
    } else {
        "XL frames have at most 2048 bytes"
    };
    value.wrong(message, hint, found);
}

fn patterns(
    keys: &RouteKeys<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Vec<PayloadPattern> {
    let all = keys.payload.iter().flat_map(TomlValue::one_or_list);
    all.filter_map(|value| pattern(&value, limits, found))
        .collect()
}

/// Parses `{ at = 0, value = "10", mask = "F0" }`.
fn pattern(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<PayloadPattern> {
    let mut table = value.table("`payload`", found)?;
    let keys = PatternKeys::read(&mut table, found);
    let pattern = check_pattern(keys, &table, limits, found);
    table.finish(found);
    pattern
}

fn check_pattern(
    keys: PatternKeys<'_>,
    table: &TomlTable<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<PayloadPattern> {
    let at = keys.at.map_or(0, |at| position(&at, limits, found));
    let value = keys.value?;
    let count = value.len();
    if count == 0 {
        table.wrong("value", "`value` is empty", "", found);
        return None;
    }
    if usize::from(at) + count > limits.payload {
        let message = format!(
            "byte {} is beyond the {} bytes that frames of this route can carry",
            usize::from(at) + count - 1,
            limits.payload
        );
        table.wrong("value", message, "bytes count from 0", found);
        return None;
    }
    let mask = keys.mask.unwrap_or_else(|| vec![0xFF; count]);
    if mask.len() != count {
        let message = format!("`mask` has {} bytes and `value` has {count}", mask.len());
        table.wrong("mask", message, "write a mask byte for each", found);
        return None;
    }
    if value.iter().zip(&mask).any(|(v, m)| v & !m != 0) {
        let message = "`value` has bits set that `mask` leaves out; they do not matter";
        let span = table.value_span("value");
        found.push(Diagnostic::warning(span, message).hint("write them as 0"));
    }
    Some(PayloadPattern { at, value, mask })
}

/// Reads `at`; 0 if it is wrong.
fn position(value: &TomlValue<'_>, limits: FrameLimits<'_>, found: &mut Diagnostics) -> u16 {
    let beyond = limits.payload as i64..frame::dlc::XL_MAX as i64;
    if let Some(at) = value.as_integer().filter(|at| beyond.contains(at)) {
        too_long(value, at as usize + 1, limits, found);
        return 0;
    }
    let at = value.integer(0..=limits.payload as i64 - 1, found);
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
    if matching.rtr == TriState::Yes && matching.when.is_some() {
        never("when", "remote frames have no payload");
    }
    if let (Some(when), Some((_, last))) = (&matching.when, matching.len)
        && when.least_length() > usize::from(last)
    {
        never("when", "`when` compares signals beyond `length`");
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
