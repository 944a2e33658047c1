//! How often a message is released.

use frame::Nanos;

/// The releases of a message, as the standard event model has them: a period, a jitter and a least
/// distance (Richter, *Compositional Scheduling Analysis Using Standard Event Models*, 2005, §3.2).
///
/// Event number n is due at n · period. It releases a frame at most `jitter` later, and at least
/// `distance` after the frame before it. A message without a fixed period (a sporadic one) has its
/// least distance as its period, and no jitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    period: Nanos,
    jitter: Nanos,
    distance: Nanos,
}

/// Releases that cannot be.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalError {
    /// A message comes again after no time at all.
    #[error("a period of 0: it must be at least 1 ns")]
    NoPeriod,
    /// Releases would keep more distance than their period leaves them.
    #[error("a least distance above the period: releases would fall behind for ever")]
    Distance,
}

impl Arrival {
    /// Times in ns.
    ///
    /// # Errors
    /// [`ArrivalError`]
    pub const fn new(period: Nanos, jitter: Nanos, distance: Nanos) -> Result<Self, ArrivalError> {
        if period == 0 {
            return Err(ArrivalError::NoPeriod);
        }
        if distance > period {
            return Err(ArrivalError::Distance);
        }
        Ok(Self {
            period,
            jitter,
            distance,
        })
    }

    /// The period, ns.
    #[must_use]
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// The most that a frame is released later than its event, ns.
    #[must_use]
    pub const fn jitter(&self) -> Nanos {
        self.jitter
    }

    /// The least time between two releases, ns; 0 where the jitter alone decides.
    #[must_use]
    pub const fn distance(&self) -> Nanos {
        self.distance
    }

    /// The same releases after each was delayed by 0 to `delay` ns more, and kept `distance` ns apart
    /// by it at least.
    #[must_use]
    pub const fn delayed(self, delay: Nanos, distance: Nanos) -> Self {
        if delay == 0 {
            return self;
        }
        let shorter = if distance < self.period {
            distance
        } else {
            self.period
        };
        Self {
            period: self.period,
            jitter: self.jitter.saturating_add(delay),
            distance: shorter,
        }
    }

    /// The most releases in any interval from t to t + `span` ns, both ends included.
    ///
    /// Events due from t − jitter to t + span can fall into it: ⌊(span + jitter) / period⌋ + 1; and
    /// releases that keep their distance: ⌊span / distance⌋ + 1.
    #[must_use]
    pub const fn most_within(&self, span: Nanos) -> u64 {
        let by_period = span.saturating_add(self.jitter) / self.period + 1;
        if self.distance == 0 {
            return by_period;
        }
        let by_distance = span / self.distance + 1;
        if by_distance < by_period {
            by_distance
        } else {
            by_period
        }
    }

    /// The same without the interval's last instant: from t to before t + `span` ns.
    #[must_use]
    pub const fn most_before(&self, span: Nanos) -> u64 {
        match span {
            0 => 0,
            _ => self.most_within(span - 1),
        }
    }

    /// The earliest that release number `n` (from 0) can follow release 0, ns. The first event was
    /// released as late as its jitter allows, the others as early as they can.
    #[must_use]
    pub const fn earliest(&self, n: u64) -> Nanos {
        let by_period = n.saturating_mul(self.period).saturating_sub(self.jitter);
        let by_distance = n.saturating_mul(self.distance);
        if by_period > by_distance {
            by_period
        } else {
            by_distance
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(Arrival::new(0, 0, 0), Err(ArrivalError::NoPeriod));
        assert_eq!(Arrival::new(9, 0, 10), Err(ArrivalError::Distance));
    }

    proptest! {
        /// The two ways to say the same agree: a release can follow within a span if the earliest one
        /// that does is not later.
        #[test]
        fn counts_and_times_agree(
            period in 1..50_u64,
            jitter in 0..200_u64,
            part in 0..=100_u64,
            span in 0..500_u64,
        ) {
            let arrival = Arrival::new(period, jitter, period * part / 100).unwrap();
            let count = (0..1000).filter(|&n| arrival.earliest(n) <= span).count() as u64;
            // Without a distance and with a long jitter, all that has gathered comes at once.
            prop_assert_eq!(arrival.most_within(span), count);
            let before = (0..1000).filter(|&n| arrival.earliest(n) < span).count() as u64;
            prop_assert_eq!(arrival.most_before(span), before);
        }
    }
}
