//! Fewer points without hiding an extreme.

/// Keeps, of every one of `columns` equal slices of x, the point with the least and the one with
/// the greatest y. The first and the last point stay too. Up to `2 × columns` points are kept all.
///
/// Points are in order of x; points that are no numbers are left out.
#[must_use]
pub fn extremes(points: &[(f64, f64)], columns: usize) -> Vec<(f64, f64)> {
    let usable: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let columns = columns.max(1);
    let (Some(first), Some(last)) = (usable.first(), usable.last()) else {
        return usable;
    };
    if usable.len() <= 2 * columns {
        return usable;
    }
    let width = ((last.0 - first.0) / columns as f64).max(f64::MIN_POSITIVE);
    let column = |x: f64| (((x - first.0) / width) as usize).min(columns - 1);
    let mut kept = vec![*first];
    for slice in usable.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_y = |a: &usize, b: &usize| slice[*a].1.total_cmp(&slice[*b].1);
        let low = (0..slice.len()).min_by(by_y);
        let high = (0..slice.len()).max_by(by_y);
        if let (Some(low), Some(high)) = (low, high) {
            kept.push(slice[low.min(high)]);
            if low != high {
                kept.push(slice[low.max(high)]);
            }
        }
    }
    kept.push(*last);
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
        }
    }
}
