//! Routes back to TOML.

use super::{
    DEFAULT_MAX_IDS,
    checksum::{hex, polynomial_of},
    modify::{ID_FLAGS, op_name},
};
use crate::{
    Action, Crc8, Crc8Profile, IdFilter, IdSet, KindSet, Match, Modify, ModifyOp, PayloadPattern,
    PortId, RateLimit, Route, Tri,
};
use alloc::{format, string::String, vec::Vec};
use core::fmt::Write as _;
use frame::{CanId, dlc};

/// Routes as `[[routes]]` tables. Reading them with the same ports gives the same routes; only the
/// order of a route's ID filters, which has no meaning, may change: those that `id` can say come
/// first. A port without a name in `ports` is written as `port N`.
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

/// A text as a TOML basic string, in quotes.
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

/// Writing into a string cannot fail.
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

/// One element bare, others in brackets.
fn list_of(elements: impl Iterator<Item = String>) -> String {
    let elements: Vec<_> = elements.collect();
    match elements.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

fn write_match(text: &mut String, route: &Route) {
    let m = &route.matching;
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
        Tri::Either => {}
        Tri::Yes => line(text, "rtr", "true"),
        Tri::No => line(text, "rtr", "false"),
    }
    match m.err {
        Tri::Either => line(text, "error", "\"either\""),
        Tri::Yes => line(text, "error", "true"),
        Tri::No => {}
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

/// Elements of `id`, then those that only `filter` can say.
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

/// The filter as an element of `id`, where that means exactly the same.
pub(super) fn id_text(filter: &IdFilter) -> Option<String> {
    let not = if filter.inverted { "!" } else { "" };
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let first_text = number(eff, first);
            Some(if first == last {
                format!("\"{not}{first_text}\"")
            } else {
                format!("\"{not}{first_text}-{}\"", number(eff, last))
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
                .then(|| format!("\"{}:{}\"", number(eff, plain), number(eff, bits)))
        }
    }
}

pub(super) fn number(eff: bool, number: u32) -> String {
    if eff {
        format!("{number:08X}")
    } else {
        format!("{number:03X}")
    }
}

/// Does anything in the route look beyond the 64 bytes of FD?
fn reaches_into_xl(route: &Route) -> bool {
    let fd = dlc::FD_MAX;
    let beyond = |index: i16| index >= fd as i16 || index < -(fd as i16);
    let Match { payload, len, .. } = &route.matching;
    len.is_some_and(|(_, last)| usize::from(last) > fd)
        || payload
            .iter()
            .any(|p| usize::from(p.at) + p.value.len() > fd)
        || route.actions.iter().any(|action| match action {
            Action::CopyBytes {
                from, to, count, ..
            } => usize::from(*from.max(to)) + usize::from(*count) > fd,
            Action::Crc8(c) => beyond(c.from) || beyond(c.to) || beyond(c.result),
            Action::XorSum(x) => beyond(x.from) || beyond(x.to) || beyond(x.result),
            Action::Modify(_) | Action::OffsetId { .. } | Action::MapId { .. } => false,
        })
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

/// A time that is read back exactly: `s`, `20ms`, `1500us`.
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
    match action {
        Action::Modify(modify) => {
            format!("{{ {} = {} }}", op_name(modify.op), modify_text(modify))
        }
        Action::OffsetId { by } => format!("{{ id_offset = {by} }}"),
        Action::MapId {
            from,
            to,
            count,
            eff,
        } => map_text(*from, *to, *count, *eff),
        Action::CopyBytes {
            from,
            to,
            count,
            clear,
        } => {
            let name = if *clear { "move" } else { "copy" };
            format!("{{ {name} = {{ from = {from}, to = {to}, count = {count} }} }}")
        }
        Action::Crc8(crc) => crc_text(crc),
        Action::XorSum(sum) => format!(
            "{{ xor_sum = {{ from = {}, to = {}, result = {}, init = \"{:02X}\" }} }}",
            sum.from, sum.to, sum.result, sum.init
        ),
    }
}

fn modify_text(modify: &Modify) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(raw) = modify.id {
        parts.push(id_operand(modify.op, raw));
    }
    if let Some(len) = modify.len {
        parts.push(format!("len = {len}"));
    }
    if let Some(flags) = modify.flags {
        parts.push(match flags {
            frame::flags::BRS => "flags = [\"brs\"]".into(),
            frame::flags::ESI => "flags = [\"esi\"]".into(),
            bits => format!("flags = \"{bits:02X}\""),
        });
    }
    if let Some(data) = &modify.data {
        parts.push(format!("data = \"{}\"", hex(data)));
    }
    if parts.is_empty() {
        return "{}".into();
    }
    format!("{{ {} }}", parts.join(", "))
}

/// `id` where it says exactly the same as the raw operand, else `raw_id`.
fn id_operand(op: ModifyOp, raw: u32) -> String {
    let flags = raw & ID_FLAGS;
    let bits = raw & !ID_FLAGS;
    let text = match op {
        ModifyOp::Set if flags == CanId::EFF_FLAG => Some(number(true, bits)),
        ModifyOp::Set if flags == 0 && bits <= CanId::SFF_MASK => Some(number(false, bits)),
        ModifyOp::And if flags == ID_FLAGS => Some(number(bits > CanId::SFF_MASK, bits)),
        ModifyOp::Or | ModifyOp::Xor if flags == 0 => Some(number(bits > CanId::SFF_MASK, bits)),
        _ => None,
    };
    match text {
        Some(text) => format!("id = \"{text}\""),
        None => format!("raw_id = \"{raw:08X}\""),
    }
}

fn map_text(from: u32, to: u32, count: u32, eff: Option<bool>) -> String {
    let last = from.saturating_add(count.saturating_sub(1));
    let end = to.saturating_add(count.saturating_sub(1));
    let (from_eff, to_eff) = match eff {
        None => {
            let eff = last.max(end) > CanId::SFF_MASK;
            (eff, eff)
        }
        Some(eff) => (last > CanId::SFF_MASK, eff),
    };
    let first_text = number(from_eff, from);
    let from_text = if count == 1 {
        first_text
    } else {
        format!("{first_text}-{}", number(from_eff, last))
    };
    let mut text = format!(
        "{{ map_id = {{ from = \"{from_text}\", to = \"{}\"",
        number(to_eff, to)
    );
    if let Some(eff) = eff
        && from_eff == to_eff
    {
        push(
            &mut text,
            format_args!(", format = \"{}\"", if eff { "eff" } else { "sff" }),
        );
    }
    text.push_str(" } }");
    text
}

fn crc_text(crc: &Crc8) -> String {
    let table = match polynomial_of(&crc.table) {
        Some(polynomial) => format!("polynomial = \"{polynomial:02X}\""),
        None => format!("table = \"{}\"", hex(&crc.table)),
    };
    let profile = match &crc.profile {
        Crc8Profile::None => String::new(),
        Crc8Profile::OneByte(byte) => format!(", profile = {{ one_byte = \"{byte:02X}\" }}"),
        Crc8Profile::Sixteen(bytes) => format!(", profile = {{ sixteen = \"{}\" }}", hex(bytes)),
        Crc8Profile::SffIdXor => ", profile = { sff_id_xor = true }".into(),
    };
    format!(
        "{{ crc8 = {{ from = {}, to = {}, result = {}, init = \"{:02X}\", final_xor = \"{:02X}\", \
         {table}{profile} }} }}",
        crc.from, crc.to, crc.result, crc.init, crc.final_xor
    )
}
