//! Frames that came in or should have come in, and did not arrive.

use crate::snapshot::CounterSnapshot;
use core::fmt;

/// Frames and copies that did not arrive and that no rule was asked to stop. Rules, limits and
/// injected faults are not included; frames that a full or slow queue drops are, whatever rule
/// selected the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossCounters {
    /// Copies that a full queue refused.
    pub refused: u128,
    /// Copies for a port that was down or out of service, or that cannot carry such a frame.
    pub undeliverable: u128,
    /// Copies that a port took and did not send.
    pub lost: u128,
    /// Copies that waited in a port's queue for its maximum time.
    pub expired: u128,
    /// Copies that made room in a full queue for newer ones.
    pub displaced: u128,
    /// Frames that were lost before the gateway saw them: a receive queue was full.
    pub overrun: u128,
    /// Input that was not a valid frame: bad lines of a log.
    pub malformed: u128,
}

impl LossCounters {
    /// Returns whether there are no losses.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Displays those that are not 0, separated by commas.
impl fmt::Display for LossCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.refused, "refused by a full queue"),
            (self.undeliverable, "undeliverable"),
            (self.lost, "lost by a port that had taken them"),
            (self.expired, "expired in a queue"),
            (self.displaced, "displaced by newer frames"),
            (self.overrun, "lost before the gateway saw them"),
            (self.malformed, "left out as no frames (bad lines)"),
        ];
        let mut first = true;
        for (number, words) in all.into_iter().filter(|(number, _)| *number > 0) {
            if !core::mem::take(&mut first) {
                f.write_str(", ")?;
            }
            write!(f, "{number} {words}")?;
        }
        Ok(())
    }
}

impl CounterSnapshot {
    /// Returns the losses since the start.
    #[must_use]
    pub fn losses(&self) -> LossCounters {
        let mut all = LossCounters::default();
        for (_, port) in self.all_ports() {
            let on_purpose = &port.tx.faults;
            all.refused += u128::from(port.copies.refused.saturating_sub(on_purpose.refused));
            all.undeliverable += port.copies.undeliverable();
            all.lost += u128::from(port.tx.lost.saturating_sub(on_purpose.dropped));
            all.expired += u128::from(port.tx.expired);
            all.displaced += u128::from(port.tx.displaced);
            all.overrun += u128::from(port.rx.overrun);
            all.malformed += u128::from(port.rx.malformed);
        }
        all
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
        let losses = LossCounters {
            refused: 1,
            undeliverable: 3,
            lost: 4,
            expired: 12,
            displaced: 13,
            overrun: 9,
            malformed: 8,
        };
        assert_eq!(snapshot.losses(), losses);
        assert_eq!(
            losses.to_string(),
            "1 refused by a full queue, 3 undeliverable, 4 lost by a port that had taken them, 12 \
             expired in a queue, 13 displaced by newer frames, 9 lost before the gateway saw them, 8 \
             left out as no frames (bad lines)"
        );
    }
}
