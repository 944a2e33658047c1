//! A latency profile in few points.

use probe::LatencyProfile;
use serde::Serialize;

/// Points of a latency profile. Each is exact: the stated number of frames has this latency or
/// more.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub(crate) struct ProfileCurve {
    /// Latencies, ns: the first, then the distance from each one to its predecessor.
    pub(crate) t: Vec<i64>,
    /// Counts.
    pub(crate) m: Vec<u64>,
    /// Number of points before thinning.
    pub(crate) of: usize,
}

impl ProfileCurve {
    /// Omits points if the step curve through the others is wrong by at most one frame of 200 and
    /// by at most 3 % of the frames that are that slow. So the slow end, where few frames are, is
    /// complete, and so is every isolated point.
    pub(crate) fn from_profile(profile: &LatencyProfile) -> Self {
        let points = profile.points();
        let mut curve = Self {
            of: points.len(),
            ..Self::default()
        };
        let mut last: Option<(i64, u64)> = None;
        for (index, &(t, m)) in points.iter().enumerate() {
            let next = points.get(index + 1).map_or(0, |p| p.1);
            let keep = last.is_none_or(|(_, kept)| {
                let allowed = (profile.count() / 200).min(kept.saturating_mul(3) / 100);
                next == 0 || kept - next > allowed
            });
            if keep {
                // The first value is absolute. A distance that does not fit is replaced by its
                // limit.
                curve
                    .t
                    .push(last.map_or(t, |(before, _)| t.saturating_sub(before)));
                curve.m.push(m);
                last = Some((t, m));
            }
        }
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the value of the step curve as it is drawn.
    fn drawn(curve: &ProfileCurve, t: i64) -> u64 {
        let mut at = 0;
        for (step, m) in curve.t.iter().zip(&curve.m) {
            at += step;
            if at >= t {
                return *m;
            }
        }
        0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nowhere_far_off_and_exact_at_its_ends(
            values in prop::collection::vec(prop_oneof![9 => -100i64..3_000, 1 => 0i64..1_000_000], 1..4_000),
            probes in prop::collection::vec(-200i64..4_000, 20),
        ) {
            let profile: LatencyProfile = values.iter().copied().collect();
            let curve = ProfileCurve::from_profile(&profile);
            let least = profile.values()[0];
            let greatest = profile.values()[values.len() - 1];
            prop_assert_eq!(curve.t[0], least);
            prop_assert_eq!(curve.t.iter().sum::<i64>(), greatest);
            prop_assert_eq!(curve.m[0], values.len() as u64);
            prop_assert_eq!(*curve.m.last().unwrap(), profile.at_least(greatest));
            for t in probes.into_iter().chain(values.iter().copied()) {
                let (shown, truth) = (drawn(&curve, t), profile.at_least(t));
                prop_assert!(shown <= truth);
                prop_assert!((truth - shown) * 200 <= profile.count(), "{t}: {shown} for {truth}");
                prop_assert!((truth - shown) * 100 <= 3 * truth, "{t}: {shown} for {truth}");
            }
        }

        #[test]
        fn few_points_for_many_frames(spread in 1_000i64..10_000_000) {
            let profile: LatencyProfile = (0..20_000).map(|n: i64| n * n % spread).collect();
            let kept = ProfileCurve::from_profile(&profile).t.len();
            prop_assert!(kept <= 700, "{kept}");
        }

        #[test]
        fn anything_has_a_curve(values in prop::collection::vec(any::<i64>(), 0..50)) {
            let profile: LatencyProfile = values.into_iter().collect();
            let curve = ProfileCurve::from_profile(&profile);
            prop_assert_eq!(curve.t.len(), curve.m.len());
            prop_assert!(curve.of == 0 || curve.m[0] == profile.count());
        }
    }
}
