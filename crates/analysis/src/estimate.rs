//! Releases estimated from what was seen.

use crate::{Arrival, ArrivalError};
use alloc::vec::Vec;
use frame::Nanos;

/// Fewer frames say nothing about a period.
pub const FEWEST: usize = 3;

/// What the stamps of a message say about its releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The period, ns.
    pub period: Nanos,
    /// By how much the stamps vary around it, ns. All that delayed a frame before it was stamped is in
    /// it.
    pub jitter: Nanos,
    /// The least time between two stamps, at most the period, ns.
    pub distance: Nanos,
    /// Stamps.
    pub frames: u64,
    /// Periods without a frame.
    pub missing: u64,
    /// The stamp that is farthest behind its period, ns.
    pub latest: Nanos,
}

impl Estimate {
    /// As an arrival.
    ///
    /// # Errors
    /// None in fact: the period is not 0, and the distance at most the period.
    pub const fn arrival(&self) -> Result<Arrival, ArrivalError> {
        Arrival::new(self.period, self.jitter, self.distance)
    }
}

/// Estimates from stamps that do not go back; `None` of fewer than [`FEWEST`], or if all are equal.
///
/// Each stamp belongs to an event of its own: the one next in time or, after a pause, as many periods later as
/// fit. The jitter is the width of what the stamps deviate from their events. So the arrival covers all that was
/// seen, whatever the period is: it could have released these frames at these times. Of the median of the
/// distances, their mean, and both with one, two and three digits, the period is the one with the least jitter.
#[must_use]
pub fn estimate(stamps: &[Nanos]) -> Option<Estimate> {
    if stamps.len() < FEWEST {
        return None;
    }
    let pairs = stamps.windows(2);
    let mut gaps: Vec<Nanos> = pairs.map(|p| p[1].saturating_sub(p[0])).collect();
    let distance = gaps.iter().copied().min()?;
    let span = stamps.last()?.saturating_sub(*stamps.first()?);
    let mean = span / gaps.len() as u64;
    let middle = gaps.len() / 2;
    let median = *gaps.select_nth_unstable(middle).1;
    // Round ones first: of equal jitter, the first counts.
    let rounded = [10, 100, 1000].map(|below| [digits(median, below), digits(mean, below)]);
    let candidates = rounded.into_iter().chain([[median, mean]]).flatten();
    let fits = candidates.filter(|&period| period > 0);
    let best = fits
        .map(|period| fit(stamps, period))
        .min_by_key(|e| e.jitter)?;
    Some(Estimate {
        distance: distance.min(best.period),
        ..best
    })
}

fn fit(stamps: &[Nanos], period: Nanos) -> Estimate {
    let first = stamps.first().copied().unwrap_or(0);
    let (mut event, mut missing) = (0_u64, 0);
    let (mut low, mut high, mut latest) = (0_i128, 0_i128, first);
    let mut last = first;
    for &stamp in stamps.iter().skip(1) {
        let gap = stamp.saturating_sub(last);
        let periods = (gap.saturating_add(period / 2) / period).max(1);
        missing += periods - 1;
        event += periods;
        last = stamp;
        let due = i128::from(event) * i128::from(period);
        let late = i128::from(stamp) - i128::from(first) - due;
        low = low.min(late);
        if late > high {
            (high, latest) = (late, stamp);
        }
    }
    Estimate {
        period,
        jitter: Nanos::try_from(high - low).unwrap_or(Nanos::MAX),
        distance: 0,
        frames: stamps.len() as u64,
        missing,
        latest,
    }
}

/// Rounded to so many units as there are numbers below `below`: to three digits for 1000.
fn digits(ns: Nanos, below: Nanos) -> Nanos {
    let mut unit = 1;
    while ns / unit >= below {
        unit *= 10;
    }
    (ns + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn a_period_is_found_in_spite_of_jitter_and_pauses() {
        let late = [0, 300, 100, 0, 250, 40, 120, 300, 0, 10];
        let times = |n: &usize| *n != 4;
        let stamps: Vec<Nanos> = (0..10)
            .filter(times)
            .map(|n| 5_000_000 + n as u64 * 10_000_000 + late[n] * 1_000)
            .collect();
        let found = estimate(&stamps).unwrap();
        assert_eq!((found.period, found.jitter), (10_000_000, 300_000));
        assert_eq!((found.missing, found.frames), (1, 9));
        assert_eq!(found.latest, 15_300_000);
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[1, 2]), None);
        assert_eq!(estimate(&[7, 7, 7]), None);
        assert_eq!(digits(10_004_321, 1000), 10_000_000);
        assert_eq!(digits(999, 1000), 999);
        assert_eq!(digits(9_996, 1000), 10_000);
    }

    proptest! {
        /// Whatever was seen, the arrival allows it: no interval between two stamps has more of them than it says.
        #[test]
        fn the_arrival_covers_what_was_seen(gaps in prop::collection::vec(0..50_000_u64, 2..80)) {
            let mut stamps = vec![1_000];
            for gap in gaps {
                stamps.push(stamps[stamps.len() - 1] + gap);
            }
            let Some(found) = estimate(&stamps) else {
                return Ok(());
            };
            let arrival = found.arrival().unwrap();
            for (i, from) in stamps.iter().enumerate() {
                for (j, to) in stamps.iter().enumerate().skip(i) {
                    prop_assert!(arrival.most_within(to - from) >= (j - i + 1) as u64);
                }
            }
        }
    }
}
