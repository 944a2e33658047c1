//! Conversion of the gateway's clock to a source's own time, and back.

use frame::Nanos;

/// The relation of a source's time (a bus's, a log's) to the gateway's clock.
///
/// The speed is kept in millionths, so that the arithmetic is exact and the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourcePace {
    clock: Nanos,
    source: Nanos,
    millionths: u64,
}

const ONE: u64 = 1_000_000;

impl SourcePace {
    /// The range of speeds, from the slowest to the fastest.
    pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.000_001..=1_000_000.0;

    /// Returns a pace at which the source is at `source` when the clock is at `clock`, and both run
    /// equally fast.
    #[must_use]
    pub const fn real_time(clock: Nanos, source: Nanos) -> Self {
        Self {
            clock,
            source,
            millionths: ONE,
        }
    }

    /// Returns the same with the source `speed` times as fast as the clock; `None` if `speed` is
    /// not within [`SourcePace::SPEEDS`]. The speed is rounded to millionths.
    #[must_use]
    pub fn scaled(clock: Nanos, source: Nanos, speed: f64) -> Option<Self> {
        Self::SPEEDS.contains(&speed).then(|| Self {
            clock,
            source,
            millionths: (speed * ONE as f64).round() as u64,
        })
    }

    /// Returns the time of the source when the clock is at `clock`; the source's start for earlier
    /// times of the clock.
    #[must_use]
    pub fn to_source(&self, clock: Nanos) -> Nanos {
        let passed = u128::from(clock.saturating_sub(self.clock));
        let moved = passed * u128::from(self.millionths) / u128::from(ONE);
        self.source
            .saturating_add(Nanos::try_from(moved).unwrap_or(Nanos::MAX))
    }

    /// Returns the first time of the clock at which the source has reached `source`.
    #[must_use]
    pub fn to_clock(&self, source: Nanos) -> Nanos {
        let ahead = u128::from(source.saturating_sub(self.source));
        let passed = (ahead * u128::from(ONE)).div_ceil(u128::from(self.millionths.max(1)));
        self.clock
            .saturating_add(Nanos::try_from(passed).unwrap_or(Nanos::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn twice_as_fast() {
        let pace = SourcePace::scaled(1_000, 50, 2.0).unwrap();
        assert_eq!(pace.to_source(1_000), 50);
        assert_eq!(pace.to_source(1_500), 1_050);
        assert_eq!(pace.to_clock(1_050), 1_500);
        assert_eq!(pace.to_clock(1_051), 1_501);
        assert_eq!(pace.to_source(0), 50);
    }

    #[test]
    fn speeds_that_make_no_sense() {
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e9] {
            assert_eq!(SourcePace::scaled(0, 0, speed), None, "{speed}");
        }
    }

    proptest! {
        /// Checks that waiting until `to_clock` is long enough, and one nanosecond less is not.
        #[test]
        fn a_deadline_is_the_first_moment(
            clock in 0u64..1 << 40, start in 0u64..1 << 40, ahead in 1u64..1 << 50,
            speed in 0.001f64..1000.0,
        ) {
            let pace = SourcePace::scaled(clock, start, speed).unwrap();
            let due = pace.to_clock(start + ahead);
            prop_assert!(pace.to_source(due) >= start + ahead);
            prop_assert!(pace.to_source(due - 1) < start + ahead);
        }
    }
}
