//! Statistics of many round trips, in bounded memory.

use frame::Nanos;

/// The number of durations that are kept exactly; further ones are counted in bins.
const EXACT: usize = 1 << 20;

/// The width of a bin is at most 2^-FINE, 1/1024, of the values in it.
const FINE: u32 = 10;

/// The durations of round trips. Count, minimum, mean and maximum are always exact; quantiles are
/// exact for the first 1 048 576 round trips, and beyond that accurate to within a thousandth.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    count: u64,
    sum: u128,
    min: Nanos,
    max: Nanos,
    last: Nanos,
    exact: Vec<Nanos>,
    /// Counts by [`bin`]; empty as long as `exact` has space.
    bins: Vec<u64>,
}

/// Returns the bin of a duration: every duration below 2^FINE has its own bin, and above that,
/// every power of two has 2^FINE bins.
fn bin(duration: Nanos) -> usize {
    let bits = Nanos::BITS - duration.leading_zeros();
    let coarse = bits.saturating_sub(FINE + 1);
    let place = (u64::from(coarse) << FINE) + (duration >> coarse);
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// Returns the smallest duration of a bin.
fn least(bin: usize) -> Nanos {
    let bin = bin as u64;
    let coarse = (bin >> FINE).saturating_sub(1);
    (bin - (coarse << FINE)) << coarse
}

impl RoundTrips {
    /// Reserves memory for a million round trips, so that nothing is allocated during the run.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            exact: Vec::with_capacity(EXACT),
            ..Self::default()
        }
    }

    /// Adds a duration.
    pub(crate) fn add(&mut self, duration: Nanos) {
        self.min = if self.count == 0 {
            duration
        } else {
            self.min.min(duration)
        };
        self.max = self.max.max(duration);
        self.last = duration;
        self.sum += u128::from(duration);
        self.count += 1;
        if self.bins.is_empty() {
            if self.exact.len() < EXACT {
                self.exact.push(duration);
                return;
            }
            self.bins = vec![0; bin(Nanos::MAX) + 1];
            for duration in std::mem::take(&mut self.exact) {
                self.count_in_bin(duration);
            }
        }
        self.count_in_bin(duration);
    }

    fn count_in_bin(&mut self, duration: Nanos) {
        if let Some(count) = self.bins.get_mut(bin(duration)) {
            *count += 1;
        }
    }

    /// Returns the number of round trips.
    #[must_use]
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the shortest duration, ns; 0 if there are none.
    #[must_use]
    pub(crate) const fn min(&self) -> Nanos {
        self.min
    }

    /// Returns the longest duration, ns.
    #[must_use]
    pub(crate) const fn max(&self) -> Nanos {
        self.max
    }

    /// Returns the last duration, ns.
    #[must_use]
    pub(crate) const fn last(&self) -> Nanos {
        self.last
    }

    /// Returns the mean duration, ns, rounded down; 0 if there are none.
    #[must_use]
    pub(crate) fn mean(&self) -> Nanos {
        let mean = self.sum.checked_div(u128::from(self.count));
        mean.and_then(|mean| Nanos::try_from(mean).ok())
            .unwrap_or(0)
    }

    /// Returns whether the quantiles are exact.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.bins.is_empty()
    }

    /// Returns the durations of nearest rank for these shares in thousandths (values above 1000
    /// count as 1000), ns; `None` if there are none.
    #[must_use]
    pub(crate) fn quantiles<const N: usize>(&self, permille: [u64; N]) -> Option<[Nanos; N]> {
        if self.count == 0 {
            return None;
        }
        let rank = |permille: u64| {
            let all = u128::from(self.count) * u128::from(permille.min(1000));
            u64::try_from(all.div_ceil(1000)).unwrap_or(u64::MAX).max(1)
        };
        if self.is_exact() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            let at = |rank: u64| sorted.get(usize::try_from(rank).ok()? - 1).copied();
            return Some(permille.map(|share| at(rank(share)).unwrap_or(self.max)));
        }
        Some(permille.map(|share| self.in_bins(rank(share))))
    }

    fn in_bins(&self, rank: u64) -> Nanos {
        let mut seen = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return least(bin).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Returns the number of durations in each bin of `width` ns (0 counts as 1), ascending,
    /// without empty bins: the start of the bin and the count. If quantiles are not exact, the
    /// bins' edges are not exact either.
    #[must_use]
    pub(crate) fn histogram(&self, width: Nanos) -> Vec<(Nanos, u64)> {
        let width = width.max(1);
        let mut counts = std::collections::BTreeMap::new();
        for duration in &self.exact {
            *counts.entry(duration / width * width).or_insert(0) += 1;
        }
        for (bin, count) in self
            .bins
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            *counts.entry(least(bin) / width * width).or_insert(0) += count;
        }
        counts.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bin_is_narrow_and_has_its_place(duration: u64) {
            let at = bin(duration);
            let start = least(at);
            prop_assert!(start <= duration);
            prop_assert!(duration - start <= duration >> FINE);
            prop_assert_eq!(bin(start), at);
        }

        #[test]
        fn exact_figures_are_those_of_a_sorted_list(
            durations in prop::collection::vec(0u64..1_000_000, 1..200),
        ) {
            let mut trips = RoundTrips::new();
            for duration in &durations {
                trips.add(*duration);
            }
            let mut sorted = durations.clone();
            sorted.sort_unstable();
            let [p0, p50, p100] = trips.quantiles([0, 500, 1000]).unwrap();
            prop_assert_eq!((p0, p100), (trips.min(), trips.max()));
            prop_assert_eq!(p50, sorted[durations.len().div_ceil(2) - 1]);
            prop_assert_eq!(trips.mean(), durations.iter().sum::<u64>() / durations.len() as u64);
            let all: u64 = trips.histogram(1000).iter().map(|(_, count)| count).sum();
            prop_assert_eq!(all, trips.count());
        }
    }

    #[test]
    fn beyond_a_million_quantiles_are_right_within_a_thousandth() {
        let mut trips = RoundTrips::new();
        let all = EXACT as u64 + 500_000;
        for n in 0..all {
            // In a shuffled order.
            trips.add(200_000 + n.wrapping_mul(7_919) % all);
        }
        assert!(!trips.is_exact());
        let [p50, p99] = trips.quantiles([500, 990]).unwrap();
        for (is, want) in [(p50, all / 2), (p99, all * 99 / 100)] {
            let want = want + 200_000;
            assert!(is.abs_diff(want) <= want / 1000, "{is} {want}");
        }
        assert_eq!((trips.min(), trips.max()), (200_000, 200_000 + all - 1));
        assert_eq!(trips.count(), all);
    }

    #[test]
    fn nothing_has_no_quantiles() {
        let trips = RoundTrips::new();
        assert_eq!(trips.quantiles([500]), None);
        assert_eq!((trips.min(), trips.mean(), trips.max()), (0, 0, 0));
    }
}
