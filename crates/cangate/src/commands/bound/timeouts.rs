//! The timeouts of receivers, compared with the longest distance between two receptions.

use super::connected::ConnectedSet;
use super::over_tunnels::{conditions, drops_late};
use super::passing::HopCondition;
use super::sources::{MadeInput, SourceTimeout};
use super::tunnel_words::{marked, sentence};
use super::words::micros;
use super::{MISSED, NAMED};
use analysis::tunnel::TunnelPassage;
use analysis::{Message, MessageOrigins, MessagePlace, NetworkFound, ReceptionDistance};
use config::SourceText;
use console::Failure;
use console::columns::{fitted, wrapped};
use console::table::{row, table};
use frame::Nanos;
use signals::{MessageDefinition, MessageIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// All timeouts, and what was found.
#[derive(Default)]
pub(super) struct TimeoutResults {
    pub(super) all: Vec<TimeoutResult>,
    /// Timeouts that were not compared, in sentences.
    pub(super) notes: Vec<String>,
}

/// A timeout and the longest distance between two receptions.
pub(super) struct TimeoutResult {
    pub(super) id: String,
    pub(super) name: String,
    /// The receiver.
    pub(super) node: String,
    /// The name of its bus.
    pub(super) bus: String,
    /// The timeout, ns.
    pub(super) time: Nanos,
    /// The most frames in a row that may be lost without a timeout.
    pub(super) losses: u32,
    /// The place of the timeout.
    pub(super) source: String,
    /// The buses before, each with the route to the next one.
    pub(super) hops: Vec<String>,
    /// The times that were measured or stated, and on which the distance depends.
    pub(super) conditions: Vec<String>,
    /// The parts of the longest distance, or the reason why there is none.
    pub(super) longest: Result<ReceptionDistance, String>,
}

impl TimeoutResult {
    /// Returns ID and name of the message.
    pub(super) fn label(&self) -> String {
        match self.name.as_str() {
            "" => self.id.clone(),
            name => format!("{} {name}", self.id),
        }
    }

    /// Returns whether the timeout can expire while all frames but `losses` arrive.
    pub(super) fn can_expire(&self) -> bool {
        let longest = self.longest.as_ref();
        longest.map_or(true, |parts| parts.longest() >= self.time)
    }
}

/// A timeout of which the place of reception is known.
pub(super) struct PlacedTimeout {
    pub(super) place: MessagePlace,
    pub(super) node: String,
    pub(super) time: Nanos,
    pub(super) losses: u32,
    pub(super) source: String,
    /// The condition and the delay after the reception, for a port that makes messages.
    pub(super) then: Option<TimeoutAfter>,
}

/// The way from a bus to a port that makes messages.
#[derive(Clone, Copy)]
pub(super) struct TimeoutAfter {
    condition: HopCondition,
    delay: Nanos,
    passage: Option<TunnelPassage>,
}

impl From<&MadeInput> for TimeoutAfter {
    fn from(input: &MadeInput) -> Self {
        Self {
            condition: input.condition,
            delay: input.delay,
            passage: input.passage,
        }
    }
}

/// Compares all timeouts: those of the set, of the databases, and of the gateway's sources.
pub(super) fn find(
    connected: &ConnectedSet,
    found: &NetworkFound,
    set: &SourceText,
) -> TimeoutResults {
    let mut results = TimeoutResults::default();
    let mut placed = Vec::new();
    let origins = MessageOrigins::new(&connected.network);
    for timeout in &connected.timeouts {
        let source = format!("{}, line {}", set.name, timeout.line);
        let own = timeout.message.bus == timeout.bus;
        let places: Vec<MessagePlace> = match own {
            true => vec![timeout.message],
            false => origins.copies(timeout.message, timeout.bus).collect(),
        };
        if places.is_empty()
            && let Some(message) = message(connected, timeout.message)
        {
            let why = match connected.has_gateway {
                true => "no route sends the message to this bus",
                false => "the message is of another bus; --gateway FILE follows it",
            };
            results.all.push(TimeoutResult {
                id: message.id().to_string(),
                name: message.name.clone(),
                node: timeout.node.clone(),
                bus: bus_name(connected, timeout.bus),
                time: timeout.time,
                losses: timeout.losses,
                source: source.clone(),
                hops: Vec::new(),
                conditions: Vec::new(),
                longest: Err(why.to_owned()),
            });
        }
        placed.extend(places.into_iter().map(|place| PlacedTimeout {
            place,
            node: timeout.node.clone(),
            time: timeout.time,
            losses: timeout.losses,
            source: source.clone(),
            then: None,
        }));
    }
    of_databases(connected, &mut placed, &mut results.notes);
    placed.extend(connected.sources.iter().map(of_source));
    let each = placed.into_iter();
    let each = each.filter_map(|timeout| result(connected, &origins, found, timeout));
    results.all.extend(each);
    results
}

fn of_source(source: &SourceTimeout) -> PlacedTimeout {
    PlacedTimeout {
        place: source.place,
        node: "the gateway".to_owned(),
        time: source.time,
        losses: 0,
        source: format!("message {}", source.made),
        then: Some(TimeoutAfter {
            condition: source.condition,
            delay: source.delay,
            passage: source.passage,
        }),
    }
}

/// Adds the timeouts of the databases of the gateway's ports. One of the set for the same message
/// and node replaces that of a database.
fn of_databases(
    connected: &ConnectedSet,
    placed: &mut Vec<PlacedTimeout>,
    notes: &mut Vec<String>,
) {
    let of_set: BTreeSet<(usize, usize, String)> = placed
        .iter()
        .map(|timeout| {
            (
                timeout.place.bus,
                timeout.place.message,
                timeout.node.clone(),
            )
        })
        .collect();
    for (bus, database) in &connected.databases {
        let Some(spec) = connected.network.buses.get(*bus) else {
            continue;
        };
        let index = MessageIndex::new(&database.messages);
        let mut carried = BTreeSet::new();
        for (number, message) in spec.messages.iter().enumerate() {
            let Some(definition) = index.find(message.shape.header().id()) else {
                continue;
            };
            carried.insert(definition.id.raw());
            for (node, (time, line, what)) in of_message(definition) {
                if of_set.contains(&(*bus, number, node.clone())) {
                    continue;
                }
                placed.push(PlacedTimeout {
                    place: MessagePlace {
                        bus: *bus,
                        message: number,
                    },
                    node,
                    time,
                    losses: 0,
                    source: format!("{}, line {line}, {what}", database.file),
                    then: None,
                });
            }
        }
        let messages = database.messages.messages.iter();
        let others = messages.filter(|message| !carried.contains(&message.id.raw()));
        let others = others.filter(|message| !of_message(message).is_empty());
        let names: Vec<&str> = others.map(|message| message.name.as_str()).collect();
        if !names.is_empty() {
            let more = names.len().saturating_sub(NAMED);
            let mut words = names[..names.len() - more].join(", ");
            if more > 0 {
                let _ = write!(words, " and {more} more");
            }
            notes.push(format!(
                "Timeouts of {} that were not compared, because the set has no such message on bus {}: {words}.",
                database.file, spec.name
            ));
        }
    }
}

/// Returns for each receiver of a message the shortest timeout: of its signals, and of its
/// end-to-end protection. Each has its line, and the signal or the attribute in words.
pub(super) fn of_message(message: &MessageDefinition) -> BTreeMap<String, (Nanos, usize, String)> {
    let mut all: BTreeMap<String, (Nanos, usize, String)> = BTreeMap::new();
    let mut add = |node: String, new: (Nanos, usize, String)| {
        let old = all.entry(node).or_insert_with(|| new.clone());
        if new.0 < old.0 {
            *old = new;
        }
    };
    for signal in &message.signals {
        for timeout in &signal.timeouts {
            let own = |node: &&String| {
                let mut others = signal.timeouts.iter();
                !others.any(|other| other.node.as_ref() == Some(*node))
            };
            let nodes: Vec<String> = match &timeout.node {
                Some(node) => vec![node.clone()],
                None => receivers(signal.receivers.iter().filter(own), &signal.receivers),
            };
            for node in nodes {
                let what = format!("signal {}", signal.name);
                add(node, (timeout.after, signal.line, what));
            }
        }
    }
    let e2e = message.e2e.as_ref();
    if let Some((e2e, time)) = e2e.and_then(|e2e| Some((e2e, e2e.timeout?))) {
        let mut nodes: Vec<&String> = message.signals.iter().flat_map(|s| &s.receivers).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in receivers(nodes.iter().copied(), &nodes) {
            add(node, (time, e2e.line, "E2ETimeout".to_owned()));
        }
    }
    all
}

/// Returns these nodes; words for any node if the database names none.
fn receivers<'n, T>(nodes: impl Iterator<Item = &'n String>, named: &[T]) -> Vec<String> {
    if named.is_empty() {
        return vec!["any receiver".to_owned()];
    }
    nodes.cloned().collect()
}

fn message(connected: &ConnectedSet, place: MessagePlace) -> Option<&Message> {
    let bus = connected.network.buses.get(place.bus)?;
    bus.messages.get(place.message)
}

fn bus_name(connected: &ConnectedSet, bus: usize) -> String {
    let bus = connected.network.buses.get(bus);
    bus.map_or_else(String::new, |bus| bus.name.clone())
}

/// Returns the longest distance of a timeout's message.
pub(super) fn result(
    connected: &ConnectedSet,
    origins: &MessageOrigins<'_>,
    found: &NetworkFound,
    timeout: PlacedTimeout,
) -> Option<TimeoutResult> {
    let received = message(connected, timeout.place)?;
    let (first, mut hops) = origins.find(timeout.place);
    hops.reverse();
    let route = |hop: usize| connected.routes.get(hop).map_or("", String::as_str);
    let words = hops.iter().filter_map(|&hop| {
        let from = connected.network.hops.get(hop)?.from;
        let sent = message(connected, from)?;
        let bus = bus_name(connected, from.bus);
        Some(format!("{} of bus {bus}, route {}", sent.id(), route(hop)))
    });
    let words = words.collect();
    let on_way = hops.iter().filter_map(|&hop| {
        let condition = connected.conditions.get(hop).copied()?;
        Some((condition, format!("route {}", route(hop))))
    });
    let then = timeout
        .then
        .map(|then| (then.condition, "the route".to_owned()));
    let passages = hops
        .iter()
        .filter_map(|&hop| connected.network.hops.get(hop)?.passage);
    let passages = passages.chain(timeout.then.and_then(|then| then.passage));
    let dropped = passages.filter_map(|passage| drops_late(connected, found, passage));
    let dropped: Option<String> = dropped.into_iter().next();
    let blocked = on_way.chain(then).find_map(|(condition, what)| {
        let lost = condition.losses.filter(|most| timeout.losses > *most);
        match (condition.drops, lost) {
            (Some(why), _) => Some(format!("{what} {why}, so that it need not pass on each frame")),
            (None, Some(most)) => Some(format!(
                "{what} verifies its counter, and drops more frames after more than {most} lost ones"
            )),
            (None, None) => None,
        }
    });
    let joins = hops.iter().filter_map(|&hop| {
        let condition = connected.conditions.get(hop)?;
        let hop = connected.network.hops.get(hop)?;
        Some((hop.from, condition.within?, hop.delay))
    });
    let then = timeout.then;
    let then = then.and_then(|then| Some((timeout.place, then.condition.within?, then.delay)));
    let apart = joins.chain(then).find_map(|(place, within, delay)| {
        let most = found.response(place).ok()?.saturating_add(delay);
        let spread = most.saturating_sub(found.earliest_end(place)?);
        (spread > within).then(|| {
            format!(
                "the parts of a frame can come within {} µs, and the port that joins them drops it after {} µs: \
                 give it a longer `timeout`",
                micros(spread),
                micros(within)
            )
        })
    });
    let period = connected.longest_periods.get(first.bus);
    let period = period.and_then(|all| all.get(first.message).copied().flatten());
    let longest = match (blocked.or(dropped).or(apart), period) {
        (Some(why), _) => Err(why),
        (None, None) => Err("it is not periodic: its events have no longest distance".to_owned()),
        (None, Some(period)) => {
            let distance = found.reception_distance(timeout.place, period, timeout.losses);
            let times = timeout.then.map_or(Ok((0, 0)), |then| {
                found.passage_times(then.passage, then.delay)
            });
            let distance = distance.and_then(|distance| {
                let (least, most) = times?;
                Ok(distance.delayed(least, most))
            });
            distance.map_err(|why| {
                let bus = connected.network.buses.get(timeout.place.bus);
                format!("the message has no bound: {}", why.describe(bus))
            })
        }
    };
    let passage = timeout.then.and_then(|then| then.passage);
    let conditions = conditions(connected, found, timeout.place, passage);
    Some(TimeoutResult {
        conditions,
        id: received.id().to_string(),
        name: received.name.clone(),
        node: timeout.node,
        bus: bus_name(connected, timeout.place.bus),
        time: timeout.time,
        losses: timeout.losses,
        source: timeout.source,
        hops: words,
        longest,
    })
}

impl TimeoutResults {
    /// Formats the timeouts as a table, with an explanation of each that can expire.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        if !self.all.is_empty() {
            let heads = [
                "timeout of",
                "at",
                "bus",
                "time",
                "losses",
                "longest",
                "slack",
            ];
            let mut lines = table(&heads);
            for result in &self.all {
                let longest = result.longest.as_ref().ok().map(ReceptionDistance::longest);
                let slack = match longest {
                    Some(longest) if !result.can_expire() => micros(result.time - longest),
                    _ => "EXPIRES".to_owned(),
                };
                lines.add_row(row([
                    result.label(),
                    result.node.clone(),
                    result.bus.clone(),
                    micros(result.time),
                    result.losses.to_string(),
                    longest.map_or_else(
                        || "none".to_owned(),
                        |longest| marked(micros(longest), &result.conditions),
                    ),
                    slack,
                ]));
            }
            let _ = writeln!(text, "\nTimeouts of receivers");
            let _ = writeln!(text, "{}", fitted(lines, &[0, 1, 2]));
        }
        for result in self.all.iter().filter(|result| result.can_expire()) {
            let _ = writeln!(text, "{}", wrapped(&result.explanation()));
        }
        if !self.all.is_empty() {
            let legend = "longest: the longest time between two receptions: (losses + 1) times the period, and the \
                          bound over all buses less the shortest frames.";
            let _ = writeln!(text, "{}", wrapped(legend));
        }
        let conditional = self.all.iter().flat_map(|result| &result.conditions);
        if let Some(sentence) = sentence(conditional, "A longest time") {
            let _ = writeln!(text, "{}", wrapped(&sentence));
        }
        for note in &self.notes {
            let _ = writeln!(text, "{}", wrapped(note));
        }
        text
    }

    /// Returns the failure if a timeout can expire.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let late = self.all.iter().filter(|result| result.can_expire());
        let late: Vec<String> = late
            .map(|result| format!("{} at {}", result.label(), result.node))
            .collect();
        if late.is_empty() {
            return Ok(());
        }
        let more = late.len().saturating_sub(NAMED);
        let mut text = format!(
            "{} of {} timeouts can expire in normal operation, or have no bound: {}",
            late.len(),
            self.all.len(),
            late[..late.len() - more].join(", ")
        );
        if more > 0 {
            let _ = write!(text, " and {more} more");
        }
        Err(Failure::Ended {
            status: MISSED,
            text,
        })
    }
}

impl TimeoutResult {
    /// Explains why the timeout can expire.
    fn explanation(&self) -> String {
        let mut text = format!("{} at {} ({})", self.label(), self.node, self.source);
        match &self.longest {
            Err(why) => {
                let _ = write!(text, ": no bound: {why}.");
            }
            Ok(parts) => {
                let _ = write!(
                    text,
                    ": {} from event to event, and the bound {} less the shortest frames {} are {} of {}.",
                    micros(parts.events),
                    micros(parts.response),
                    micros(parts.shortest),
                    micros(parts.longest()),
                    micros(self.time)
                );
            }
        }
        if !self.hops.is_empty() {
            let _ = write!(text, " From {}.", self.hops.join("; "));
        }
        text
    }
}
