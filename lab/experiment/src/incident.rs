//! The entries of results about an incident: something that happened to a machine, or to the
//! controller, while all machines sent.

use crate::entry::figure;
use probe::RunResults;

/// The effects of an incident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncidentAftermath {
    /// Round trips before it.
    pub before: u64,
    /// Frames of the machine that were on the bus after the incident, and before the machine was
    /// started again.
    pub later: u64,
    /// Machines that had been notified that the controller was bus-off.
    pub reported: u64,
    /// Of 20 frames that the machine sent afterwards: the number that were on the bus.
    pub returned: u64,
    /// Of one frame that was sent to it afterwards: the number that it received.
    pub received: u64,
    /// Frames that all machines together requested to send, from the first to the last.
    pub requested: u64,
    /// Of these: frames sent on the bus.
    pub sent: u64,
    /// Frames refused at once: no right, the queue was full, or the controller was down.
    pub refused: u64,
    /// Frames given up: by the end or the reset of a machine, or by bus-off.
    pub given_up: u64,
    /// Frames still waiting.
    pub waiting: u64,
    /// Frames that the node that answers has received from the bus.
    pub heard: u64,
}

/// Number of frames that a machine sends when it has returned.
pub const RETURNED: u64 = 20;

const NAMES: [&str; 11] = [
    "incident, round trips before it",
    "incident, frames of the machine after it",
    "incident, machines that knew",
    "incident, frames sent on return",
    "incident, frames received on return",
    "incident, frames asked for",
    "incident, frames sent",
    "incident, frames refused",
    "incident, frames given up",
    "incident, frames waiting",
    "incident, frames heard",
];

impl IncidentAftermath {
    /// Returns the number of frames without a fate: those that were requested and are in no sum, or
    /// the other way round.
    #[must_use]
    pub const fn without_fate(&self) -> u64 {
        let fates = self.sent + self.refused + self.given_up + self.waiting;
        self.requested.abs_diff(fates)
    }

    /// Returns the number of frames that are counted as sent but that the node that answers has not
    /// received, or the other way round. This is 0 where that node reads its controller in time:
    /// for frames that do not fit into its FIFO, it only counts how often that happened.
    #[must_use]
    pub const fn unheard(&self) -> u64 {
        self.sent.abs_diff(self.heard)
    }

    const fn numbers(&self) -> [u64; 11] {
        [
            self.before,
            self.later,
            self.reported,
            self.returned,
            self.received,
            self.requested,
            self.sent,
            self.refused,
            self.given_up,
            self.waiting,
            self.heard,
        ]
    }

    /// Returns them as entries of a description.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, String)> {
        let all = NAMES.iter().zip(self.numbers());
        all.map(|(name, number)| ((*name).to_owned(), number.to_string()))
            .collect()
    }

    /// Reads them from results; `None` where there was no incident.
    #[must_use]
    pub fn from_results(results: &RunResults) -> Option<Self> {
        let mut numbers = [0; NAMES.len()];
        for (number_of, name) in numbers.iter_mut().zip(NAMES) {
            *number_of = figure(results, name)?;
        }
        let [before, later, reported, returned, received, rest @ ..] = numbers;
        let [requested, sent, refused, given_up, waiting, heard] = rest;
        Some(Self {
            before,
            later,
            reported,
            returned,
            received,
            requested,
            sent,
            refused,
            given_up,
            waiting,
            heard,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_it_is_read_again() {
        let mut results = RunResults::default();
        assert_eq!(IncidentAftermath::from_results(&results), None);
        let all = IncidentAftermath {
            before: 1,
            later: 2,
            reported: 3,
            returned: 4,
            received: 5,
            requested: 30,
            sent: 12,
            refused: 7,
            given_up: 8,
            waiting: 2,
            heard: 12,
        };
        results.description.more = all.entries();
        assert_eq!(IncidentAftermath::from_results(&results), Some(all));
        assert_eq!((all.without_fate(), all.unheard()), (1, 0));
        assert_eq!(IncidentAftermath { heard: 14, ..all }.unheard(), 2);
    }
}
