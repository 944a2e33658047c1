//! Parts of FD frames (ports of kind `split`): a receiver can join them only if it is a gateway
//! with such a port, and if all of them come as they were made.

use super::super::GatewayConfig;
use super::super::carried::{RouteFinder, named};
use super::RouteReport;
use frame::{Header, Kind};
use port::SplitIds;
use route::{Action, PortId, Route};

/// The lengths of parts.
const SHORTEST: u16 = 2;
const LONGEST: u16 = 8;

/// Warns of routes behind which no receiver can join the parts that they carry.
pub(super) fn check(config: &GatewayConfig, report: &mut RouteReport<'_>) {
    let ports = || (0..).map(PortId).zip(&config.ports);
    let splitting: Vec<(PortId, Vec<SplitIds>)> = ports()
        .map(|(id, port)| (id, port.settings.split_ids()))
        .filter(|(_, ids)| !ids.is_empty())
        .collect();
    if splitting.is_empty() {
        return;
    }
    let Some(mut finder) = RouteFinder::new(config, true) else {
        return;
    };
    for (splitter, pairs) in &splitting {
        // One warning of each kind for a route, however many pairs it has.
        let mut damaged = Vec::new();
        let mut unjoined = Vec::new();
        for ids in pairs {
            let Ok(header) = Header::new(Kind::Classic, ids.parts, LONGEST.into()) else {
                continue;
            };
            for (from, _) in ports() {
                for number in finder.find(from, header) {
                    let Some(route) = config.routes.routes.get(number) else {
                        continue;
                    };
                    let is_outgoing = from == *splitter;
                    if route.drop || !(is_outgoing || route.to.contains(splitter)) {
                        continue;
                    }
                    if let Some((what, cure)) = damage(route)
                        && !damaged.contains(&number)
                    {
                        damaged.push(number);
                        let message = format!(
                            "route `{}` {what} the parts {} of FD frames {}: no receiver can join them if one is \
                             missing or changed",
                            route.name, ids.parts, ids.whole
                        );
                        report.warn(number, message, cure);
                    }
                    if is_outgoing
                        && let Some((message, hint)) = unable(config, route, *ids)
                        && !unjoined.contains(&number)
                    {
                        unjoined.push(number);
                        report.warn(number, message, hint);
                    }
                }
            }
        }
    }
}

/// Returns what a route does to parts that makes them useless, and the cure.
fn damage(route: &Route) -> Option<(&'static str, &'static str)> {
    let matching = &route.matching;
    let keeps_payload = |action: &Action| {
        matches!(
            action,
            Action::OffsetId(_) | Action::MapId(_) | Action::MapTable(_)
        )
    };
    let leaves_out = |(least, most): (u16, u16)| least > SHORTEST || most < LONGEST;
    if route.limit.is_some() {
        let cure = "take them by a route of its own without `limit`";
        Some(("limits the rate of", cure))
    } else if matching.when.is_some()
        || !matching.payload.is_empty()
        || matching.len.is_some_and(leaves_out)
    {
        let cure = "take them by a route of its own without `when`, `payload` and `length`";
        Some(("takes, by their payloads or lengths, only some of", cure))
    } else if !route.actions.iter().all(keeps_payload) || route.protect.is_some() {
        let cure =
            "change the FD frame before it is split, or take its parts by a route of its own";
        Some(("changes", cure))
    } else {
        None
    }
}

/// Returns the receivers, by the databases, that get parts in place of a message that they know, or
/// that take the parts for another message; and the cure.
fn unable(config: &GatewayConfig, route: &Route, ids: SplitIds) -> Option<(String, String)> {
    for to in &route.to {
        let Some(database) = config.database(*to) else {
            continue;
        };
        let port = config.port_name(*to);
        let messages = &database.messages.messages;
        let find = |id| messages.iter().find(|message| message.id == id);
        if let Some(other) = find(ids.parts) {
            let message = format!(
                "route `{}` carries the parts {} of FD frames {} to port `{port}`, where {} ({}, line {}) has this ID",
                route.name,
                ids.parts,
                ids.whole,
                named(other),
                database.file,
                other.line
            );
            return Some((
                message,
                "give the parts an ID that no message has".to_owned(),
            ));
        }
        if let Some(whole) = find(ids.whole) {
            let message = format!(
                "route `{}` carries {} ({}, line {}) to port `{port}` in the parts {}: its receivers there cannot join \
                 them, only a gateway with a port of kind \"split\" can",
                route.name,
                named(whole),
                database.file,
                whole.line,
                ids.parts
            );
            let hint = "leave `database` of that port out if such a gateway receives them, or send the receivers the \
                        signals that they need in classic messages (`kind = \"messages\"`)";
            return Some((message, hint.to_owned()));
        }
    }
    None
}
