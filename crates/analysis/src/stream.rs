//! The frames of one message, as they compete for the bus.

use crate::Arrival;
use frame::Nanos;

/// The frames of one message, as they compete for the bus in a [window](crate::window).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RivalStream {
    pub(crate) arrival: Arrival,
    /// The time that a frame occupies the bus, including the intermission and the time that pauses
    /// of its node add, ns.
    pub(crate) occupied: Nanos,
    /// The train that it belongs to, of those of its window.
    pub(crate) train: Option<usize>,
    /// No frame of it is released before this time, ns after *s*: [`mod@crate::offset`]. 0 for any
    /// phase.
    pub(crate) lead: Nanos,
}

impl RivalStream {
    /// Returns the greatest number of releases from *s* to `span` ns later, both included.
    pub(crate) fn within(&self, span: Nanos) -> u64 {
        let left = span.checked_sub(self.lead);
        left.map_or(0, |left| self.arrival.most_within(left))
    }

    /// Returns the same without the last instant.
    pub(crate) fn before(&self, span: Nanos) -> u64 {
        let left = span.checked_sub(self.lead);
        left.map_or(0, |left| self.arrival.most_before(left))
    }

    /// Returns the earliest time of release number `n` (from 0), ns after *s*.
    pub(crate) fn earliest(&self, n: u64) -> Nanos {
        self.arrival.earliest(n).saturating_add(self.lead)
    }

    /// Returns the part of the bus that it occupies.
    pub(crate) fn load(&self) -> f64 {
        self.occupied as f64 * self.arrival.rate()
    }
}
