//! Fewer points without hiding an extreme.

/// Keeps, of every one of `columns` equal slices of x, the point with the least and the one with
/// the greatest y. The first and the last point stay too. Up to `2 × columns` points are kept all.
///
/// Points are in order of x; points that are no numbers are left out.
#[must_use]
pub fn extremes(points: &[(f64, f64)], columns: usize) -> Vec<(f64, f64)> {
    let usable = usable(points);
    if usable.len() <= 2 * columns.max(1) {
        return usable;
    }
    let kept = extreme_places(&usable, columns.max(1));
    kept.into_iter().map(|place| usable[place]).collect()
}

/// At most about `most` points of a cloud: all where they are that few; else half of them the
/// extremes of slices of x, so that none is hidden, and half every so manieth point, so that the
/// cloud between the extremes is seen too.
#[must_use]
pub fn cloud(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let usable = usable(points);
    let kept = cloud_places(&usable, most);
    kept.into_iter().map(|place| usable[place]).collect()
}

/// Where the points that [`cloud`] keeps stand, ascending; all points are numbers.
pub(crate) fn cloud_places(points: &[(f64, f64)], most: usize) -> Vec<usize> {
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

fn usable(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    points.iter().filter(finite).copied().collect()
}

/// Places of the first, the last, and every slice's least and greatest point, ascending.
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_slice_keeps_its_extremes(
            steps in prop::collection::vec((0u32..5, -1000i32..1000), 1..2_000), columns in 1usize..50,
        ) {
            let mut x = 0.0;
            let points: Vec<(f64, f64)> = steps.iter().map(|&(step, y)| { x += f64::from(step); (x, f64::from(y)) }).collect();
            let kept = extremes(&points, columns);
            prop_assert!(kept.len() <= 2 * columns + 2);
            prop_assert!(kept.iter().all(|p| points.contains(p)));
            prop_assert!(kept.windows(2).all(|w| w[0].0 <= w[1].0));
            let fold = |p: &[(f64, f64)]| p.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.1), h.max(p.1)));
            prop_assert_eq!(fold(&kept), fold(&points));
            prop_assert_eq!(kept.first(), points.first());
            prop_assert_eq!(kept.last(), points.last());
            let thin = cloud(&points, 4 * columns);
            prop_assert!(thin.len() <= 4 * columns.max(1) + 4, "{}", thin.len());
            prop_assert!(thin.iter().all(|p| points.contains(p)));
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
            let middle = cloud(&points, 1_000).iter().filter(|p| p.1 == 100.0).count();
            prop_assert!(middle > 300, "{middle}");
        }
    }
}
