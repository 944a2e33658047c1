//! `timeouts` and `longest_period` of a message: its receivers, and the time for which they wait.

use crate::Arrival;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use config::read::{self, by};
use config::{Diagnostic, Diagnostics, SpannedValue, TomlTable, TomlValue, ValueShape};
use frame::Nanos;

config::settings! {
    /// The keys of a timeout.
    struct TimeoutKeys {
        /// The node that receives the message.
        node: Option<String> = None => read::text(), value "name", default "required",
            needed "add `node = \"Cluster\"`: the receiver",
            not "receiver" "consumer" "ecu";
        /// The time after which the node regards the message as lost.
        time: Option<Nanos> = None => read::duration(), value "duration", default "required",
            needed "add `time = \"500ms\"`",
            not "timeout" "after" "duration";
        /// The most frames in a row that may be lost without a timeout.
        losses: u32 = 0 => read::integer(0_u32..=1_000_000),
            not "lost" "tolerated" "k" "missed";
        /// The bus of the receiver, if a gateway sends the message to it.
        bus: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, text),
            value "name", default "the message's", not "network" "on";
    }
}

/// A timeout as its table specifies it.
pub(super) struct ParsedTimeout {
    pub(super) node: String,
    pub(super) time: Nanos,
    pub(super) losses: u32,
    pub(super) bus: Option<SpannedValue<String>>,
    /// The place of its table in the text.
    pub(super) at: usize,
}

fn text(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<String>> {
    Some(value.string(found)?.map(ToOwned::to_owned))
}

/// Reads the timeouts of a message.
pub(super) fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Vec<ParsedTimeout> {
    let tables = table.tables("timeouts", "timeout", found);
    let each = tables.into_iter().filter_map(|mut table| {
        let at = table.span().start;
        let keys = TimeoutKeys::read(&mut table, found);
        if keys.time == Some(0) {
            let hint = "leave this timeout out, or write \"500ms\"";
            table.wrong("time", "a timeout of 0 is no time", hint, found);
        }
        table.finish(found);
        Some(ParsedTimeout {
            node: keys.node?,
            time: keys.time?,
            losses: keys.losses,
            bus: keys.bus,
            at,
        })
    });
    each.collect()
}

/// Reads the longest time between two events of a message; `None` if there is no limit. The outer
/// `None`: it is wrong, and was reported.
pub(super) fn longest_period(
    table: &mut TomlTable<'_>,
    arrival: Option<&Arrival>,
    found: &mut Diagnostics,
) -> Option<Option<Nanos>> {
    let period = arrival.filter(|arrival| arrival.distances().is_none());
    let period = period.map(Arrival::period);
    let Some(value) = table.get("longest_period") else {
        return Some(period);
    };
    if value.as_str() == Some("none") {
        return Some(None);
    }
    let given = value.duration(found)?;
    if let Some(period) = period.filter(|period| given.value < *period) {
        let message = format!("the longest period is shorter than the period, {period} ns");
        let hint =
            "`period` is the least time between two events, `longest_period` the longest one";
        found.push(Diagnostic::error(given.span, message).hint(hint));
        return None;
    }
    Some(Some(given.value))
}
