//! Messages that a route must carry whole or not at all.
//!
//! A segmented message of a transport protocol is many frames of the same IDs, and the receiver
//! answers: it is lost if one frame is changed, dropped, or not carried. A secured PDU has an
//! authenticator that only its sender can compute, and a container has its PDUs at places that
//! differ from frame to frame.

use super::super::GatewayConfig;
use super::super::carried::RouteFinder;
use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::probe::{RouteProbe, samples};
use super::sequence::{LeavingMessages, pair, way};
use config::Severity;
use frame::{CanId, Header, Kind};
use route::PortId;
use signals::{MessageDefinition, WholePdu, WholePduKind};
use std::collections::BTreeSet;

/// Bits of an ID of J1939 that hold the PDU format: EC and EB for groups EC00 and EB00.
const FORMAT_MASK: u32 = 0x03FF_0000;

/// The groups of the transport protocol: connection management and data (SAE J1939-21, section
/// 5.10).
const MANAGEMENT: u32 = 0x00EC_0000;
const DATA: u32 = 0x00EB_0000;

/// The IDs of diagnosis over 29 bits, with the addresses of destination and source in the low bytes
/// (ISO 15765-2, normal fixed addressing).
const DIAGNOSIS: u32 = 0x18DA_0000;

/// Reports routes that carry parts of segmented messages, and that change or thin out messages that
/// receivers understand only as they were sent.
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
        let made = |flow: &&MessageFlow<'_>| made_without_security(search.flows.config, flow);
        let damaged = flows
            .iter()
            .find_map(|flow| made(flow).or_else(|| damage(flow)));
        if let Some((severity, message, hint)) = damaged {
            report.add(severity, number, message, hint);
        }
    }
}

/// Reports secured messages that reach a port from two senders, or on two ways; returns the
/// destinations and IDs of which nothing more is to report.
pub(super) fn check_sources(
    flows: &FlowSet<'_>,
    leaving: &LeavingMessages<'_, '_>,
    mut reported: BTreeSet<(PortId, u32)>,
    report: &mut RouteReport<'_>,
) -> BTreeSet<(PortId, u32)> {
    let config = flows.config;
    for ((to, id), all) in leaving {
        if reported.contains(&(*to, *id)) {
            continue;
        }
        let Some((first, second)) = pair(all, config.routes.mode) else {
            continue;
        };
        let is_secured = |flow: &&MessageFlow<'_>| {
            let pdu = flow.message.whole;
            pdu.is_some_and(|pdu| pdu.kind == WholePduKind::Secured)
        };
        let Some(secured) = [first, second].into_iter().find(is_secured) else {
            continue;
        };
        let is_same = first.message.id == second.message.id;
        let severity = match is_same && first.is_certain && second.is_certain {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let message = format!(
            "port `{}` gets {} twice: {} and {}; receivers refuse a secured PDU whose freshness is not above the \
             last one's",
            config.port_name(*to),
            secured.place(),
            way(flows, first),
            way(flows, second)
        );
        let hint = "take it from one port by one route";
        report.add(severity, second.number, message, hint);
        reported.insert((*to, *id));
    }
    reported
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

/// The reason why a message must be carried whole.
enum WholeReason<'m> {
    /// It is a frame of this transport protocol.
    Transport(&'static str),
    /// It has this PDU.
    Pdu(&'m WholePdu),
}

impl WholeReason<'_> {
    /// Returns the reason for a message; `None` for one that can be carried in parts.
    fn of(message: &MessageDefinition) -> Option<WholeReason<'_>> {
        let pdu = message.whole.as_ref().map(WholeReason::Pdu);
        pdu.or_else(|| protocol(message.id).map(WholeReason::Transport))
    }

    /// Returns the severity of a changed payload. A secured PDU is refused then for certain, and a
    /// change at a place of a container hits any PDU in it.
    const fn of_change(&self) -> Severity {
        match self {
            Self::Transport(_) => Severity::Warning,
            Self::Pdu(_) => Severity::Error,
        }
    }

    /// Returns the effect of a change or a loss.
    fn words(&self, file: &str, is_changed: bool) -> String {
        let (pdu, words) = match self {
            Self::Transport(protocol) => {
                return format!(
                    "its frames are parts of longer messages ({protocol}), which are lost if one is missing or changed"
                );
            }
            Self::Pdu(pdu) => match (pdu.kind, is_changed) {
                (WholePduKind::Secured, true) => (
                    pdu,
                    "it has a secured PDU, whose authenticator no gateway can write: receivers refuse it",
                ),
                (WholePduKind::Secured, false) => (
                    pdu,
                    "it has a secured PDU: a receiver that misses more frames than its freshness value can count \
                     refuses the next ones",
                ),
                (WholePduKind::Container, true) => (
                    pdu,
                    "it has a container, with its PDUs at other places in each frame: the change hits any of them",
                ),
                (WholePduKind::Container, false) => (
                    pdu,
                    "it has a container, with other PDUs in each frame: any of them can be missing",
                ),
            },
        };
        format!("{words} ({file}, line {})", pdu.line)
    }
}

/// Returns the mistake of a message with a secured PDU that a port of the gateway makes, and the
/// cure.
fn made_without_security(
    config: &GatewayConfig,
    flow: &MessageFlow<'_>,
) -> Option<(Severity, String, String)> {
    let pdu = flow.message.whole?;
    let port = config.ports.get(usize::from(flow.from.0))?;
    let is_made = port.settings.made_ids().is_some() && port.settings.split_ids().is_empty();
    if pdu.kind != WholePduKind::Secured || !is_made {
        return None;
    }
    let message = format!(
        "route `{}` carries {}, which port `{}` makes: {}",
        flow.route.name,
        flow.place(),
        port.name,
        WholeReason::Pdu(&pdu).words(&flow.database.file, true)
    );
    let hint = "carry the message of its sender, or make another one";
    Some((Severity::Error, message, hint.to_owned()))
}

/// Returns what a route does to frames that must be carried whole, and the cure.
fn damage(flow: &MessageFlow<'_>) -> Option<(Severity, String, String)> {
    let reason = WholeReason::of(flow.message)?;
    let mut severity = Severity::Warning;
    let is_changed = changes_payload(flow);
    let (what, cure) = if is_changed && reason.of_change() == Severity::Error {
        severity = Severity::Error;
        (CHANGES, UNCHANGED)
    } else if flow.route.limit.is_some() {
        (
            "limits the rate of",
            "take it by a route of its own without `limit`",
        )
    } else if flow.is_conditional() {
        (
            "takes, by their payloads, only some frames of",
            "take it by a route of its own without `when` and `payload`",
        )
    } else if is_changed {
        (CHANGES, UNCHANGED)
    } else {
        return None;
    };
    let words = reason.words(&flow.database.file, what == CHANGES);
    let message = format!(
        "route `{}` {what} {}: {words}",
        flow.route.name,
        flow.place()
    );
    Some((severity, message, cure.to_owned()))
}

const CHANGES: &str = "changes the payload of";
const UNCHANGED: &str = "take it by a route of its own without such actions";

fn changes_payload(flow: &MessageFlow<'_>) -> bool {
    if flow.route.protect.is_some() {
        return true;
    }
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
