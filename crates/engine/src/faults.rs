//! Faults that were injected on purpose.

use serde::{Deserialize, Serialize};

/// Number of faults injected on purpose on one half of a port
/// ([`wrap::Faulty`](crate::wrap::FaultyHalf)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FaultCounters {
    /// Frames that were dropped. A receiving half never handed them over; on the transmitting half
    /// they are also among the [lost](crate::TxCounters::lost).
    pub dropped: u64,
    /// Second frames, after those that were duplicated. A receiving half handed them over as
    /// further frames; on the transmitting half they are sent, lost or held like others, but were
    /// not given to the port.
    pub duplicated: u64,
    /// Frames with a changed bit.
    pub corrupted: u64,
    /// Frames that a transmitting half refused although it had room.
    pub refused: u64,
}

impl FaultCounters {
    /// Returns whether there were no faults.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the counts since the counters were at `base`.
    pub(crate) const fn since(&self, base: &Self) -> Self {
        Self {
            dropped: self.dropped.saturating_sub(base.dropped),
            duplicated: self.duplicated.saturating_sub(base.duplicated),
            corrupted: self.corrupted.saturating_sub(base.corrupted),
            refused: self.refused.saturating_sub(base.refused),
        }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.dropped += other.dropped;
        self.duplicated += other.duplicated;
        self.corrupted += other.corrupted;
        self.refused += other.refused;
    }
}
