//! `cangate bound --report`: bounds, with the measurements next to them, as a page.

use super::AssessedBus;
use super::ages::{self, DataAge};
use super::check::{self, CheckedLog};
use super::connected::ConnectedSet;
use super::delay::GatewayDelay;
use super::margin::BoundMargin;
use super::table::{by_priority, filled};
use super::timeouts::TimeoutResults;
use super::tunnel_report::TunnelResults;
use super::tunnel_words::sentence;
use super::words::micros;
use crate::cli::bound::Bound as Args;
use analysis::{
    GatewayHop, MessageOrigins, MessagePlace, NetworkFound, ReceptionDistance, SendOrder,
};
use config::SourceText;
use console::Failure;
use report::bound::{self, BoundData, FrameSeen};
use report::file_name;
use std::path::{Path, PathBuf};

/// The data for the page.
pub(super) struct PageContents<'s> {
    pub(super) all: &'s [AssessedBus<'s>],
    pub(super) connected: &'s ConnectedSet,
    pub(super) delay: &'s GatewayDelay,
    pub(super) margin: Option<&'s BoundMargin>,
    pub(super) timeouts: &'s TimeoutResults,
    pub(super) tunnels: &'s TunnelResults<'s>,
    pub(super) ages: &'s [DataAge],
    pub(super) found: &'s NetworkFound,
    pub(super) checked: Option<&'s CheckedLog>,
    /// The message set.
    pub(super) set: &'s SourceText,
    /// The gateways' configurations.
    pub(super) gateways: &'s [SourceText],
}

/// Writes the page into a folder, and returns its name.
pub(super) fn write(dir: &Path, args: &Args, shown: &PageContents<'_>) -> Result<PathBuf, Failure> {
    let buses = shown.all.iter().enumerate();
    let origins = MessageOrigins::new(&shown.connected.network);
    let mut notes = Vec::new();
    if !args.gateway.is_empty() {
        notes.push(shown.delay.sentence().trim_end().to_owned());
    }
    let left_out = shown.connected.notes.iter();
    notes.extend(left_out.map(|note| format!("Left out: {note}.")));
    notes.extend(shown.tunnels.notes());
    let conditional = shown
        .all
        .iter()
        .flat_map(|found| found.conditions.iter().flatten());
    notes.extend(sentence(conditional, "A bound"));
    let timeouts = shown.timeouts.all.iter();
    let conditional = timeouts.flat_map(|result| &result.conditions);
    notes.extend(sentence(conditional, "A longest time"));
    notes.extend(ages::notes(shown.ages));
    notes.extend(shown.timeouts.notes.iter().cloned());
    let timeouts = shown.timeouts.all.iter().map(|result| bound::TimeoutData {
        message: result.label(),
        node: result.node.clone(),
        bus: result.bus.clone(),
        time: result.time,
        losses: result.losses,
        longest: match &result.longest {
            Ok(parts) => Ok(ReceptionDistance::longest(parts)),
            Err(why) => Err(why.clone()),
        },
        conditional: !result.conditions.is_empty(),
        source: result.source.clone(),
    });
    let data = BoundData {
        tunnels: shown.tunnels.page(),
        timeouts: timeouts.collect(),
        title: file_name(Path::new(&shown.set.name)),
        buses: buses
            .map(|(n, found)| bus(n, found, shown, &origins))
            .collect(),
        notes,
        margin: shown.margin.map(|margin| bound::MarginData {
            thousandths: margin.factor,
            sentences: margin
                .sentences
                .iter()
                .map(|words| first_upper(words))
                .collect(),
        }),
        measured: shown.checked.map(|checked| bound::MeasuredSource {
            name: file_name(Path::new(&checked.name)),
            description: checked.description.clone(),
            strange: checked.strange,
            unbounded: checked.unbounded,
        }),
        made: [
            ("Command".to_owned(), command(args)),
            ("Version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            (
                "Message set".to_owned(),
                shown.set.text.trim_end().to_owned(),
            ),
        ]
        .into_iter()
        .chain(shown.gateways.iter().zip(1..).map(|(gateway, number)| {
            let text = gateway.text.trim_end().to_owned();
            let name = match shown.gateways.len() {
                0 | 1 => "Gateway".to_owned(),
                _ => format!("Gateway {number}"),
            };
            (name, text)
        }))
        .collect(),
    };
    bound::write(dir, &data).map_err(Failure::run)
}

fn first_upper(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// Returns the command that makes this page again. File names are without their folders: a page is
/// shown to others.
fn command(args: &Args) -> String {
    let mut text = String::from("cangate bound");
    let mut file = |option: &str, path: Option<&PathBuf>| {
        if let Some(path) = path {
            text.push_str(&format!(" {option}{}", file_name(path)));
        }
    };
    file("", args.set.as_ref());
    file("--from-log ", args.from_log.as_ref());
    for gateway in &args.gateway {
        file("--gateway ", Some(gateway));
    }
    file("--gateway-delay-from ", args.gateway_delay_from.as_ref());
    file("--check ", args.check.as_ref());
    if let Some(rate) = &args.bitrate {
        text.push_str(&format!(" --bitrate {rate}"));
    }
    for (port, bus, n) in &args.mailboxes {
        text.push_str(&format!(" --mailboxes {port}:{bus}={n}"));
    }
    if let Some(ns) = args.gateway_delay {
        text.push_str(&format!(" --gateway-delay {ns}ns"));
    }
    for (name, port) in &args.port {
        text.push_str(&format!(" --port \"{name}={port}\""));
    }
    if args.margin {
        text.push_str(" --margin");
    }
    text.push_str(" --report DIR");
    text
}

fn bus(
    n: usize,
    found: &AssessedBus<'_>,
    shown: &PageContents<'_>,
    origins: &MessageOrigins<'_>,
) -> bound::BusData {
    let spec = found.spec;
    let fixed = spec
        .errors
        .map(|ns| format!("at most one error every {} µs", micros(ns)));
    let random = spec
        .random_errors
        .map(|ns| format!("errors at random, one in {} µs on average", micros(ns)));
    let order = by_priority(found).into_iter();
    bound::BusData {
        name: spec.name.clone(),
        bit_rate: spec.rate.to_string(),
        load: found.assessment.load,
        errors: fixed.or(random),
        nodes: nodes(found),
        messages: order
            .filter_map(|message| {
                of_message(MessagePlace { bus: n, message }, found, shown, origins)
            })
            .collect(),
    }
}

fn nodes(found: &AssessedBus<'_>) -> Vec<bound::NodeData> {
    let nodes = found.spec.nodes.iter().zip(&found.assessment.nodes);
    let node = |(n, (node, assessed)): (usize, (&analysis::NodeSpec, &analysis::NodeBound))| {
        let order = match (node.order, assessed.service) {
            (SendOrder::Priority, _) => bound::OrderData::Assumed,
            (SendOrder::Mailboxes(n), analysis::QueueService::Queue) => {
                bound::OrderData::Arrival(n.get())
            }
            (SendOrder::Mailboxes(n), _) => bound::OrderData::Covered(n.get()),
        };
        bound::NodeData {
            name: node.name.clone(),
            order,
            filled: node.refill.map(filled),
            backlog: assessed.backlog,
            room: found.room.get(n).copied().flatten(),
        }
    };
    nodes.enumerate().map(node).collect()
}

fn of_message(
    place: MessagePlace,
    found: &AssessedBus<'_>,
    shown: &PageContents<'_>,
    origins: &MessageOrigins<'_>,
) -> Option<bound::MessageData> {
    let n = place.message;
    let message = found.spec.messages.get(n)?;
    let of_it = found.assessment.messages.get(n)?;
    let node = found.spec.nodes.get(message.node)?;
    let base = found.base.get(n).copied().unwrap_or(0);
    let hop = origins.hop_to(place);
    let checked = shown.checked.and_then(|c| c.seen.get(&(place.bus, n)));
    Some(bound::MessageData {
        id: message.id().to_string(),
        name: message.name.clone(),
        node: node.name.clone(),
        bits: of_it.bits.all(),
        frame: of_it.frame,
        period: message.arrival.period(),
        deadline: message.deadline,
        via: found.via.get(n).cloned().flatten(),
        conditional: found.conditions.get(n).is_some_and(|all| !all.is_empty()),
        bound: match of_it.bound {
            Ok(bound) => Ok(parts(
                bound.parts,
                base,
                hop.map(|hop| way(hop, shown.found)),
            )),
            Err(why) => Err(why.describe(Some(found.spec))),
        },
        late: found.misses.get(n).copied().flatten(),
        seen: checked.map(seen),
    })
}

/// Returns the time of the gateways, and that of the network between them.
fn way(hop: &GatewayHop, found: &NetworkFound) -> (u64, u64) {
    let passage = hop.passage;
    let tunnel = passage.and_then(|passage| found.tunnels.get(passage.tunnel)?.as_ref().ok());
    let flow = tunnel.zip(passage);
    let flow = flow.and_then(|(tunnel, passage)| tunnel.flows.get(passage.flow));
    let before = flow.map_or(0, |flow| flow.before);
    let network = flow.map_or(0, |flow| flow.most() - flow.before);
    (hop.delay.saturating_add(before), network)
}

/// Returns the parts of a bound for the page. For a message that a gateway sends on, `base` and the
/// jitter are the time to this bus: the bound on the bus before, and the gateway's time
/// (`analysis::Network`).
fn parts(parts: analysis::BoundParts, base: u64, way: Option<(u64, u64)>) -> bound::PartsData {
    let until_here = base.saturating_add(parts.jitter);
    let (gateways, network) = way.unwrap_or_default();
    let network = network.min(until_here);
    let gateway = gateways.min(until_here - network);
    let (earlier, jitter) = match way {
        Some(_) => (until_here - gateway - network, 0),
        None => (0, until_here),
    };
    bound::PartsData {
        earlier,
        gateway,
        network,
        jitter,
        lower: parts.blocking,
        ahead: parts.ahead,
        pauses: parts.pauses,
        higher: parts.interference,
        errors: parts.errors,
        frame: parts.frame,
        since: parts.since,
    }
}

fn seen(seen: &check::SeenMessage) -> bound::MeasuredMessage {
    let frame = |&(tag, end, latency): &(u64, u64, i64)| FrameSeen { tag, end, latency };
    let limit = i64::try_from(seen.limit).unwrap_or(i64::MAX);
    let latencies = seen.frames.iter().map(|(_, _, latency)| *latency);
    // The first of several equal ones.
    let worst = seen
        .frames
        .iter()
        .rev()
        .max_by_key(|(_, _, latency)| *latency);
    bound::MeasuredMessage {
        port: seen.port.clone(),
        limit: seen.limit,
        latencies: latencies.collect(),
        worst: worst.map(frame),
        above: seen
            .frames
            .iter()
            .filter(|(_, _, latency)| *latency > limit)
            .map(frame)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the time is divided, the sum is the bound.
    #[test]
    fn the_way_here_is_the_bus_before_and_the_gateway() {
        let found = analysis::BoundParts {
            jitter: 700,
            blocking: 200,
            frame: 300,
            since: 50,
            ..analysis::BoundParts::default()
        };
        let own = parts(found, 0, None);
        assert_eq!((own.earlier, own.gateway, own.jitter), (0, 0, 700));
        assert_eq!(own.bound(), 700 + 200 + 300 - 50);
        let sent_on = parts(found, 500, Some((100, 0)));
        let way = (sent_on.earlier, sent_on.gateway, sent_on.jitter);
        assert_eq!(way, (1_100, 100, 0));
        assert_eq!(sent_on.bound(), own.bound() + 500);
        let tunnelled = parts(found, 500, Some((100, 300)));
        let way = (tunnelled.earlier, tunnelled.gateway, tunnelled.network);
        assert_eq!(way, (800, 100, 300));
        assert_eq!(tunnelled.bound(), sent_on.bound());
    }
}
