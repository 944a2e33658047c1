//! The machines in addition to the measured one: their number, and the frames that they send.

use super::word::{WordError, WordKind, WordMeaning, number, plain_words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum number of machines that share the controller.
pub const MAX_MACHINES: u8 = 8;
/// The highest budget, frames per second: more than a bus of 1 Mbit/s carries.
pub const MAX_BUDGET: u32 = 100_000;

/// The machines that share the controller. One of them asks, with the highest priority of all; the
/// others send at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machines {
    /// The number of machines, including the one that asks.
    pub count: u8,
    /// The frames that the others send.
    pub others: OtherTraffic,
    /// The order in which the frames of all are sent.
    pub order: MachineOrder,
    /// Number of frames per second that each of the others may send; 0: no limit.
    pub budget: u32,
    /// The incident in the middle of the round trips.
    pub incident: Incident,
}

impl Machines {
    /// Returns the number of machines in addition to the one that asks.
    #[must_use]
    pub const fn beside(self) -> u8 {
        self.count.saturating_sub(1)
    }
}

/// The frames that the machines other than the one that asks send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtherTraffic {
    /// As fast as they can, with lower priority than the one that asks.
    Flood,
    /// This percentage of the bus's capacity, all of them together, with lower priority.
    Load(u8),
    /// Like `Flood`, but the last of them with a higher priority than the one that asks.
    Babble,
}

impl WordKind for OtherTraffic {
    const KIND: &'static str = "traffic of other machines";
    const WORDS: &'static [WordMeaning] = &[
        (
            "flood",
            &["As fast as they can, frames of 8 bytes with a lower priority"],
        ),
        (
            "load:PERCENT",
            &["Together about this share of the bus's capacity, with a lower priority"],
        ),
        (
            "babble",
            &["Like flood, but the last has a higher priority than the one that asks"],
        ),
    ];
}

impl fmt::Display for OtherTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flood => f.write_str("flood"),
            Self::Load(percent) => write!(f, "load:{percent}"),
            Self::Babble => f.write_str("babble"),
        }
    }
}

impl FromStr for OtherTraffic {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match (text, text.strip_prefix("load:")) {
            ("flood", _) => Ok(Self::Flood),
            ("babble", _) => Ok(Self::Babble),
            (_, Some(percent)) => Ok(Self::Load(number(
                percent,
                1..=100,
                "bus load in per cent",
            )?)),
            _ => Err(WordError::unknown::<Self>(text)),
        }
    }
}

plain_words! {
    /// The order in which frames of several machines are sent.
    pub enum MachineOrder, "order of frames" {
        /// The highest priority first, as far as the way allows.
        ///
        /// Frames that wait in software are ordered by `[controllers.NAME]` or
        /// `order = "priority"`; natively each program has a controller.
        Priority = "priority",
        /// In order of arrival, in one queue: the highest priority waits behind all others.
        ///
        /// It shows the effect of a queue without priorities.
        Fifo = "fifo",
    }
}

plain_words! {
    /// The incident that occurs while all machines send, in the middle of the round trips.
    pub enum Incident, "incident" {
        /// No incident.
        None = "none",
        /// The first of the other machines is killed with its monitor (SIGKILL).
        Kill = "kill",
        /// That machine is stopped with its monitor for 50 ms (SIGSTOP).
        Pause = "pause",
        /// That machine is reset, as by its reset button, and boots.
        Reset = "reset",
        /// The controller that all share goes bus-off, and its owner restarts it.
        BusOff = "bus-off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for word in ["flood", "load:1", "load:100", "babble"] {
            assert_eq!(word.parse::<OtherTraffic>().unwrap().to_string(), word);
        }
        for bad in [
            "", "load", "load:", "load:0", "load:101", "load:+5", "Flood",
        ] {
            assert!(bad.parse::<OtherTraffic>().is_err(), "{bad}");
        }
        let error = "silence".parse::<OtherTraffic>().unwrap_err();
        assert!(error.hint.contains("load:PERCENT"), "{error}");
    }
}
