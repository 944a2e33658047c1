//! Frames that came in or should have come in, and did not arrive.

use crate::counters::PortCount;
use crate::definition::{CounterDefinition, CounterRole};
use crate::fate::Fate;
use crate::snapshot::CounterSnapshot;
use alloc::vec::Vec;
use core::fmt;

/// Frames and copies that did not arrive and that no rule was asked to stop. Rules, limits and
/// injected faults are not included; frames that a full or slow queue drops are, whatever rule
/// selected the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LossCounters(Vec<(&'static str, u128)>);

impl LossCounters {
    /// Returns whether there are no losses.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|(_, number)| *number == 0)
    }

    /// Adds copies that an interface did not take, for which this process has no counters.
    pub fn add_undeliverable(&mut self, copies: u128) {
        let undeliverable = Fate::Undeliverable.words();
        let mut all = self.0.iter_mut();
        if let Some((_, number)) = all.find(|(words, _)| *words == undeliverable) {
            *number += copies;
        }
    }
}

/// Displays those that are not 0, separated by commas.
impl fmt::Display for LossCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (words, number) in self.0.iter().filter(|(_, number)| *number > 0) {
            write!(f, "{between}{number} {words}")?;
            between = ", ";
        }
        Ok(())
    }
}

impl CounterSnapshot {
    /// Returns the losses since the start.
    #[must_use]
    pub fn losses(&self) -> LossCounters {
        let lost = PortCount::definitions().filter(|counter| counter.role == CounterRole::Lost);
        let of_all = |counter: &CounterDefinition| {
            let ports = self.all_ports();
            ports
                .map(|(_, port)| u128::from(counter.losses(port)))
                .sum()
        };
        LossCounters(
            lost.map(|counter| (counter.words, of_all(counter)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn faults_on_purpose_are_no_losses() {
        let mut snapshot = CounterSnapshot::default();
        let port = &mut snapshot.retired_ports;
        port.copies.refused = 5;
        port.tx.lost = 7;
        port.tx.faults.refused = 5;
        port.tx.faults.dropped = 7;
        assert!(snapshot.losses().is_none());
        let port = &mut snapshot.retired_ports;
        port.copies.refused = 6;
        port.copies.down = 1;
        port.copies.unsupported = 2;
        port.tx.lost = 11;
        port.tx.expired = 12;
        port.tx.displaced = 13;
        port.rx.overrun = 9;
        port.rx.malformed = 8;
        let mut losses = snapshot.losses();
        assert_eq!(
            losses.to_string(),
            "1 refused by a full queue, 3 undeliverable, 4 accepted and lost, 12 expired in a \
             queue, 13 displaced by newer frames, 9 lost before the gateway saw them, 8 left \
             out: not valid frames (bad lines)"
        );
        losses.add_undeliverable(4);
        assert!(
            losses.to_string().contains(", 7 undeliverable, "),
            "{losses}"
        );
    }
}
