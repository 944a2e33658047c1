//! Words and numbers of the report, in each of its forms.

use super::label;
use analysis::{BusSpec, NoBound};

/// Formats nanoseconds as µs, with all significant digits.
pub(super) fn micros(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Describes why a message of this bus has no bound.
pub(super) fn no_bound(why: NoBound, bus: Option<&BusSpec>) -> String {
    match why {
        NoBound::Overload(load) => format!(
            "with all higher-priority frames the bus load is {:.1} %",
            load * 100.0
        ),
        NoBound::TooLong => "the bus can be busy for more than an hour".to_owned(),
        NoBound::Upstream => "a message that comes from another bus has no bound there".to_owned(),
        NoBound::Circle => "jitter grows without end around a circle of buses".to_owned(),
        NoBound::Follows(other) => {
            let other = bus.and_then(|bus| bus.messages.get(other));
            let other = other.map_or_else(String::new, label);
            format!("higher-priority message {other} has no bound")
        }
    }
}
