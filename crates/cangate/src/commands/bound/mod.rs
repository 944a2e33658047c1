//! `cangate bound`: the longest time that a frame can take.

mod ages;
mod check;
mod connected;
mod copies;
mod delay;
#[cfg(feature = "dbc")]
mod from_dbc;
#[cfg(not(feature = "dbc"))]
mod from_dbc_left_out;
mod from_log;
mod json;
mod made;
mod margin;
mod over_tunnels;
mod page;
mod passing;
mod routes;
mod sources;
mod splits;
mod table;
mod timeouts;
mod tunnel_report;
mod tunnel_words;
mod tunnels;
mod witness;
mod words;

use crate::cli::bound::Bound;
use crate::input::load_config;
use analysis::set;
use analysis::{Assessment, BusSpec, CompiledBus, LengthSearch, NetworkFound};
use config::SourceText;
use connected::ConnectedSet;
use console::Failure;
use console::input::read_source;
use console::output;
use delay::GatewayDelay;
use frame::Nanos;
use frame::wire::BitRate;
#[cfg(not(feature = "dbc"))]
use from_dbc_left_out as from_dbc;
use std::io::Write;
use tunnel_report::TunnelResults;

/// The exit status if a deadline can be missed, a timeout can expire, or a message has no bound.
const MISSED: u8 = 3;

/// The bit rate of a log or a DBC, unless another one is given.
const DEFAULT_BITRATE: &str = "500k";

/// The maximum number of messages that are named in an error.
const NAMED: usize = 5;

/// A bus and the results of its analysis.
struct AssessedBus<'s> {
    spec: &'s BusSpec,
    compiled: &'s CompiledBus,
    assessment: &'s Assessment,
    /// For each message, the earliest time after its event at which it can be on this bus, ns.
    base: &'s [Nanos],
    /// For each message that a gateway sends on: its origin and the route.
    via: Vec<Option<String>>,
    /// For each node that is a gateway's port with a queue, the number of frames that it can hold.
    room: Vec<Option<u64>>,
    /// For each node, whether it is a gateway's port that sends messages on.
    sends_on: Vec<bool>,
    /// For each message, the times that were measured or stated, and on which its bound depends.
    conditions: Vec<Vec<String>>,
    /// For each message, an upper bound on the probability that random errors make a frame late.
    misses: Vec<Option<f64>>,
}

pub(crate) fn run(args: &Bound, color: bool) -> Result<(), Failure> {
    let rate = args.bitrate.as_deref().map(bitrate).transpose()?;
    if let Some(file) = &args.from_dbc {
        let text = from_dbc::set_of(file, rate)?;
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(());
    }
    let source = match (&args.from_log, &args.set) {
        (Some(log), _) => {
            let rate = match rate {
                Some(rate) => rate,
                None => bitrate(DEFAULT_BITRATE)?,
            };
            let text = from_log::set_of(log, rate)?;
            if args.gateway.is_empty() {
                let more = [
                    (args.json, "--json"),
                    (args.margin, "--margin"),
                    (args.witness.is_some(), "--witness"),
                    (args.report.is_some(), "--report"),
                ];
                if let Some((_, option)) = more.iter().find(|(given, _)| *given) {
                    return Err(Failure::input(format!(
                        "{option} with --from-log needs --gateway; without it the set of the log is printed: save it, \
                         read it, and use it"
                    )));
                }
                std::io::stdout().write_all(text.as_bytes())?;
                return Ok(());
            }
            // The behaviour of a gateway with this traffic.
            let nodes = from_log::nodes(&args.mailboxes, &text)?;
            SourceText::new(
                format!("the set of {}", log.display()),
                format!("{nodes}{text}"),
            )
        }
        (None, Some(set)) => read_source(set)?,
        (None, None) => {
            return Err(Failure::input(
                "a message set is needed, or --from-log, or --from-dbc",
            ));
        }
    };
    let set = set::load(&source)
        .map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))?;
    if let Some(out) = &args.out {
        output::file(out)?;
    }
    if let Some(report) = &args.report {
        output::folder(report)?;
    }
    let delay = GatewayDelay::from_options(args)?;
    let mut gateways = Vec::with_capacity(args.gateway.len());
    let mut configs = Vec::with_capacity(args.gateway.len());
    for file in &args.gateway {
        let source = read_source(file)?;
        let (config, warnings) = load_config(&source, file, color)?;
        eprint!("{warnings}");
        configs.push(config);
        gateways.push(source);
    }
    if configs.is_empty()
        && let Some(tunnel) = set.tunnels.first()
    {
        return Err(Failure::input(format!(
            "[tunnels.{}] is between two gateways: give their files, --gateway NEAR.toml --gateway FAR.toml",
            tunnel.name
        )));
    }
    let mut connected = match configs.is_empty() {
        true => routes::alone(set),
        false => routes::connect(set, &configs, delay.or_none())?,
    };
    if connected.has_tunnels() {
        tunnel_report::refuse_simulation(args)?;
    }
    if args.check.is_some() && connected.has_parts() {
        return Err(Failure::input(
            "--check compares one frame out with one frame in: leave the port of kind \"split\" out of the gateway file",
        ));
    }
    if args.from_log.is_some() {
        connected.leave_timeouts_out();
    }
    let mut lengths = LengthSearch::new();
    let network = &connected.network;
    let assessed = network.assess(&mut lengths).map_err(Failure::input)?;
    let all = by_bus(&connected, &assessed);
    let tunnels = TunnelResults::new(&connected, &assessed);
    let timeouts = timeouts::find(&connected, &assessed, &source);
    let ages = ages::find(&connected, &assessed);
    if let Some(id) = &args.witness {
        let effort = witness::SearchEffort {
            plays: args.plays,
            seed: args.seed,
        };
        let out = args.out.as_deref();
        return witness::run(&connected, &assessed, id, &mut lengths, effort, out);
    }
    let checked = match &args.check {
        Some(results) => Some(check::hold(&all, results, delay.or_none(), &args.port)?),
        None => None,
    };
    let margin = match args.margin {
        true => Some(margin::find(&connected, &mut lengths)?),
        false => None,
    };
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let report = json::report(&all, &delay, &connected.notes, &timeouts, &tunnels, &ages);
        serde_json::to_writer_pretty(&mut stdout, &report).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        let mut text = match &checked {
            Some(checked) => format!("{}\n", checked.sentence()),
            None => table::render(&all),
        };
        if !args.gateway.is_empty() && checked.is_none() {
            text.push_str(&table::gateway(&delay, &connected.notes));
        }
        if checked.is_none() {
            text.push_str(&tunnels.render());
            text.push_str(&timeouts.render());
            text.push_str(&ages::render(&ages));
        }
        for sentence in margin.iter().flat_map(|margin| &margin.sentences) {
            text.push_str(&format!("Margin: {sentence}\n"));
        }
        stdout.write_all(text.as_bytes())?;
    }
    if let Some(report) = &args.report {
        let shown = page::PageContents {
            all: &all,
            connected: &connected,
            delay: &delay,
            margin: margin.as_ref(),
            timeouts: &timeouts,
            tunnels: &tunnels,
            ages: &ages,
            found: &assessed,
            checked: checked.as_ref(),
            set: &source,
            gateways: &gateways,
        };
        let written = page::write(report, args, &shown)?;
        if !args.json {
            writeln!(stdout, "Written: {}", written.display())?;
        }
    }
    match checked {
        Some(checked) => checked.verdict(),
        None => missed(&all, &splits::overflowing(&connected.splits, &assessed))
            .and_then(|()| tunnels.verdict())
            .and_then(|()| timeouts.verdict()),
    }
}

fn bitrate(text: &str) -> Result<BitRate, Failure> {
    let rate = text.parse::<BitRate>();
    rate.map_err(|error| Failure::input(format!("--bitrate {text}: {error}")))
}

fn by_bus<'s>(connected: &'s ConnectedSet, assessed: &'s NetworkFound) -> Vec<AssessedBus<'s>> {
    let network = &connected.network;
    let mut all: Vec<AssessedBus<'_>> = network
        .buses
        .iter()
        .zip(&assessed.compiled)
        .zip(&assessed.buses)
        .zip(&assessed.base)
        .map(|(((spec, compiled), assessment), base)| AssessedBus {
            spec,
            compiled,
            assessment,
            base,
            via: vec![None; spec.messages.len()],
            room: vec![None; spec.nodes.len()],
            sends_on: vec![false; spec.nodes.len()],
            conditions: vec![Vec::new(); spec.messages.len()],
            misses: compiled.misses(&deadlines(spec)),
        })
        .collect();
    for (hop, route) in network.hops.iter().zip(&connected.routes) {
        let to = network.buses.get(hop.to.bus);
        let node = to.and_then(|bus| Some(bus.messages.get(hop.to.message)?.node));
        let sends_on = all.get_mut(hop.to.bus).zip(node);
        if let Some(sends_on) = sends_on.and_then(|(found, node)| found.sends_on.get_mut(node)) {
            *sends_on = true;
        }
        let from = network.buses.get(hop.from.bus);
        let message = from.and_then(|bus| bus.messages.get(hop.from.message));
        let words = from
            .zip(message)
            .map(|(bus, message)| format!("{} of bus {}, route {route}", message.id(), bus.name));
        if let Some(via) = all
            .get_mut(hop.to.bus)
            .and_then(|found| found.via.get_mut(hop.to.message))
        {
            *via = words;
        }
    }
    let conditions = assessed.conditions(network);
    for (found, conditions) in all.iter_mut().zip(&conditions) {
        for (words, tunnels) in found.conditions.iter_mut().zip(conditions) {
            words.extend(tunnel_words::conditions(network, tunnels));
        }
    }
    for queue in &connected.queues {
        let found = all.get_mut(queue.bus);
        if let Some(room) = found.and_then(|found| found.room.get_mut(queue.node)) {
            *room = Some(queue.frames);
        }
    }
    all
}

/// Returns the deadlines of a bus's messages, ns.
fn deadlines(spec: &BusSpec) -> Vec<Nanos> {
    spec.messages.iter().map(|m| m.deadline).collect()
}

impl AssessedBus<'_> {
    /// Returns the time from the event to the end of frame on this bus, over all buses before it,
    /// ns.
    fn response(&self, message: usize) -> Option<Nanos> {
        let bound = self.assessment.messages.get(message)?.bound.ok()?;
        Some(
            bound
                .response
                .saturating_add(self.base.get(message).copied().unwrap_or(0)),
        )
    }

    /// Returns whether the queue of this node can overflow.
    fn overflows(&self, node: usize) -> bool {
        let room = self.room.get(node).copied().flatten();
        let most = self
            .assessment
            .nodes
            .get(node)
            .and_then(|node| node.backlog);
        room.is_some_and(|room| most.is_none_or(|most| most > room))
    }
}

/// Returns whether the deadline of this message can be missed.
fn can_miss(found: &AssessedBus<'_>, message: usize) -> bool {
    let deadline = found.spec.messages.get(message).map(|m| m.deadline);
    match (found.response(message), deadline) {
        (Some(response), Some(deadline)) => response > deadline,
        _ => true,
    }
}

/// Returns the failure if a deadline can be missed or a queue can overflow. `full`: ports without a
/// bus whose queues can.
fn missed(all: &[AssessedBus<'_>], full: &[String]) -> Result<(), Failure> {
    let late = all.iter().flat_map(|found| {
        let messages = found.spec.messages.iter().enumerate();
        messages
            .filter(|(i, _)| can_miss(found, *i))
            .map(|(_, message)| message.label())
    });
    let late: Vec<String> = late.collect();
    let nodes = all.iter().flat_map(|found| {
        let nodes = found.spec.nodes.iter().enumerate();
        let full = nodes.filter(|(node, _)| found.overflows(*node));
        full.map(|(_, node)| node.name.as_str())
    });
    let full: Vec<&str> = nodes.chain(full.iter().map(String::as_str)).collect();
    if !full.is_empty() {
        return Err(Failure::Ended {
            status: MISSED,
            text: format!("the queue of a port can overflow: {}", full.join(", ")),
        });
    }
    if late.is_empty() {
        return Ok(());
    }
    let more = late.len().saturating_sub(NAMED);
    let mut text = format!(
        "{} of {} messages can miss their deadline: {}",
        late.len(),
        all.iter()
            .map(|found| found.spec.messages.len())
            .sum::<usize>(),
        late[..late.len() - more].join(", ")
    );
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    Err(Failure::Ended {
        status: MISSED,
        text,
    })
}
