//! Conversion of routes back to TOML.

use super::DEFAULT_MAX_IDS;
use crate::text::words::{hex, id_number};
use crate::{
    Action, FrameMatch, IdFilter, IdSet, KindSet, PayloadPattern, PortId, RateLimit, Route,
    TriState,
};
use alloc::{format, string::String, vec::Vec};
use core::fmt::Write as _;
use frame::{CanId, dlc};

/// Returns routes as `[[routes]]` tables. Parsing them with the same ports gives the same routes.
/// A route names its end-to-end protections (`verify`, `protect`), whose tables `[e2e.NAME]` are
/// not part of the result: the file that is parsed must have them. Only the order of a route's ID
/// filters, which has no meaning, may change: those that `id` can express come first. A port
/// without a name in `ports` is written as `port N`.
#[must_use]
pub fn to_toml(routes: &[Route], ports: &[String]) -> String {
    let mut text = String::new();
    for route in routes {
        if !text.is_empty() {
            text.push('\n');
        }
        write_route(&mut text, route, ports);
    }
    text
}

/// Returns a text as a TOML basic string, in quotes.
#[must_use]
pub fn toml_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => push(&mut out, format_args!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Appends formatted text. Writing into a string cannot fail.
fn push(text: &mut String, what: core::fmt::Arguments<'_>) {
    let _ = text.write_fmt(what);
}

fn line(text: &mut String, key: &str, value: &str) {
    push(text, format_args!("{key} = {value}\n"));
}

fn write_route(text: &mut String, route: &Route, ports: &[String]) {
    text.push_str("[[routes]]\n");
    line(text, "name", &toml_string(&route.name));
    line(text, "from", &port_list(&route.from, ports));
    if !route.to.is_empty() {
        line(text, "to", &port_list(&route.to, ports));
    }
    write_match(text, route);
    if let [action] = route.actions.as_slice() {
        line(text, "do", &format!("[{}]", action_text(action)));
    } else if !route.actions.is_empty() {
        text.push_str("do = [\n");
        for action in &route.actions {
            push(text, format_args!("  {},\n", action_text(action)));
        }
        text.push_str("]\n");
    }
    if let Some(limit) = &route.limit {
        line(text, "limit", &limit_text(limit));
    }
    if let Some(hops) = route.hop_limit {
        line(text, "hop_limit", &format!("{hops}"));
    }
    let verify = route.verify.as_ref().map(|verify| &verify.name);
    let protect = route.protect.as_ref().map(|protect| &protect.name);
    for (key, name) in [("verify", verify), ("protect", protect)] {
        if let Some(name) = name {
            line(text, key, &toml_string(name));
        }
    }
    for (key, set) in [
        ("drop", route.drop),
        ("allow_same_port", route.allow_same_port),
        ("echo", route.echo),
        ("keep_stamp", route.keep_stamp),
    ] {
        if set {
            line(text, key, "true");
        }
    }
}

fn port_list(list: &[PortId], ports: &[String]) -> String {
    list_of(list.iter().map(|id| match ports.get(usize::from(id.0)) {
        Some(name) => toml_string(name),
        None => format!("\"port {}\"", id.0),
    }))
}

/// Returns one element bare, several in brackets.
fn list_of(elements: impl Iterator<Item = String>) -> String {
    let elements: Vec<_> = elements.collect();
    match elements.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

fn write_match(text: &mut String, route: &Route) {
    let m = &route.matching;
    if let Some(message) = &m.message {
        let names = message.split(", ").map(toml_string);
        line(text, "message", &list_of(names));
    }
    if let Some(when) = &m.when {
        line(text, "when", &toml_string(&when.text));
    }
    let (ids, filters) = split(&m.ids);
    if !ids.is_empty() {
        line(text, "id", &list_of(ids.into_iter()));
    }
    if !filters.is_empty() {
        line(text, "filter", &list_of(filters.into_iter()));
    }
    if m.kinds != KindSet::default() || reaches_into_xl(route) {
        let kinds = [
            ("classic", m.kinds.classic),
            ("fd", m.kinds.fd),
            ("xl", m.kinds.xl),
        ];
        let named = kinds.iter().filter(|(_, set)| *set);
        line(
            text,
            "kind",
            &list_of(named.map(|(name, _)| format!("\"{name}\""))),
        );
    }
    match m.rtr {
        TriState::Either => {}
        TriState::Yes => line(text, "rtr", "true"),
        TriState::No => line(text, "rtr", "false"),
    }
    match m.err {
        TriState::Either => line(text, "error", "\"either\""),
        TriState::Yes => line(text, "error", "true"),
        TriState::No => {}
    }
    match m.len {
        Some((a, b)) if a == b => line(text, "length", &format!("{a}")),
        Some((a, b)) => line(text, "length", &format!("\"{a}-{b}\"")),
        None => {}
    }
    if !m.payload.is_empty() {
        line(
            text,
            "payload",
            &list_of(m.payload.iter().map(pattern_text)),
        );
    }
}

/// Splits filters into elements of `id` and those that only `filter` can express.
fn split(filters: &[IdFilter]) -> (Vec<String>, Vec<String>) {
    let (mut ids, mut raw) = (Vec::new(), Vec::new());
    for filter in filters {
        match (id_text(filter), filter.set) {
            (Some(id), _) => ids.push(id),
            (None, IdSet::Masked { id, mask }) => {
                let sign = if filter.inverted { '~' } else { ':' };
                raw.push(format!("\"{id:03X}{sign}{mask:X}\""));
            }
            (None, IdSet::Range { .. }) => {}
        }
    }
    (ids, raw)
}

/// Returns the filter as an element of `id`, if that means exactly the same.
pub(super) fn id_text(filter: &IdFilter) -> Option<String> {
    let not = if filter.inverted { "!" } else { "" };
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let first_text = id_number(eff, first);
            Some(if first == last {
                format!("\"{not}{first_text}\"")
            } else {
                format!("\"{not}{first_text}-{}\"", id_number(eff, last))
            })
        }
        IdSet::Masked { id, mask } => {
            let eff = id & CanId::EFF_FLAG != 0;
            let max = if eff {
                CanId::EFF_MASK
            } else {
                CanId::SFF_MASK
            };
            let plain = id & !CanId::EFF_FLAG;
            let bits = mask & !CanId::EFF_FLAG;
            let same = mask & CanId::EFF_FLAG != 0 && bits <= max && plain & !bits == 0;
            (same && !filter.inverted)
                .then(|| format!("\"{}:{}\"", id_number(eff, plain), id_number(eff, bits)))
        }
    }
}

/// Returns whether a part of the route refers to bytes beyond the 64 of FD.
fn reaches_into_xl(route: &Route) -> bool {
    let fd = dlc::FD_MAX;
    let FrameMatch { payload, len, .. } = &route.matching;
    len.is_some_and(|(_, last)| usize::from(last) > fd)
        || payload
            .iter()
            .any(|p| usize::from(p.at) + p.value.len() > fd)
        || route.actions.iter().any(|action| action.reach() > fd)
}

fn pattern_text(pattern: &PayloadPattern) -> String {
    let mut text = format!(
        "{{ at = {}, value = \"{}\"",
        pattern.at,
        hex(&pattern.value)
    );
    if pattern.mask.iter().any(|&m| m != 0xFF) {
        push(
            &mut text,
            format_args!(", mask = \"{}\"", hex(&pattern.mask)),
        );
    }
    text.push_str(" }");
    text
}

fn limit_text(limit: &RateLimit) -> String {
    let rate = format!("\"{}/{}\"", limit.frames, time(limit.per));
    if limit.burst == 1 && limit.per_id.is_none() {
        return rate;
    }
    let mut text = format!("{{ rate = {rate}, burst = {}", limit.burst);
    match limit.per_id {
        Some(DEFAULT_MAX_IDS) => text.push_str(", per_id = true"),
        Some(most) => push(&mut text, format_args!(", per_id = {most}")),
        None => {}
    }
    text.push_str(" }");
    text
}

/// Returns a time in a form that is parsed exactly: `s`, `20ms`, `1500us`.
pub(super) fn time(ns: u64) -> String {
    for (unit, factor) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
        if ns >= factor && ns.is_multiple_of(factor) {
            return match ns / factor {
                1 => unit.into(),
                n => format!("{n}{unit}"),
            };
        }
    }
    format!("{ns}ns")
}

fn action_text(action: &Action) -> String {
    let (key, value) = action.write();
    format!("{{ {key} = {value} }}")
}
