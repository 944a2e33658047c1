//! Releases estimated from recorded time stamps.

use crate::{Arrival, ArrivalError, MAX_DISTANCES};
use alloc::vec::Vec;
use frame::Nanos;

/// Minimum number of frames; fewer do not determine a period.
pub const FEWEST: usize = 3;

/// An estimate of a message's releases from its stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseEstimate {
    /// The period, ns.
    pub period: Nanos,
    /// The width of the variation of the stamps around it, ns. It includes everything that delayed
    /// a frame before it was stamped.
    pub jitter: Nanos,
    /// The least time between two stamps, at most the period, ns.
    pub distance: Nanos,
    /// Number of stamps.
    pub frames: u64,
    /// Number of periods without a frame.
    pub missing: u64,
    /// The stamp that is farthest behind its event, ns.
    pub latest: Nanos,
}

impl ReleaseEstimate {
    /// Returns the estimate as an arrival.
    ///
    /// # Errors
    /// Never in practice: the period is not 0, and the distance at most the period.
    pub const fn arrival(&self) -> Result<Arrival, ArrivalError> {
        Arrival::new(self.period, self.jitter, self.distance)
    }
}

/// Estimates releases from stamps that do not go back; `None` for fewer than [`FEWEST`], or if all
/// are equal.
///
/// Each stamp belongs to an event of its own: the one next in time or, after a pause, the one as
/// many periods later as fit. The jitter is the width of the deviations of the stamps from their
/// events. So the arrival covers all recorded frames, whatever the period is: it could have
/// released these frames at these times. The candidates for the period are the median of the
/// distances, their mean, and both rounded to one, two and three digits; the one with the least
/// jitter is chosen.
#[must_use]
pub fn estimate(stamps: &[Nanos]) -> Option<ReleaseEstimate> {
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
    // Rounded ones first: of equal jitter, the first counts.
    let rounded = [10, 100, 1000].map(|below| [digits(median, below), digits(mean, below)]);
    let candidates = rounded.into_iter().chain([[median, mean]]).flatten();
    let fits = candidates.filter(|&period| period > 0);
    let best = fits
        .map(|period| fit(stamps, period))
        .min_by_key(|e| e.jitter)?;
    Some(ReleaseEstimate {
        distance: distance.min(best.period),
        ..best
    })
}

/// The densest sequences of stamps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DensestStamps {
    /// The least time that 2, 3, 4 … of them span, ns: a list for [`Arrival::curve`].
    pub distances: Vec<Nanos>,
    /// For each of these, the stamp of the first of the frames that span it, ns.
    pub from: Vec<Nanos>,
}

impl DensestStamps {
    /// Returns the distances as an arrival.
    ///
    /// # Errors
    /// Never in practice: least distances are super-additive, and the last one is not 0.
    pub const fn arrival(&self) -> Result<Arrival, ArrivalError> {
        Arrival::curve(self.distances.as_slice())
    }
}

/// Returns the arrival curve of stamps that do not go back; `None` if there are fewer than
/// [`FEWEST`], or too many at one time.
///
/// Each distance is the least over all windows with that number of stamps, so it is reached, and
/// the recorded frames keep the curve: also where more frames than the list covers follow one
/// another ([`mod@crate::curve`]). There are up to [`MAX_DISTANCES`] of them, and at most half as
/// many as stamps: a minimum over few windows depends more on the log than on the message.
/// Distances at the end that follow from those before are left out.
#[must_use]
pub fn densest(stamps: &[Nanos]) -> Option<DensestStamps> {
    if stamps.len() < FEWEST {
        return None;
    }
    let least = |gaps: usize| {
        let pairs = stamps.iter().zip(stamps.iter().skip(gaps));
        let spans = pairs.map(|(from, to)| (to.saturating_sub(*from), *from));
        spans.min_by_key(|(span, _)| *span)
    };
    let most = MAX_DISTANCES.min(stamps.len() / 2);
    let all: Vec<(Nanos, Nanos)> = (1..=most).filter_map(least).collect();
    let mut found = DensestStamps {
        distances: all.iter().map(|(span, _)| *span).collect(),
        from: all.iter().map(|(_, from)| *from).collect(),
    };
    found.arrival().ok()?;
    while let [before @ .., last] = &found.distances[..]
        && let Ok(arrival) = Arrival::curve(before)
        && arrival.due(found.distances.len() as u64) == *last
    {
        found.distances.pop();
        found.from.pop();
    }
    Some(found)
}

fn fit(stamps: &[Nanos], period: Nanos) -> ReleaseEstimate {
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
    ReleaseEstimate {
        period,
        jitter: Nanos::try_from(high - low).unwrap_or(Nanos::MAX),
        distance: 0,
        frames: stamps.len() as u64,
        missing,
        latest,
    }
}

/// Rounds to the number of digits that numbers below `below` have: to three digits for 1000.
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

    #[test]
    fn the_densest_frames_make_a_curve() {
        // Pairs 1 apart, each 10 after the other: everything beyond two distances follows from
        // them.
        let stamps: Vec<Nanos> = (0..20).flat_map(|n| [10 * n, 10 * n + 1]).collect();
        let found = densest(&stamps).unwrap();
        assert_eq!(found.distances, [1, 10]);
        assert_eq!(found.from, [0, 0]);
        let late = densest(&[0, 50, 100, 130, 180, 230]).unwrap();
        assert_eq!((late.distances[0], late.from[0]), (30, 100));
        assert_eq!(densest(&[7; 30]), None);
        assert_eq!(densest(&[1, 2]), None);
    }

    proptest! {
        /// Each window of the stamps has at most as many frames as the curve allows; each distance
        /// of the list is reached.
        #[test]
        fn the_curve_covers_what_was_seen_and_is_reached(
            gaps in prop::collection::vec(prop_oneof![0..9_u64, 100..50_000_u64], 2..80),
        ) {
            let mut stamps = vec![1_000];
            for gap in gaps {
                stamps.push(stamps[stamps.len() - 1] + gap);
            }
            let Some(found) = densest(&stamps) else {
                return Ok(());
            };
            let arrival = found.arrival().unwrap();
            for (i, from) in stamps.iter().enumerate() {
                for (j, to) in stamps.iter().enumerate().skip(i) {
                    prop_assert!(arrival.most_within(to - from) >= (j - i + 1) as u64);
                }
            }
            for ((span, from), n) in found.distances.iter().zip(&found.from).zip(2..) {
                let seen = stamps.windows(n).any(|w| w[0] == *from && w[n - 1] - w[0] == *span);
                prop_assert!(seen, "{n} frames");
                prop_assert!(arrival.most_within(*span) >= n as u64);
                prop_assert!(*span == 0 || arrival.most_within(span - 1) < n as u64);
            }
        }

        /// The arrival allows every recorded sequence: no interval between two stamps has more of
        /// them than the arrival permits.
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
