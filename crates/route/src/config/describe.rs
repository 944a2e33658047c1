//! Descriptions of routes in words.

use super::groups;
use super::write::time;
use crate::text::words::{format_name, hex, id_number, join, payload_bytes};
use crate::{
    FrameMatch, IdFilter, IdSet, PayloadPattern, PortId, ProtectionCounter, RateLimit, Route,
    TriState, WrongFrames,
};
use alloc::{format, string::String, vec::Vec};
use frame::CanId;

/// Returns a description of a route in words: a first line with its name and ports, and further
/// lines, each indented by two blanks. There is no newline at the end.
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
        lines.push(format!("{word} {}", action.describe()));
    }
    if let Some(verify) = &route.verify {
        let wrong = match verify.on_wrong {
            WrongFrames::Drop => "drops",
            WrongFrames::Forward => "counts, and sends,",
        };
        let name = &verify.name;
        lines.push(format!(
            "checks the protection {name}, and {wrong} frames with a wrong one"
        ));
    }
    if let Some(protect) = &route.protect {
        let counter = match protect.counter {
            ProtectionCounter::Keep => "the counter of the received frame",
            ProtectionCounter::Own => "a counter of its own",
        };
        lines.push(format!(
            "writes the protection {}, with {counter}",
            protect.name
        ));
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
        lines.push("local programs on the outgoing interface also see it".into());
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

fn takes(m: &FrameMatch) -> String {
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
        (_, TriState::Yes) => "error frames",
        (TriState::Yes, _) => "remote frames",
        _ => "frames",
    };
    let mut text = if kinds.len() == 3 {
        format!("{what} of every kind")
    } else {
        format!("{} {what}", join(&kinds, "and"))
    };
    if m.rtr == TriState::No {
        text.push_str(", no remote frames");
    }
    if m.err == TriState::Either {
        text.push_str(", error frames too");
    }
    let ids: Vec<String> = m.ids.iter().map(filter_words).collect();
    match &m.message {
        _ if m.ids.is_empty() => text.push_str(", any ID"),
        None => text.push_str(&format!(", {}", join(&ids, "or"))),
        Some(message) => text.push_str(&format!(", {message} ({})", join(&ids, "or"))),
    }
    match m.len {
        Some((a, b)) if a == b => text.push_str(&format!(", {a} bytes long")),
        Some((a, b)) => text.push_str(&format!(", {a} to {b} bytes long")),
        None => {}
    }
    for pattern in &m.payload {
        text.push_str(&format!(", {}", pattern_words(pattern)));
    }
    if let Some(when) = &m.when {
        text.push_str(&format!(", when {}", when.text));
    }
    text
}

fn filter_words(filter: &IdFilter) -> String {
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let but = if filter.inverted { " but" } else { "" };
            let format = format_name(eff);
            if first == last {
                format!("{format}{but} {}", id_number(eff, first))
            } else {
                format!(
                    "{format}{but} {}-{}",
                    id_number(eff, first),
                    id_number(eff, last)
                )
            }
        }
        IdSet::Masked { id, mask } => {
            let is = if filter.inverted { "is not" } else { "is" };
            if mask & CanId::ERR_FLAG != 0 {
                format!("error classes {:X}", mask & CanId::EFF_MASK)
            } else if let (false, Some(words)) = (filter.inverted, groups::words(id, mask)) {
                words
            } else {
                format!("raw ID & {mask:08X} {is} {:08X}", id & mask)
            }
        }
    }
}

fn pattern_words(pattern: &PayloadPattern) -> String {
    let bytes = payload_bytes(pattern.at, pattern.value.len());
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
