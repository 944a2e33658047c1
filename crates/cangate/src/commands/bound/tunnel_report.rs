//! The tunnels of a set, as a table, as JSON and for the page.

use super::MISSED;
use super::connected::ConnectedSet;
use super::table::dotted;
use super::tunnel_words::{link_words, origin, play_out_words};
use super::tunnels::TunnelEnds;
use super::words::micros;
use crate::cli::bound::Bound;
use analysis::tunnel::{FlowDelay, TunnelFlow, TunnelFound, TunnelSpec};
use analysis::{Message, NetworkFound, NoBound};
use console::Failure;
use console::columns::{fitted, wrapped};
use console::table::{row, table};
use report::bound::{TunnelData, TunnelMessage};
use serde::Serialize;
use std::fmt::Write as _;

/// The room in the gateway for frames that wait while the socket of a tunnel has none.
const BACKLOG: u64 = port::TUNNEL_BACKLOG as u64;

/// Refuses the options that simulate the network or compare it with one gateway.
pub(super) fn refuse_simulation(args: &Bound) -> Result<(), Failure> {
    let both = [
        (
            args.witness.is_some(),
            "--witness",
            "simulates buses, and no network between them",
        ),
        (
            args.check.is_some(),
            "--check",
            "compares frames at one gateway",
        ),
    ];
    match both.iter().find(|(given, ..)| *given) {
        None => Ok(()),
        Some((_, option, why)) => Err(Failure::input(format!(
            "{option} {why}: leave out the second --gateway and the tunnels of the set"
        ))),
    }
}

/// A tunnel in one direction, with the results.
struct TunnelResult<'r> {
    spec: &'r TunnelSpec,
    ends: &'r [TunnelEnds],
    found: Result<&'r TunnelFound, NoBound>,
    /// For each flow, its message on the bus before.
    messages: Vec<Option<&'r Message>>,
}

/// All tunnels in the directions in which messages go.
pub(super) struct TunnelResults<'r>(Vec<TunnelResult<'r>>);

/// A tunnel in one direction.
#[derive(Serialize)]
pub(super) struct TunnelReport {
    name: String,
    /// The pairs of ports, the sending one first.
    ports: Vec<[String; 2]>,
    rate: Option<u64>,
    switches: Option<u32>,
    /// The part of the rate that the tunnel takes of what other traffic leaves.
    load: Option<f64>,
    /// The time that is not proved, and its origin: `measured` or `stated`.
    unproved_ns: Option<u64>,
    unproved: Option<&'static str>,
    /// For each port, the most frames that wait in the gateway for the socket.
    waiting: Vec<Option<u64>>,
    /// For each port, the most frames that wait for their time at the far side.
    playing: Vec<u64>,
    can_overflow: bool,
    messages: Vec<FlowReport>,
    no_bound: Option<String>,
}

/// A message in a tunnel.
#[derive(Serialize)]
struct FlowReport {
    id: String,
    name: String,
    urgent: bool,
    /// Bytes of the frame in a datagram.
    bytes: u64,
    gateway_ns: u64,
    packing_ns: u64,
    queues_ns: u64,
    unproved_ns: u64,
    play_out_ns: u64,
    least_ns: u64,
    most_ns: u64,
    can_be_late: bool,
}

impl<'r> TunnelResults<'r> {
    pub(super) fn new(connected: &'r ConnectedSet, found: &'r NetworkFound) -> Self {
        let network = &connected.network;
        let tunnels = network.tunnels.iter().zip(&connected.tunnel_ports);
        let used = tunnels.zip(&found.tunnels);
        let used = used.filter(|((spec, _), _)| !spec.flows.is_empty());
        let each = used.map(|((spec, ends), found)| TunnelResult {
            spec,
            ends,
            found: found.as_ref().map_err(|why| *why),
            messages: spec
                .flows
                .iter()
                .map(|flow| {
                    let bus = network.buses.get(flow.from.bus)?;
                    bus.messages.get(flow.from.message)
                })
                .collect(),
        });
        Self(each.collect())
    }

    /// Formats the tunnels as tables.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for tunnel in &self.0 {
            tunnel.render(&mut text);
        }
        if !self.0.is_empty() {
            let legend = "at most: from the end of the frame on one bus until the far gateway has it: the gateway, the \
                          packing window (not for `urgent` frames), the queues of the link, the rest of the network, the \
                          play-out. A frame that is lost has no bound.";
            let _ = writeln!(text, "{}", wrapped(legend));
        }
        text
    }

    /// Returns sentences for the page.
    pub(super) fn notes(&self) -> Option<String> {
        let note = "Bounds over a network make no statement about frames that it loses.";
        (!self.0.is_empty()).then(|| note.to_owned())
    }

    pub(super) fn page(&self) -> Vec<TunnelData> {
        let data = self.0.iter().map(|tunnel| TunnelData {
            title: tunnel.title(),
            words: tunnel.words(),
            origin: tunnel.spec.stated.map(|stated| origin(stated.origin)),
            messages: tunnel
                .flows()
                .map(|(label, urgent, delay)| TunnelMessage {
                    message: label,
                    urgent,
                    parts: parts(delay),
                    least: delay.least,
                    most: delay.most(),
                })
                .collect(),
            why: tunnel.why(),
        });
        data.collect()
    }

    pub(super) fn reports(&self) -> Vec<TunnelReport> {
        self.0.iter().map(TunnelResult::report).collect()
    }

    /// Returns the failure if frames can be refused in a gateway.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let full = self.0.iter().find(|tunnel| tunnel.overflows().is_some());
        match full.and_then(TunnelResult::overflows) {
            None => Ok(()),
            Some(text) => Err(Failure::Ended {
                status: MISSED,
                text,
            }),
        }
    }
}

const fn parts(delay: &FlowDelay) -> [u64; 5] {
    [
        delay.before,
        delay.packing,
        delay.queues,
        delay.stated,
        delay.play_out,
    ]
}

impl TunnelResult<'_> {
    fn title(&self) -> String {
        let pairs = self.ends.iter();
        let pairs = pairs.map(|ends| format!("{} to {}", ends.near, ends.far));
        let pairs: Vec<String> = pairs.collect();
        format!("Tunnel {}, {}", self.spec.name, pairs.join(", "))
    }

    fn why(&self) -> Option<String> {
        let why = self.found.err()?;
        Some(match why {
            NoBound::Overload(load) => {
                format!(
                    "the tunnel would need {:.1} % of the rate that is left for it",
                    load * 100.0
                )
            }
            NoBound::Upstream => "a message in it has no bound on its bus".to_owned(),
            NoBound::Bucket(_) => why.describe(None),
            _ => "its queues can be busy for more than an hour".to_owned(),
        })
    }

    /// Returns the messages with their times: the urgent ones first, each class by priority.
    fn sorted(&self) -> Vec<(&TunnelFlow, Option<&Message>, &FlowDelay)> {
        let delays = self.found.iter().flat_map(|found| &found.flows);
        let flows = self.spec.flows.iter().zip(&self.messages).zip(delays);
        let flows = flows.map(|((flow, message), delay)| (flow, *message, delay));
        let mut flows: Vec<_> = flows.collect();
        flows.sort_by_key(|(flow, ..)| (flow.port, !flow.urgent, flow.key));
        flows
    }

    /// Returns label, class and times of each message.
    fn flows(&self) -> impl Iterator<Item = (String, bool, &FlowDelay)> {
        let flows = self.sorted().into_iter();
        flows.map(|(flow, message, delay)| {
            let label = message.map_or_else(String::new, Message::label);
            (label, flow.urgent, delay)
        })
    }

    /// Returns the properties of the tunnel, in sentences.
    fn words(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(link) = &self.spec.link {
            let load = self.found.map_or_else(
                |_| String::new(),
                |found| format!(", load {:.1} %", found.load * 100.0),
            );
            all.push(format!("{}{load}", link_words(link)));
        }
        if let Some(stated) = self.spec.stated {
            all.push(format!(
                "{}, not proved: {} to {} µs",
                origin(stated.origin),
                micros(stated.least),
                micros(stated.most)
            ));
        }
        let Ok(found) = self.found else { return all };
        let counts = found.waiting.iter().zip(&found.playing);
        for (ends, (waiting, playing)) in self.ends.iter().zip(counts) {
            if let Some(frames) = waiting.filter(|frames| *frames > 0) {
                all.push(format!(
                    "port {}: at most {frames} frames wait for the socket, room for {BACKLOG}",
                    ends.near
                ));
            }
            if let Some(times) = &ends.play_out
                && times.delay.is_some()
            {
                all.push(play_out_words(&ends.far, times, *playing));
            }
        }
        let late = self
            .flows()
            .filter(|(_, _, delay)| delay.can_be_late)
            .count();
        if late > 0 {
            let messages = if late == 1 { "message" } else { "messages" };
            all.push(format!(
                "{late} {messages} can arrive after the time of the play-out: `delay` is too short for even gaps"
            ));
        }
        all
    }

    /// Returns the reason why frames can be refused.
    fn overflows(&self) -> Option<String> {
        let found = self.found.ok()?;
        let counts = found.waiting.iter().zip(&found.playing);
        self.ends
            .iter()
            .zip(counts)
            .find_map(|(ends, (waiting, playing))| {
                if waiting.is_some_and(|waiting| waiting > BACKLOG) {
                    return Some(format!(
                        "the queue of a port can overflow: {}, in tunnel {}",
                        ends.near, self.spec.name
                    ));
                }
                let times = ends.play_out.filter(|times| times.delay.is_some())?;
                (*playing > u64::from(times.queue)).then(|| {
                    format!(
                        "the play-out of a port can overflow: {}; raise its `queue` to {playing}",
                        ends.far
                    )
                })
            })
    }

    fn render(&self, text: &mut String) {
        let _ = writeln!(text, "\n{}", wrapped(&self.title()));
        for words in self.words() {
            let _ = writeln!(text, "{}", wrapped(&words));
        }
        if let Some(why) = self.why() {
            let _ = writeln!(text, "{}", wrapped(&format!("No bound: {why}.")));
            return;
        }
        let unproved = self.spec.stated.map(|stated| origin(stated.origin));
        let heads = [
            "gateway",
            "packing",
            "queues",
            unproved.unwrap_or("stated"),
            "play-out",
        ];
        let used: Vec<usize> = (0..heads.len())
            .filter(|n| {
                self.flows()
                    .any(|(_, _, delay)| parts(delay).get(*n) > Some(&0))
            })
            .collect();
        let has_classes = self.flows().any(|(_, urgent, _)| urgent);
        let mut columns = vec!["message"];
        columns.extend(has_classes.then_some("class"));
        columns.extend(used.iter().filter_map(|n| heads.get(*n)));
        columns.extend(["at least", "at most"]);
        let mut lines = table(&columns);
        for (label, urgent, delay) in self.flows() {
            let parts = parts(delay);
            let class = if urgent { "urgent" } else { "packed" };
            let mut cells = vec![label];
            cells.extend(has_classes.then(|| class.to_owned()));
            cells.extend(
                used.iter()
                    .filter_map(|n| parts.get(*n))
                    .map(|ns| dotted(*ns)),
            );
            cells.push(micros(delay.least));
            let star = if unproved.is_some() { "*" } else { "" };
            cells.push(format!("{}{star}", micros(delay.most())));
            lines.add_row(row(cells));
        }
        let _ = writeln!(text, "{}", fitted(lines, &[0]));
    }

    fn report(&self) -> TunnelReport {
        let found = self.found.ok();
        let messages = self
            .sorted()
            .into_iter()
            .map(|(flow, message, delay)| FlowReport {
                id: message.map_or_else(String::new, |message| message.id().to_string()),
                name: message.map_or_else(String::new, |message| message.name.clone()),
                urgent: flow.urgent,
                bytes: flow.bytes,
                gateway_ns: delay.before,
                packing_ns: delay.packing,
                queues_ns: delay.queues,
                unproved_ns: delay.stated,
                play_out_ns: delay.play_out,
                least_ns: delay.least,
                most_ns: delay.most(),
                can_be_late: delay.can_be_late,
            });
        let link = self.spec.link;
        TunnelReport {
            name: self.spec.name.clone(),
            ports: self
                .ends
                .iter()
                .map(|ends| [ends.near.clone(), ends.far.clone()])
                .collect(),
            rate: link.map(|link| link.rate),
            switches: link.map(|link| link.switches),
            load: link.and(found).map(|found| found.load),
            unproved_ns: self.spec.stated.map(|stated| stated.most),
            unproved: self.spec.stated.map(|stated| origin(stated.origin)),
            waiting: found.map_or_else(Vec::new, |found| found.waiting.clone()),
            playing: found.map_or_else(Vec::new, |found| found.playing.clone()),
            can_overflow: self.overflows().is_some(),
            messages: messages.collect(),
            no_bound: self.why(),
        }
    }
}
