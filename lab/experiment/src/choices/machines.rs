//! The machines in addition to the measured one: their number, and the frames that they send.

use super::word::{WordError, number, plain_words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum number of machines that share the controller.
pub const MOST_MACHINES: u8 = 8;
/// The highest budget, frames per second: more than a bus of 1 Mbit/s carries.
pub const MOST_BUDGET: u32 = 100_000;

/// The machines that share the controller. One of them asks, with the highest priority of all; the
/// others send at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(default)]
    pub incident: Incident,
}

impl Machines {
    /// Only the machine that asks.
    pub const ONE: Self = Self {
        count: 1,
        others: OtherTraffic::Flood,
        order: MachineOrder::Priority,
        budget: 0,
        incident: Incident::None,
    };

    /// Returns the number of machines in addition to the one that asks.
    #[must_use]
    pub const fn beside(self) -> u8 {
        self.count.saturating_sub(1)
    }
}

impl Default for Machines {
    fn default() -> Self {
        Self::ONE
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
            (_, Some(percent)) => Ok(Self::Load(number(percent, 1, 100, "bus load in per cent")?)),
            _ => Err(WordError::unknown(
                text,
                "traffic of other machines",
                "flood, load:PERCENT, babble",
            )),
        }
    }
}

/// The order in which frames of several machines are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineOrder {
    /// By their priority on the bus, as far as the way allows: frames that wait in software by
    /// `[controllers.NAME]` or `order = "priority"`; natively a controller for each program.
    Priority,
    /// In order of arrival: all wait in one queue. It shows the effect of a queue without
    /// priorities.
    Fifo,
}

plain_words!(
    MachineOrder,
    "order of frames",
    MachineOrder::Priority = "priority",
    MachineOrder::Fifo = "fifo",
);

/// The incident that occurs while all machines send, in the middle of the round trips.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Incident {
    /// No incident.
    #[default]
    None,
    /// The first of the machines other than the one that asks is killed, with its monitor.
    Kill,
    /// That machine is stopped with its monitor for a while.
    Pause,
    /// That machine is reset, as by its reset button, and boots.
    Reset,
    /// The controller that all share goes bus-off, and its owner restarts it.
    BusOff,
}

plain_words!(
    Incident,
    "incident",
    Incident::None = "none",
    Incident::Kill = "kill",
    Incident::Pause = "pause",
    Incident::Reset = "reset",
    Incident::BusOff = "bus-off",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for word in ["flood", "load:1", "load:100", "babble"] {
            assert_eq!(word.parse::<OtherTraffic>().unwrap().to_string(), word);
        }
        for word in ["priority", "fifo"] {
            assert_eq!(word.parse::<MachineOrder>().unwrap().to_string(), word);
        }
        for word in ["none", "kill", "pause", "reset", "bus-off"] {
            assert_eq!(word.parse::<Incident>().unwrap().to_string(), word);
        }
        for bad in [
            "", "load", "load:", "load:0", "load:101", "load:+5", "Flood",
        ] {
            assert!(bad.parse::<OtherTraffic>().is_err(), "{bad}");
        }
        let error = "silence".parse::<OtherTraffic>().unwrap_err();
        assert!(error.hint.contains("load:PERCENT"), "{error}");
        assert_eq!(Machines::default().beside(), 0);
    }
}
