//! Attributes that are times.

use super::attributes::{DbcAttributes, TIMEOUT, Value, node_of_timeout};
use crate::define::nanos;
use crate::message::DatabaseWarning;
use crate::shown::shown;
use crate::statements::ReceiveTimeout;
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use frame::Nanos;

/// The times of messages, ms.
const OF_MESSAGES: [&str; 4] = [
    "GenMsgCycleTime",
    "GenMsgCycleTimeFast",
    "GenMsgDelayTime",
    "E2ETimeout",
];

/// The times of signals, ms; there is [`TIMEOUT`], too.
const OF_SIGNALS: [&str; 2] = ["GenSigCycleTime", "GenSigCycleTimeActive"];

impl DbcAttributes {
    /// Returns a time given in ms, above 0, as ns. For an enumeration, the word is the time.
    pub(super) fn millis(&self, raw: u32, name: &str) -> Option<Nanos> {
        millis(&self.word(raw, name)?)
    }

    /// Returns the same for a signal.
    pub(super) fn signal_millis(&self, raw: u32, signal: &str, name: &str) -> Option<Nanos> {
        millis(&self.signal_word(raw, signal, name)?)
    }

    /// Returns the times after which the receivers of a signal regard it as lost. `receivers` are
    /// the names in the signal's own statement.
    pub(super) fn receive_timeouts(
        &self,
        raw: u32,
        signal: &str,
        receivers: &[String],
    ) -> Vec<ReceiveTimeout> {
        let mut all: Vec<ReceiveTimeout> = Vec::new();
        let mut known = BTreeSet::new();
        let mut add = |node: Option<&str>, value: Option<String>| {
            let node = node.map(|node| self.long_node(node).unwrap_or_else(|| node.to_owned()));
            if let Some(after) = value.as_deref().and_then(millis)
                && known.insert(node.clone())
            {
                all.push(ReceiveTimeout { node, after });
            }
        };
        let own = self.timeouts.get(&(raw, signal.to_owned()));
        for (name, node, value) in own.into_iter().flatten() {
            add(Some(node), self.in_words(name, value, true));
        }
        for node in receivers {
            let name = format!("{TIMEOUT}_{node}");
            let default = self.defaults.get(&name);
            let default = default.and_then(|value| self.in_words(&name, value, false));
            add(Some(node), default);
        }
        add(None, self.signal_word(raw, signal, TIMEOUT));
        all
    }

    /// Adds a warning for each statement whose time is impossible, and therefore left out.
    pub(super) fn warn_of_times(&self, warnings: &mut Vec<DatabaseWarning>) {
        let mut check = |name: &str, value: &Value, own: bool, of: &dyn fmt::Display| {
            let word = self.in_words(name, value, own);
            if let Some(word) = word.filter(|word| !is_time(word)) {
                warnings.push(DatabaseWarning {
                    line: value.line,
                    problem: format!(
                        "{}{of}: `{}` is not a time, and is left out: write ms above 0 and up to 11 \
                         days, or 0 for no time",
                        shown(name),
                        shown(&word)
                    ),
                });
            }
        };
        let of_nodes = |name: &str| name == TIMEOUT || node_of_timeout(name).is_some();
        let of_signals = |name: &str| OF_SIGNALS.contains(&name) || of_nodes(name);
        for (name, value) in &self.defaults {
            if OF_MESSAGES.contains(&&**name) || of_signals(name) {
                check(name, value, false, &" by default");
            }
        }
        for ((raw, name), value) in &self.of_messages {
            if OF_MESSAGES.contains(&&**name) {
                check(name, value, true, &format_args!(" of message {raw}"));
            }
        }
        for ((raw, name), values) in &self.of_signals {
            for (signal, value) in values.iter().filter(|_| of_signals(name)) {
                let signal = shown(signal);
                let of = format_args!(" of {signal} of message {raw}");
                check(name, value, true, &of);
            }
        }
        for ((raw, signal), timeouts) in &self.timeouts {
            // An attribute of the signal with the name of a node is one of those above.
            let own = timeouts.iter().filter(|(name, ..)| name == TIMEOUT);
            for (name, node, value) in own {
                let (signal, node) = (shown(signal), shown(node));
                let of = format_args!(" of {node} for {signal} of message {raw}");
                check(name, value, true, &of);
            }
        }
    }
}

/// Parses a time in ms, or with its unit (ms or s), above 0, and returns it as ns.
fn millis(text: &str) -> Option<Nanos> {
    nanos(number(text)?, 1e6)
}

/// Returns whether a text is a time, or stands for no time: 0, or without characters.
fn is_time(text: &str) -> bool {
    text.trim().is_empty() || number(text) == Some(0.0) || millis(text).is_some()
}

/// Parses a number of ms, or one with its unit (ms or s), and returns it in ms.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let units = [("ms", 1.0), ("s", 1e3), ("", 1.0)];
    let mut matching = units
        .iter()
        .filter_map(|(unit, ms)| Some((text.strip_suffix(unit)?, *ms)));
    let (number, ms) = matching.next()?;
    Some(number.trim_end().parse::<f64>().ok()? * ms)
}
