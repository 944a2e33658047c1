//! The age of the values in made messages.
//!
//! # The argument
//! A made frame takes its values at a time m. Of each source message, the port then has the frame
//! of some event e, and not yet the next one, which is there at the latest P + R + g after e: P is
//! the longest time between two events, R the bound on the source's bus (with its jitter), g the
//! gateway's time. So m < e + P + R + g. The next made frame is due at most a cycle C after this
//! one, and it ends at most M later, its bound. Until then a receiver uses the values of this one:
//!
//! > age < P + R + g + C + M.

use super::connected::ConnectedSet;
use super::timeouts::{PlacedTimeout, TimeoutAfter, result};
use super::tunnel_words::{marked, sentence};
use super::words::micros;
use analysis::{MessageOrigins, MessagePlace, NetworkFound};
use console::columns::{fitted, wrapped};
use console::table::{row, table};
use frame::Nanos;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The age of a source's values in a made message on a bus.
#[derive(Clone, Serialize)]
pub(super) struct DataAge {
    source: String,
    made: String,
    bus: String,
    /// The longest time between two events of the source.
    period_ns: Option<Nanos>,
    /// The bound from the event until the gateway has the frame.
    source_ns: Option<Nanos>,
    /// The cycle of the made message.
    cycle_ns: Option<Nanos>,
    /// The bound of the made message on this bus.
    made_ns: Option<Nanos>,
    /// The sum.
    age_ns: Option<Nanos>,
    /// Times that were measured or stated, and on which the age depends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditional_on: Vec<String>,
    /// The reason why there is no bound.
    no_bound: Option<String>,
}

/// Returns the ages of all sources of all made messages, on each bus that has them.
pub(super) fn find(connected: &ConnectedSet, found: &NetworkFound) -> Vec<DataAge> {
    let origins = MessageOrigins::new(&connected.network);
    let mut all = Vec::new();
    for source in &connected.inputs {
        for made in connected
            .made
            .iter()
            .filter(|made| made.made == source.made)
        {
            let buses = 0..connected.network.buses.len();
            let copies = buses.flat_map(|bus| origins.copies(made.place, bus));
            for place in [made.place].into_iter().chain(copies) {
                let way = |place: MessagePlace, then: Option<TimeoutAfter>| {
                    let placed = PlacedTimeout {
                        place,
                        node: String::new(),
                        time: 0,
                        losses: 0,
                        source: String::new(),
                        then,
                    };
                    result(connected, &origins, found, placed)
                };
                let (Some(before), Some(after)) =
                    (way(source.place, Some(source.into())), way(place, None))
                else {
                    continue;
                };
                let cycle = made.cycle;
                let cycle = cycle.ok_or_else(|| "the message has no cycle".to_owned());
                let sum = cycle.and_then(|cycle| {
                    let (before, after) = (before.longest.clone()?, after.longest.clone()?);
                    Ok((before, cycle, after.response))
                });
                let parts = sum.as_ref().ok();
                let conditions = before.conditions.iter().chain(&after.conditions);
                let conditions: BTreeSet<String> = conditions.cloned().collect();
                all.push(DataAge {
                    source: before.label(),
                    made: after.label(),
                    bus: after.bus.clone(),
                    period_ns: parts.map(|(before, ..)| before.events),
                    source_ns: parts.map(|(before, ..)| before.response),
                    cycle_ns: made.cycle,
                    made_ns: parts.map(|(.., made)| *made),
                    age_ns: parts.map(|(before, cycle, made)| {
                        let known = before.events.saturating_add(before.response);
                        known.saturating_add(*cycle).saturating_add(*made)
                    }),
                    conditional_on: conditions.into_iter().collect(),
                    no_bound: sum.err(),
                });
            }
        }
    }
    all
}

/// Formats the ages as a table.
pub(super) fn render(all: &[DataAge]) -> String {
    let mut text = String::new();
    if all.is_empty() {
        return text;
    }
    let heads = [
        "value of", "in", "bus", "period", "source", "cycle", "made", "age",
    ];
    let mut lines = table(&heads);
    for age in all {
        let cell = |ns: Option<Nanos>| ns.map_or_else(|| "none".to_owned(), micros);
        lines.add_row(row([
            age.source.clone(),
            age.made.clone(),
            age.bus.clone(),
            cell(age.period_ns),
            cell(age.source_ns),
            cell(age.cycle_ns),
            cell(age.made_ns),
            marked(cell(age.age_ns), &age.conditional_on),
        ]));
    }
    let _ = writeln!(text, "\nAges of values in made messages");
    let _ = writeln!(text, "{}", fitted(lines, &[0, 1, 2]));
    for words in all.iter().filter_map(DataAge::missing) {
        let _ = writeln!(text, "{}", wrapped(&words));
    }
    let legend = "age: the oldest value that a receiver uses, since its event: the period, the source until the \
                  gateway has it, the wait for the next frame that is made, and that frame.";
    let _ = writeln!(text, "{}", wrapped(legend));
    if let Some(sentence) = conditions(all) {
        let _ = writeln!(text, "{}", wrapped(&sentence));
    }
    text
}

/// Returns the sentence that explains the stars at ages, if there are any.
fn conditions(all: &[DataAge]) -> Option<String> {
    let conditional = all.iter().flat_map(|age| &age.conditional_on);
    sentence(conditional, "An age")
}

impl DataAge {
    /// Returns a sentence with the age, if there is one.
    fn note(&self) -> Option<String> {
        let value = marked(micros(self.age_ns?), &self.conditional_on);
        Some(format!(
            "A value of {} in {} on bus {} is at most {value} µs old.",
            self.source, self.made, self.bus
        ))
    }

    /// Returns a sentence with the reason why there is no age, if there is none.
    fn missing(&self) -> Option<String> {
        let why = self.no_bound.as_ref()?;
        Some(format!(
            "No age of {} in {}: {why}.",
            self.source, self.made
        ))
    }
}

/// Describes the ages in sentences, for the page.
pub(super) fn notes(all: &[DataAge]) -> Vec<String> {
    let ages = all
        .iter()
        .filter_map(|age| age.note().or_else(|| age.missing()));
    ages.chain(conditions(all)).collect()
}
