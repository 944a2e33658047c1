//! Values over time, in few dots that preserve every extreme.

use serde::Serialize;

/// Dots over time, thinned: no dot that was left out is above or below those that are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub(crate) struct DotCloud {
    /// End of the incoming frame: the first in ns since the origin, each other one as the distance
    /// from its predecessor.
    pub(crate) x: Vec<u64>,
    /// The value, ns.
    pub(crate) y: Vec<i64>,
    /// Register accesses, if they were counted for all frames.
    pub(crate) a: Option<Vec<u32>>,
    /// Number of dots before thinning.
    pub(crate) of: usize,
}

impl DotCloud {
    /// Selects about `most` of the given dots (time, value, register accesses). Times are counted
    /// from `origin`, which is not later than any of them. If accesses were counted for all dots,
    /// it selects about as many for each of `costs` (ns that an access adds to the value), so that
    /// no cost hides an extreme.
    pub(crate) fn new(
        mut dots: Vec<(u64, i64, Option<u32>)>,
        origin: u64,
        costs: &[u32],
        most: usize,
    ) -> Self {
        if dots.is_empty() {
            return Self::default();
        }
        dots.sort_unstable();
        let counted = dots.iter().all(|d| d.2.is_some());
        let costs = costs.iter().take(if counted { costs.len() } else { 1 });
        let mut kept = Vec::new();
        for &cost in costs {
            let points: Vec<(f64, f64)> = dots
                .iter()
                .map(|d| {
                    let more = f64::from(cost) * f64::from(d.2.unwrap_or(0));
                    (d.0.saturating_sub(origin) as f64, d.1 as f64 + more)
                })
                .collect();
            kept.extend(places(&points, most));
        }
        kept.sort_unstable();
        kept.dedup();
        let kept = || kept.iter().filter_map(|&place| dots.get(place));
        let before = [origin].into_iter().chain(kept().map(|d| d.0));
        Self {
            x: kept()
                .zip(before)
                .map(|(d, before)| d.0.saturating_sub(before))
                .collect(),
            y: kept().map(|d| d.1).collect(),
            a: counted.then(|| kept().map(|d| d.2.unwrap_or(0)).collect()),
            of: dots.len(),
        }
    }
}

/// Returns the indices of at most about `most` points, ascending. If there are no more points than
/// that, it returns all of them. Otherwise half of the indices are extremes of slices of x, and
/// half are points at equal distances in the list, so that the cloud between the extremes is
/// visible too. Points are in order of x.
fn places(points: &[(f64, f64)], most: usize) -> Vec<usize> {
    let half = (most / 2).max(2);
    if points.len() <= 2 * half {
        return (0..points.len()).collect();
    }
    let mut kept = extreme_places(points, half / 2);
    kept.extend((0..points.len()).step_by(points.len().div_ceil(half)));
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Returns the indices of the first, the last, and every slice's least and greatest point,
/// ascending.
fn extreme_places(points: &[(f64, f64)], columns: usize) -> Vec<usize> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let width = ((last.0 - first.0) / columns as f64).max(f64::MIN_POSITIVE);
    let column = |x: f64| (((x - first.0) / width) as usize).min(columns - 1);
    let mut kept = vec![0, points.len() - 1];
    let mut start = 0;
    for slice in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_y = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let places = start..start + slice.len();
        kept.extend(places.clone().min_by(by_y));
        kept.extend(places.max_by(by_y));
        start += slice.len();
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
        let kept = places(points, most);
        kept.into_iter().map(|place| points[place]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_slice_keeps_its_extremes(
            steps in prop::collection::vec((0u32..5, -1000i32..1000), 1..2_000), columns in 1usize..50,
        ) {
            let mut x = 0.0;
            let points: Vec<(f64, f64)> = steps.iter().map(|&(step, y)| { x += f64::from(step); (x, f64::from(y)) }).collect();
            let kept: Vec<(f64, f64)> =
                extreme_places(&points, columns).into_iter().map(|place| points[place]).collect();
            prop_assert!(kept.len() <= 2 * columns + 2);
            prop_assert!(kept.windows(2).all(|w| w[0].0 <= w[1].0));
            let fold = |p: &[(f64, f64)]| p.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.1), h.max(p.1)));
            prop_assert_eq!(fold(&kept), fold(&points));
            prop_assert_eq!(kept.first(), points.first());
            prop_assert_eq!(kept.last(), points.last());
            let thin = thin(&points, 4 * columns);
            prop_assert!(thin.len() <= 4 * columns.max(1) + 4, "{}", thin.len());
            prop_assert!(thin.windows(2).all(|w| w[0].0 <= w[1].0));
            prop_assert_eq!(fold(&thin), fold(&points));
        }

        #[test]
        fn a_cloud_keeps_its_middle(seed in 0u32..1000) {
            // Nine of ten values are near 100, one of ten is 0 or 1000.
            let value = |n: u32| match n.wrapping_mul(2_654_435_761).wrapping_add(seed) % 20 {
                0 => 0.0,
                1 => 1000.0,
                _ => 100.0,
            };
            let points: Vec<(f64, f64)> = (0..10_000).map(|n| (f64::from(n), value(n))).collect();
            let middle = thin(&points, 1_000).iter().filter(|p| p.1 == 100.0).count();
            prop_assert!(middle > 300, "{middle}");
        }
    }
}
