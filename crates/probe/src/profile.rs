//! Statistics of many latencies.

/// Key values of a distribution, ns. Quantiles are by nearest rank: the smallest value that at
/// least this share of all values does not exceed; always a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencySummary {
    /// Number of values.
    pub count: u64,
    /// The smallest value.
    pub min: i64,
    /// The median.
    pub p50: i64,
    /// The value that 99 % of the values do not exceed.
    pub p99: i64,
    /// The greatest value.
    pub max: i64,
}

/// The papers' latency profile (gateway-2011 §2.3): for a latency `t`, the number of frames with a
/// latency of `t` or more. Plotted with a logarithmic axis of counts, it emphasises the worst case.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LatencyProfile {
    sorted: Vec<i64>,
}

impl FromIterator<i64> for LatencyProfile {
    fn from_iter<T: IntoIterator<Item = i64>>(values: T) -> Self {
        let mut sorted: Vec<i64> = values.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }
}

impl LatencyProfile {
    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// Returns the values, ascending.
    #[must_use]
    pub fn values(&self) -> &[i64] {
        &self.sorted
    }

    /// Returns the number of values that are `t` or more.
    #[must_use]
    pub fn at_least(&self, t: i64) -> u64 {
        self.count() - self.sorted.partition_point(|&v| v < t) as u64
    }

    /// Returns the profile at every distinct value, ascending: `(t, values that are t or more)`.
    /// The first count is that of all values, the last that of the worst one. Between two points
    /// `(t1, m1)`, `(t2, m2)` there are `m1 − m2` values in `t1 ≤ t < t2`.
    #[must_use]
    pub fn points(&self) -> Vec<(i64, u64)> {
        self.steps(|v| v)
    }

    /// Returns the same over bins of `width` ns (0 counts as 1), with a point at the start of each
    /// bin that has values. The papers' bins are 1 µs.
    #[must_use]
    pub fn binned(&self, width: u64) -> Vec<(i64, u64)> {
        let width = i64::try_from(width.max(1)).unwrap_or(i64::MAX);
        self.steps(|v| {
            let start = v.div_euclid(width).checked_mul(width);
            start.unwrap_or(i64::MIN)
        })
    }

    fn steps(&self, place: impl Fn(i64) -> i64) -> Vec<(i64, u64)> {
        let mut points: Vec<(i64, u64)> = Vec::new();
        for (index, &value) in self.sorted.iter().enumerate() {
            let at = place(value);
            if points.last().is_none_or(|&(last, _)| last != at) {
                points.push((at, self.count() - index as u64));
            }
        }
        points
    }

    /// Returns the number of values in each bin of `width` ns (0 counts as 1), ascending; empty
    /// bins are left out.
    #[must_use]
    pub fn histogram(&self, width: u64) -> Vec<(i64, u64)> {
        let points = self.binned(width);
        let next = points.iter().skip(1).map(|p| p.1).chain([0]);
        points
            .iter()
            .zip(next)
            .map(|(p, n)| (p.0, p.1 - n))
            .collect()
    }

    /// Returns the value of nearest rank for `permille` / 1000 (above 1000 counts as 1000); `None`
    /// without values.
    #[must_use]
    pub fn quantile(&self, permille: u64) -> Option<i64> {
        let n = u128::from(self.count());
        let rank = (n * u128::from(permille.min(1000))).div_ceil(1000).max(1);
        self.sorted.get(rank as usize - 1).copied()
    }

    /// Returns count, minimum, median, 99th percentile and maximum; `None` without values.
    #[must_use]
    pub fn summary(&self) -> Option<LatencySummary> {
        Some(LatencySummary {
            count: self.count(),
            min: *self.sorted.first()?,
            p50: self.quantile(500)?,
            p99: self.quantile(990)?,
            max: *self.sorted.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_rank() {
        let profile: LatencyProfile = (1..=200).rev().collect();
        let s = profile.summary().unwrap();
        assert_eq!((s.min, s.p50, s.p99, s.max), (1, 100, 198, 200));
        let one: LatencyProfile = [7].into_iter().collect();
        let s = one.summary().unwrap();
        assert_eq!((s.min, s.p50, s.p99, s.max), (7, 7, 7, 7));
        assert_eq!(LatencyProfile::default().summary(), None);
    }

    #[test]
    fn bins_of_negative_values_lie_below_zero() {
        let profile: LatencyProfile = [-1, 0, 1_500].into_iter().collect();
        assert_eq!(profile.binned(1_000), [(-1_000, 3), (0, 2), (1_000, 1)]);
        assert_eq!(profile.histogram(1_000), [(-1_000, 1), (0, 1), (1_000, 1)]);
    }

    proptest! {
        #[test]
        fn as_counting_states(values in prop::collection::vec(-50i64..50, 0..200), t in -60i64..60, permille in 0u64..1001) {
            let profile: LatencyProfile = values.iter().copied().collect();
            let slow = |t: i64| values.iter().filter(|&&v| v >= t).count() as u64;
            prop_assert_eq!(profile.at_least(t), slow(t));
            for (t, m) in profile.points() {
                prop_assert_eq!(m, slow(t));
                prop_assert!(values.contains(&t));
            }
            for (t, m) in profile.binned(7) {
                prop_assert_eq!(m, slow(t));
                prop_assert_eq!(t.rem_euclid(7), 0);
            }
            let total: u64 = profile.histogram(7).iter().map(|h| h.1).sum();
            prop_assert_eq!(total, values.len() as u64);
            if let Some(q) = profile.quantile(permille) {
                let n = values.len() as u64;
                let not_above = values.iter().filter(|&&v| v <= q).count() as u64;
                let below = values.iter().filter(|&&v| v < q).count() as u64;
                prop_assert!(not_above * 1000 >= n * permille);
                prop_assert!(below * 1000 < n * permille.max(1) || below == 0);
            } else {
                prop_assert!(values.is_empty());
            }
        }

        #[test]
        fn no_value_overflows(values in prop::collection::vec(any::<i64>(), 1..20), width: u64) {
            let profile: LatencyProfile = values.iter().copied().collect();
            prop_assert_eq!(profile.binned(width)[0].1, values.len() as u64);
        }
    }
}
