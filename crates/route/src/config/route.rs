//! One `[[routes]]` table.

use super::keys::RouteKeys;
use super::{PortNames, actions, e2e, matching, message};
use crate::text::message::RouteMessage;
use crate::{PortId, Route};
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue};
use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String, vec::Vec};

pub(super) fn parse(
    index: usize,
    mut table: TomlTable<'_>,
    ports: &PortNames<'_>,
    protections: &e2e::ProtectionTables,
    taken: &mut BTreeSet<String>,
    found: &mut Diagnostics,
) -> Option<Route> {
    let number = format!("route {}", index + 1);
    let given = table.get("name").and_then(|name| name.as_str());
    let name = given.map_or_else(|| number.clone(), ToOwned::to_owned);
    if !name.starts_with("route ") {
        table.rename(format!("route `{name}`"));
    }
    let keys = RouteKeys::read(&mut table, found);
    let name = keys.name.clone().unwrap_or(number);
    check_unique(&name, &table, taken, found);
    check_source(&keys, ports, &table, found);
    let from = port_list("from", keys.from.as_ref(), ports, found);
    let to = port_list("to", keys.to.as_ref(), ports, found);
    let databases = match keys.message {
        Some(_) => message::databases(&from, ports),
        None => Vec::new(),
    };
    let message = keys.message.as_ref();
    let message =
        message.map(|value| message::read(value, &keys, &databases, ports, &table, found));
    let named = match &message {
        None => RouteMessage::Unnamed,
        Some(None) => RouteMessage::Wrong,
        Some(Some(choice)) => match choice.definitions.as_slice() {
            [definition] => RouteMessage::One {
                definition,
                when: None,
            },
            _ => RouteMessage::Several,
        },
    };
    let mut limits = matching::limits(keys.kind, named, &table);
    let message = message.as_ref().and_then(Option::as_ref);
    let matching = matching::parse(&keys, limits, message, &table, found);
    if let RouteMessage::One { when, .. } = &mut limits.message {
        *when = matching.when.as_ref();
    }
    let actions = keys.r#do.as_ref();
    let actions = actions.map(|value| actions::parse(value, limits, found));
    let (verify, protect) = e2e::of_route(&keys, protections, found);
    warn_of_gaps(&table, verify.is_some(), found);
    check_drop(&table, keys.drop, found);
    if let ([a], [b]) = (from.as_slice(), to.as_slice())
        && a == b
        && !keys.allow_same_port
    {
        let span = table.key_span("to").unwrap_or_else(|| table.span());
        let d = Diagnostic::error(
            span,
            "no frame takes this route: it leads back to the port that \
                                         its frames come from",
        )
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
        actions: actions.unwrap_or_default(),
        drop: keys.drop,
        limit: keys.limit,
        hop_limit: keys.hop_limit,
        allow_same_port: keys.allow_same_port,
        echo: keys.echo,
        keep_stamp: keys.keep_stamp,
        verify,
        protect,
    })
}

/// Reports a port whose name is a number in hex as the `source` of a route without `from`. Other
/// names are no addresses, which [`groups`](super::groups) reports.
fn check_source(
    keys: &RouteKeys<'_>,
    ports: &PortNames<'_>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) {
    let text = keys.source.as_ref().and_then(TomlValue::as_str);
    let is_port = text.is_some_and(|text| ports.ids.contains_key(text));
    let is_hex = text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if keys.from.is_none() && is_port && is_hex {
        let span = table.key_span("source").unwrap_or_else(|| table.span());
        let message = "`source` is the address of a sender in J1939, and the route has no `from`";
        let hint = "did you mean `from`? That is the port where frames come from";
        found.push(Diagnostic::error(span, message).hint(hint));
    }
}

/// Reports a name that another route has.
fn check_unique(
    name: &str,
    table: &TomlTable<'_>,
    taken: &mut BTreeSet<String>,
    found: &mut Diagnostics,
) {
    if !taken.insert(name.to_owned()) {
        let message = format!("two routes have the name `{name}`");
        let hint = "give each route a name of its own: counters and messages use it";
        table.wrong("name", message, hint, found);
    }
}

fn port_list(
    key: &str,
    value: Option<&TomlValue<'_>>,
    ports: &PortNames<'_>,
    found: &mut Diagnostics,
) -> Vec<PortId> {
    let Some(value) = value else {
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

/// Warns of a route that checks the sequence of frames of which it does not take all.
fn warn_of_gaps(table: &TomlTable<'_>, verifies: bool, found: &mut Diagnostics) {
    let conditions = ["when", "payload", "length"];
    let Some(key) = conditions
        .iter()
        .find(|key| table.has(key))
        .filter(|_| verifies)
    else {
        return;
    };
    let message = format!(
        "`verify` misses the frames that `{key}` leaves out: they count as lost in the sequence"
    );
    let hint = "let the route that verifies take all frames of the message, and put the condition into another route";
    let span = table.key_span(key).unwrap_or_else(|| table.span());
    found.push(Diagnostic::warning(span, message).hint(hint));
}

fn check_drop(table: &TomlTable<'_>, drop: bool, found: &mut Diagnostics) {
    let to = table.has("to");
    if !drop {
        if !to {
            let hint = "add `to = \"PORT\"`, or `drop = true` to drop the frames";
            table.missing("to", hint, found);
        }
        return;
    }
    let at = |table: &TomlTable<'_>, key: &str| table.key_span(key).unwrap_or_else(|| table.span());
    if to {
        let d = Diagnostic::error(
            at(table, "to"),
            "a route that drops frames has no destination",
        )
        .hint("leave out `to`, or `drop`");
        found.push(d);
    }
    for key in ["do", "limit", "verify", "protect"] {
        if table.has(key) {
            let message = format!("`{key}` does nothing in a route that drops");
            found.push(Diagnostic::error(at(table, key), message).hint("leave it out"));
        }
    }
    for key in ["hop_limit", "allow_same_port", "echo", "keep_stamp"] {
        if table.has(key) {
            let message = format!("`{key}` does nothing in a route that drops");
            found.push(Diagnostic::warning(at(table, key), message).hint("leave it out"));
        }
    }
}
