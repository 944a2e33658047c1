//! `distances` of a message: its arrival curve.

use crate::{Arrival, ArrivalError, MAX_DISTANCES};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue};
use frame::Nanos;

/// Keys that specify the releases in another way.
const INSTEAD: [&str; 3] = ["period", "jitter", "distance"];

/// Reads the arrival and the deadline of a message with `distances`, whose value is `given`.
pub(super) fn times(
    table: &mut TomlTable<'_>,
    given: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<(Arrival, Nanos)> {
    for key in INSTEAD {
        // Requested, so that the key counts as known.
        if let Some(other) = table.get(key) {
            let message = format!("`distances` and `{key}` both set when it comes");
            let hint = "leave one of them out";
            found.push(Diagnostic::error(other.span(), message).hint(hint));
        }
    }
    if let Some(offset) = table.get("offset") {
        let message = "an offset with `distances`: only events with a period have one";
        let hint = "leave it out: the message then has any phase, which is safe";
        found.push(Diagnostic::error(offset.span(), message).hint(hint));
    }
    let deadline = match table.get("deadline") {
        Some(value) => value.duration(found),
        None => {
            let hint = "add one: `distances` have no period that could replace it";
            table.missing("deadline", hint, found);
            None
        }
    };
    let arrival = arrival(given, found);
    Some((arrival?, deadline?.value))
}

fn arrival(given: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Arrival> {
    let Some(list) = given.as_list() else {
        let what = "a list such as [\"5ms\", \"38ms\"]: the least time that 2, 3 ... releases span";
        given.expected(what, found);
        return None;
    };
    let all: Vec<Option<Nanos>> = list
        .iter()
        .map(|value| Some(value.duration(found)?.value))
        .collect();
    let all: Vec<Nanos> = all.into_iter().collect::<Option<_>>()?;
    match Arrival::curve(&all) {
        Ok(arrival) => Some(arrival),
        Err(error) => {
            let place = match error {
                ArrivalError::Short { releases, .. } => list.get(releases.saturating_sub(2)),
                ArrivalError::TooMany(_) => list.get(MAX_DISTANCES),
                ArrivalError::NoTime => list.last(),
                _ => None,
            };
            let span = place.map_or(given.span(), TomlValue::span);
            found.push(Diagnostic::error(span, error.to_string()));
            None
        }
    }
}
