//! Messages of transport protocols, which a route must carry whole or not at all.
//!
//! A segmented message is many frames of the same IDs, and the receiver answers: it is lost if one
//! frame is changed, dropped, or not carried.

use super::super::carried::RouteFinder;
use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::probe::{RouteProbe, samples};
use frame::{CanId, Header, Kind};
use route::PortId;

/// Bits of an ID of J1939 that hold the PDU format: EC and EB for groups EC00 and EB00.
const FORMAT_MASK: u32 = 0x03FF_0000;

/// The groups of the transport protocol: connection management and data (SAE J1939-21, section
/// 5.10).
const MANAGEMENT: u32 = 0x00EC_0000;
const DATA: u32 = 0x00EB_0000;

/// The IDs of diagnosis over 29 bits, with the addresses of destination and source in the low bytes
/// (ISO 15765-2, normal fixed addressing).
const DIAGNOSIS: u32 = 0x18DA_0000;

/// Warns of routes that carry parts of segmented messages.
pub(super) fn check(flows: &FlowSet<'_>, report: &mut RouteReport<'_>) {
    if flows.all.is_empty() {
        return;
    }
    let Some(finder) = RouteFinder::new(flows.config, false) else {
        return;
    };
    let mut search = TransportSearch { flows, finder };
    for (number, flows) in flows.by_route() {
        let missing = flows.iter().find_map(|flow| search.missing(flow));
        if let Some((message, hint)) = missing {
            report.warn(number, message, hint);
        }
        if let Some((message, hint)) = flows.iter().find_map(|flow| damage(flow)) {
            report.warn(number, message, hint);
        }
    }
}

struct TransportSearch<'f, 'c> {
    flows: &'f FlowSet<'c>,
    finder: RouteFinder,
}

impl TransportSearch<'_, '_> {
    /// Returns whether a route carries frames of this ID from a port to another.
    fn is_carried(&mut self, from: PortId, to: PortId, id: CanId) -> bool {
        let Ok(header) = Header::new(Kind::Classic, id, 8) else {
            return false;
        };
        let found = self.finder.find(from, header);
        found.into_iter().any(|number| {
            let route = self.flows.config.routes.routes.get(number);
            route.is_some_and(|route| !route.drop && route.to.contains(&to))
        })
    }

    /// Returns what is missing for a message, and the cure.
    fn missing(&mut self, flow: &MessageFlow<'_>) -> Option<(String, String)> {
        let to = flow
            .destinations()
            .find(|to| self.flows.has_receivers(*to))?;
        let config = self.flows.config;
        let (from, id) = (flow.from, flow.message.id);
        if flow.is_named
            && let Some(partner) = partner(id)
            && !self.is_carried(to, from, partner)
        {
            let message = format!(
                "route `{}` carries {} from port `{}` to port `{}`, and no route carries {partner} back: a message of \
                 several frames (ISO-TP) needs both directions",
                flow.route.name,
                flow.place(),
                config.port_name(from),
                config.port_name(to)
            );
            let hint = format!(
                "add a route from `{}` to `{}` with `id = \"{partner}\"`",
                config.port_name(to),
                config.port_name(from)
            );
            return Some((message, hint));
        }
        if flow.message.j1939 && flow.message.len > 8 && !flow.route.matching.ids.is_empty() {
            let source = id.number() & 0xFF;
            let to_all = |format: u32| CanId::eff(0x1C00_0000 | format | 0xFF00 | source).ok();
            let all = [to_all(MANAGEMENT)?, to_all(DATA)?];
            if !all.iter().all(|id| self.is_carried(from, to, *id)) {
                let message = format!(
                    "route `{}` carries {} from port `{}` to port `{}`, which has {} bytes and comes in frames of the \
                     transport protocol (groups EC00 and EB00), but no route carries these",
                    flow.route.name,
                    flow.place(),
                    config.port_name(from),
                    config.port_name(to),
                    flow.message.len
                );
                let hint =
                    "add the groups 60416 and 60160 to `pgn`, here and in the opposite direction";
                return Some((message, hint.to_owned()));
            }
        }
        None
    }
}

/// Returns what a route does to frames of a transport protocol, and the cure.
fn damage(flow: &MessageFlow<'_>) -> Option<(String, String)> {
    let protocol = protocol(flow.message.id)?;
    let (what, cure) = if flow.route.limit.is_some() {
        (
            "limits the rate of",
            "take it by a route of its own without `limit`",
        )
    } else if flow.is_conditional() {
        (
            "takes, by their payloads, only some frames of",
            "take it by a route of its own without `when` and `payload`",
        )
    } else if changes_payload(flow) {
        (
            "changes the payload of",
            "take it by a route of its own without such actions",
        )
    } else {
        return None;
    };
    let message = format!(
        "route `{}` {what} {}: its frames are parts of longer messages ({protocol}), which are lost if one is \
         missing or changed",
        flow.route.name,
        flow.place()
    );
    Some((message, cure.to_owned()))
}

fn changes_payload(flow: &MessageFlow<'_>) -> bool {
    if flow.route.actions.is_empty() {
        return false;
    }
    let Some(mut probe) = RouteProbe::without_conditions(flow.route) else {
        return false;
    };
    samples(flow.message, flow.route).any(|payload| {
        let sent = probe.pass(flow.message, &payload);
        sent.is_some_and(|sent| sent.payload != payload)
    })
}

/// Returns the protocol whose frames have this ID.
fn protocol(id: CanId) -> Option<&'static str> {
    if partner(id).is_some() {
        return Some("ISO-TP");
    }
    let format = id.number() & FORMAT_MASK;
    (id.is_eff() && matches!(format, MANAGEMENT | DATA)).then_some("J1939's transport protocol")
}

/// Returns the ID of the other direction of a diagnostic connection: 7E0 to 7E7 and 7E8 to 7EF (ISO
/// 15765-4), or 18DA with the two addresses.
fn partner(id: CanId) -> Option<CanId> {
    let number = id.number();
    if !id.is_eff() {
        return match number {
            0x7E0..=0x7E7 => CanId::sff(number + 8).ok(),
            0x7E8..=0x7EF => CanId::sff(number - 8).ok(),
            _ => None,
        };
    }
    let (to, from) = (number >> 8 & 0xFF, number & 0xFF);
    let is_diagnosis = number & 0xFFFF_0000 == DIAGNOSIS && to != from;
    CanId::eff(DIAGNOSIS | from << 8 | to)
        .ok()
        .filter(|_| is_diagnosis)
}
