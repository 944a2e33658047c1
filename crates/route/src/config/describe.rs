//! Routes in words.

use super::{
    checksum::{hex, polynomial_of},
    write::{number, time},
};
use crate::{
    Action, Crc8Profile, IdFilter, IdSet, Match, Modify, ModifyOp, PayloadPattern, PortId,
    RateLimit, Route, Tri,
};
use alloc::{format, string::String, vec::Vec};
use frame::{CanId, flags};

/// What a route does, in words: a first line with its name and ports, and further lines, each
/// indented by two blanks. No line end at the end.
#[must_use]
pub fn describe(route: &Route, ports: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let to = if route.drop {
        "dropped".into()
    } else {
        format!("to {}", port_names(&route.to, ports))
    };
    lines.push(format!(
        "{}: from {}, {to}",
        route.name,
        port_names(&route.from, ports)
    ));
    lines.push(format!("takes {}", takes(&route.matching)));
    for (i, action) in route.actions.iter().enumerate() {
        let word = if i == 0 { "then" } else { "and" };
        lines.push(format!("{word} {}", action_words(action)));
    }
    if let Some(limit) = &route.limit {
        lines.push(limit_words(limit));
    }
    if let Some(hops) = route.hop_limit {
        lines.push(format!("may pass at most {hops} gateways from here"));
    }
    if route.allow_same_port {
        lines.push("may go back to the port it came from".into());
    }
    if route.echo {
        lines.push("local listeners on the outgoing interface see it too".into());
    }
    if route.keep_stamp {
        lines.push("keeps its receive time stamp".into());
    }
    lines.join("\n  ")
}

fn port_names(list: &[PortId], ports: &[String]) -> String {
    let names: Vec<String> = list
        .iter()
        .map(|id| match ports.get(usize::from(id.0)) {
            Some(name) => name.clone(),
            None => format!("port {}", id.0),
        })
        .collect();
    join(&names, "and")
}

/// `a`, `a and b`, `a, b and c`.
fn join(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

fn takes(m: &Match) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for (set, name) in [
        (m.kinds.classic, "classic"),
        (m.kinds.fd, "FD"),
        (m.kinds.xl, "XL"),
    ] {
        if set {
            kinds.push(name.into());
        }
    }
    let what = match (m.rtr, m.err) {
        (_, Tri::Yes) => "error frames",
        (Tri::Yes, _) => "remote frames",
        _ => "frames",
    };
    let mut text = if kinds.len() == 3 {
        format!("{what} of every kind")
    } else {
        format!("{} {what}", join(&kinds, "and"))
    };
    if m.rtr == Tri::No {
        text.push_str(", no remote frames");
    }
    if m.err == Tri::Either {
        text.push_str(", error frames too");
    }
    if m.ids.is_empty() {
        text.push_str(", any ID");
    } else {
        let ids: Vec<String> = m.ids.iter().map(filter_words).collect();
        text.push_str(&format!(", {}", join(&ids, "or")));
    }
    match m.len {
        Some((a, b)) if a == b => text.push_str(&format!(", {a} bytes long")),
        Some((a, b)) => text.push_str(&format!(", {a} to {b} bytes long")),
        None => {}
    }
    for pattern in &m.payload {
        text.push_str(&format!(", {}", pattern_words(pattern)));
    }
    text
}

fn format_name(eff: bool) -> &'static str {
    if eff { "EFF" } else { "SFF" }
}

fn filter_words(filter: &IdFilter) -> String {
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let but = if filter.inverted { " but" } else { "" };
            let format = format_name(eff);
            if first == last {
                format!("{format}{but} {}", number(eff, first))
            } else {
                format!("{format}{but} {}-{}", number(eff, first), number(eff, last))
            }
        }
        IdSet::Masked { id, mask } => {
            let is = if filter.inverted { "is not" } else { "is" };
            if mask & CanId::ERR_FLAG != 0 {
                format!("error classes {:X}", mask & CanId::EFF_MASK)
            } else {
                format!("raw ID & {mask:08X} {is} {:08X}", id & mask)
            }
        }
    }
}

fn pattern_words(pattern: &PayloadPattern) -> String {
    let bytes = bytes_words(pattern.at, pattern.value.len());
    if pattern.mask.iter().all(|&m| m == 0xFF) {
        format!("{bytes} {}", hex(&pattern.value))
    } else {
        format!(
            "{bytes} & {} is {}",
            hex(&pattern.mask),
            hex(&pattern.value)
        )
    }
}

fn bytes_words(at: u16, count: usize) -> String {
    match count {
        1 => format!("byte {at}"),
        n => format!("bytes {at}-{}", usize::from(at) + n - 1),
    }
}

fn action_words(action: &Action) -> String {
    match action {
        Action::Modify(modify) => modify_words(modify),
        Action::OffsetId { by } => format!("adds {by} to the ID"),
        Action::MapId {
            from,
            to,
            count,
            eff,
        } => {
            let last = from.saturating_add(count.saturating_sub(1));
            let end = to.saturating_add(count.saturating_sub(1));
            let as_format = match eff {
                Some(eff) => format!(" as {}", format_name(*eff)),
                None => String::new(),
            };
            if *count == 1 {
                format!("turns ID {from:03X} into {to:03X}{as_format}")
            } else {
                format!("turns IDs {from:03X}-{last:03X} into {to:03X}-{end:03X}{as_format}")
            }
        }
        Action::CopyBytes {
            from,
            to,
            count,
            clear,
        } => {
            let what = if *clear { "moves" } else { "copies" };
            format!(
                "{what} {} to byte {to}",
                bytes_words(*from, usize::from(*count))
            )
        }
        Action::Crc8(crc) => {
            let table = match polynomial_of(&crc.table) {
                Some(polynomial) => format!("polynomial {polynomial:02X}"),
                None => "its own table".into(),
            };
            let profile = match &crc.profile {
                Crc8Profile::None => String::new(),
                Crc8Profile::OneByte(byte) => format!(", then over {byte:02X}"),
                Crc8Profile::Sixteen(_) => ", then over one of sixteen bytes by counter".into(),
                Crc8Profile::SffIdXor => ", then over the ID's bytes".into(),
            };
            format!(
                "writes a CRC8 of {} to {} ({table}, from {:02X}, XOR {:02X}{profile}) into {}",
                index(crc.from),
                index(crc.to),
                crc.init,
                crc.final_xor,
                index(crc.result)
            )
        }
        Action::XorSum(sum) => format!(
            "writes the XOR of {} to {} (from {:02X}) into {}",
            index(sum.from),
            index(sum.to),
            sum.init,
            index(sum.result)
        ),
    }
}

fn index(index: i16) -> String {
    match index {
        -1 => "the last byte".into(),
        -2 => "the last byte but one".into(),
        n => format!("byte {n}"),
    }
}

fn modify_words(modify: &Modify) -> String {
    let (verb, sign) = match modify.op {
        ModifyOp::Set => ("sets", "to"),
        ModifyOp::And => ("ANDs", "with"),
        ModifyOp::Or => ("ORs", "with"),
        ModifyOp::Xor => ("XORs", "with"),
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(raw) = modify.id {
        let eff = raw & CanId::EFF_FLAG != 0;
        let plain = raw & !CanId::EFF_FLAG;
        let max = if eff {
            CanId::EFF_MASK
        } else {
            CanId::SFF_MASK
        };
        if modify.op == ModifyOp::Set && plain <= max {
            parts.push(format!(
                "the ID {sign} {} {}",
                format_name(eff),
                number(eff, plain)
            ));
        } else {
            parts.push(format!("the raw ID {sign} {raw:08X}"));
        }
    }
    if let Some(len) = modify.len {
        parts.push(format!("the length {sign} {len}"));
    }
    if let Some(bits) = modify.flags {
        let name = match bits {
            flags::BRS => "BRS".into(),
            flags::ESI => "ESI".into(),
            bits => format!("{bits:02X}"),
        };
        parts.push(format!("the FD flags {sign} {name}"));
    }
    if let Some(data) = &modify.data {
        parts.push(format!(
            "{} {sign} {}",
            bytes_words(0, data.len()),
            hex(data)
        ));
    }
    if parts.is_empty() {
        return "changes nothing".into();
    }
    format!("{verb} {}", join(&parts, "and"))
}

fn limit_words(limit: &RateLimit) -> String {
    let per = time(limit.per);
    let per = if per.starts_with(|c: char| c.is_ascii_digit()) {
        per
    } else {
        format!("1{per}")
    };
    let each = match limit.per_id {
        Some(most) => format!(" for each ID, up to {most} IDs"),
        None => String::new(),
    };
    format!(
        "at most {} in {per}{each}, {} at once",
        limit.frames, limit.burst
    )
}
