//! Presentation times: 32 bits of a clock that both sides follow.

use frame::Nanos;

/// The time after which the bits of a presentation time repeat, ns: 4.29 s.
const PERIOD: Nanos = 1 << 32;

/// The time at which a frame should be handed on, as far as a protocol carries it: the low 32 bits
/// of a clock's nanoseconds (IEEE 1722, `avtp_timestamp`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentationTime {
    /// The time modulo 2^32 ns.
    pub low: u32,
    /// The sender marks the time as uncertain: its clock was not synchronised (IEEE 1722, `tu`).
    pub is_uncertain: bool,
}

impl PresentationTime {
    /// The farthest that a presentation time can be ahead of the receiver's clock, ns.
    pub const FARTHEST_AHEAD: Nanos = 1_000_000_000;

    /// Returns the low bits of a time of the clock, ns.
    #[must_use]
    pub const fn at(time: Nanos) -> Self {
        Self {
            low: time as u32,
            is_uncertain: false,
        }
    }

    /// Returns the same time for a frame that is this much later, ns.
    #[must_use]
    pub const fn plus(self, later: Nanos) -> Self {
        Self {
            low: self.low.wrapping_add(later as u32),
            ..self
        }
    }

    /// Returns the whole time by the same clock, which shows `now`, ns: the only time with these
    /// bits that is up to [`PresentationTime::FARTHEST_AHEAD`] ahead, and less than 3.3 s ago. 0 if
    /// that is before the clock's beginning.
    #[must_use]
    pub const fn resolve(self, now: Nanos) -> Nanos {
        let ahead = self.low.wrapping_sub(now as u32) as Nanos;
        if ahead <= Self::FARTHEST_AHEAD {
            now.saturating_add(ahead)
        } else {
            now.saturating_sub(PERIOD - ahead)
        }
    }
}
