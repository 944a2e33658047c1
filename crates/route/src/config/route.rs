//! One `[[routes]]` table.

use super::{DEFAULT_MAX_IDS, LONGEST_NAME, PortNames, actions, matching, misnomers};
use crate::{PortId, RateLimit, Route};
use ::config::{Diagnostic, Diagnostics, SpannedValue, TomlTable, TomlValue};
use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String, vec::Vec};
use core::ops::Range;

pub(super) fn parse(
    index: usize,
    mut table: TomlTable<'_>,
    ports: &PortNames<'_>,
    taken: &mut BTreeMap<String, Range<usize>>,
    found: &mut Diagnostics,
) -> Option<Route> {
    table.misnomers(misnomers::ROUTE);
    let name = name(index, &mut table, taken, found);
    if !name.starts_with("route ") {
        table.rename(format!("route `{name}`"));
    }
    let from = port_list(&mut table, "from", ports, found);
    if table.get("from").is_none() {
        table.missing("from", "add `from = \"PORT\"`", found);
    }
    let to = port_list(&mut table, "to", ports, found);
    let (matching, limits) = matching::parse(&mut table, found);
    let actions = actions::parse(&mut table, limits, found);
    let drop = table.flag("drop", false, found);
    check_drop(&mut table, drop, found);
    let limit = table.get("limit").and_then(|v| limit(&v, found));
    let hop_limit = table
        .integer("hop_limit", 1..=6, found)
        .map(|n| n.value as u8);
    let allow_same_port = table.flag("allow_same_port", false, found);
    let echo = table.flag("echo", false, found);
    let keep_stamp = table.flag("keep_stamp", false, found);
    if let ([a], [b]) = (from.as_slice(), to.as_slice())
        && a == b
        && !allow_same_port
    {
        let span = table.key_span("to").unwrap_or_else(|| table.span());
        let d = Diagnostic::error(span, "no frame takes this route: it leads back")
            .hint("`allow_same_port = true` lets frames go back to the port they came from");
        found.push(d);
    }
    actions::misplaced(&mut table, found);
    table.finish(found);
    Some(Route {
        name,
        from,
        to,
        matching,
        actions,
        drop,
        limit,
        hop_limit,
        allow_same_port,
        echo,
        keep_stamp,
    })
}

fn name(
    index: usize,
    table: &mut TomlTable<'_>,
    taken: &mut BTreeMap<String, Range<usize>>,
    found: &mut Diagnostics,
) -> String {
    let given = table.string("name", found);
    let span = given
        .as_ref()
        .map_or_else(|| table.span(), |name| name.span.clone());
    if let Some(name) = &given {
        let text = name.value;
        if text.trim().is_empty() {
            found.push(Diagnostic::error(
                span.clone(),
                "a route's name cannot be empty",
            ));
        } else if text.len() > LONGEST_NAME {
            let message = format!("a route's name has at most {LONGEST_NAME} bytes");
            let label = format!("this has {}", text.len());
            found.push(Diagnostic::error(span.clone(), message).label(label));
        } else if text.chars().any(char::is_control) {
            let message = "a route's name cannot hold control characters";
            found.push(Diagnostic::error(span.clone(), message));
        }
    }
    let name = given.map_or_else(|| format!("route {}", index + 1), |n| n.value.to_owned());
    if taken.contains_key(&name) {
        let message = format!("two routes have the name `{name}`");
        let hint = "give each route a name of its own: counters and messages go by it";
        found.push(Diagnostic::error(span, message).hint(hint));
    } else {
        taken.insert(name.clone(), span);
    }
    name
}

fn port_list(
    table: &mut TomlTable<'_>,
    key: &'static str,
    ports: &PortNames<'_>,
    found: &mut Diagnostics,
) -> Vec<PortId> {
    let Some(value) = table.get(key) else {
        return Vec::new();
    };
    let mut list: Vec<PortId> = Vec::new();
    let values = value.one_or_list();
    if values.is_empty() {
        let message = format!("`{key}` names no port");
        value.wrong(message, format!("write `{key} = \"PORT\"`"), found);
    }
    for value in values {
        let Some(name) = value.string(found) else {
            continue;
        };
        match ports.ids.get(name.value) {
            Some(id) if list.contains(id) => {
                let message = format!("port `{}` is named twice", name.value);
                found.push(Diagnostic::error(name.span, message).hint("name it once"));
            }
            Some(id) => list.push(*id),
            None => {
                let message = format!("there is no port `{}`", name.value);
                let hint = if found.wants_more() {
                    ports.hint(name.value)
                } else {
                    String::new()
                };
                found.missing(Diagnostic::error(name.span, message).hint(hint));
            }
        }
    }
    list
}

fn check_drop(table: &mut TomlTable<'_>, drop: bool, found: &mut Diagnostics) {
    let to = table.get("to").is_some();
    if !drop {
        if !to {
            let hint = "add `to = \"PORT\"`, or `drop = true` where the frames are not wanted";
            table.missing("to", hint, found);
        }
        return;
    }
    let at = |table: &TomlTable<'_>, key: &str| table.key_span(key).unwrap_or_else(|| table.span());
    if to {
        let d = Diagnostic::error(at(table, "to"), "a route that drops leads nowhere")
            .hint("leave out `to`, or `drop`");
        found.push(d);
    }
    for key in ["do", "limit"] {
        if table.get(key).is_some() {
            let message = format!("`{key}` does nothing in a route that drops");
            found.push(Diagnostic::error(at(table, key), message).hint("leave it out"));
        }
    }
    for key in ["hop_limit", "allow_same_port", "echo", "keep_stamp"] {
        if table.get(key).is_some() {
            let message = format!("`{key}` does nothing in a route that drops");
            found.push(Diagnostic::warning(at(table, key), message).hint("leave it out"));
        }
    }
}

/// Parses `limit = "100/s"` or `{ rate = "100/s", burst = 5, per_id = true }`.
fn limit(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<RateLimit> {
    if value.as_str().is_some() {
        let (frames, per) = value.rate(found)?.value;
        return Some(RateLimit {
            frames,
            per,
            burst: 1,
            per_id: None,
        });
    }
    if let Some(frames) = value.as_integer() {
        let message = "a limit is a number of frames in a time";
        value.wrong(message, format!("write `limit = \"{frames}/s\"`"), found);
        return None;
    }
    let mut table = value.table("`limit`", found)?;
    table.misnomers(misnomers::LIMIT);
    let rate = table
        .need("rate", found)
        .and_then(|v| v.rate(found))
        .map(|rate| rate.value);
    let burst = table
        .integer("burst", 1..=1_000_000, found)
        .map_or(1, |n| n.value as u32);
    let per_id = table.get("per_id").and_then(|v| per_id(&v, found));
    table.finish(found);
    let (frames, per) = rate?;
    Some(RateLimit {
        frames,
        per,
        burst,
        per_id: per_id.and_then(|p| p.value),
    })
}

fn per_id(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<Option<u32>>> {
    if let Some(each) = value.as_bool() {
        return Some(value.at(each.then_some(DEFAULT_MAX_IDS)));
    }
    if value.as_integer().is_none() {
        value.expected("true, false or how many IDs are told apart", found);
        return None;
    }
    let most = value.integer(1..=65_536, found)?;
    Some(most.map(|n| Some(n as u32)))
}
