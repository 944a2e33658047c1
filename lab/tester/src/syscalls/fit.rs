//! The straight line through the times of bursts.

use frame::Nanos;
use serde::Serialize;

/// `time = fixed + per_frame × frames`: the cost of a call, and the cost of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinearFit {
    /// Time for each further frame, ns.
    pub per_frame_ns: f64,
    /// Time of a burst in addition to that, ns: beginning a call for many frames, and reading the
    /// clock. It can be slightly below 0, where a burst of one frame is cheap.
    pub fixed_ns: f64,
    /// The greatest relative distance of a time from the line, as a part of that time.
    pub residual: f64,
}

impl LinearFit {
    /// Fits the line with the least squares of *relative* distances: times span five decades, and
    /// with absolute distances only the longest would count. Returns `None` for fewer than two
    /// numbers of frames.
    #[must_use]
    pub fn through(points: &[(u32, Nanos)]) -> Option<Self> {
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let numbers = || {
            let all = points.iter();
            all.map(|&(n, ns)| (f64::from(n), ns.max(1) as f64))
        };
        for (x, y) in numbers() {
            let weight = 1.0 / (y * y);
            w += weight;
            wx += weight * x;
            wy += weight * y;
            wxx += weight * x * x;
            wxy += weight * x * y;
        }
        let across = w * wxx - wx * wx;
        // Rounding leaves a small remainder where all numbers are the same.
        if points.len() < 2 || across <= 1e-12 * w * wxx {
            return None;
        }
        let per_frame_ns = (w * wxy - wx * wy) / across;
        let fixed_ns = (wy - per_frame_ns * wx) / w;
        let off = numbers().map(|(x, y)| ((y - fixed_ns - per_frame_ns * x) / y).abs());
        Some(Self {
            per_frame_ns,
            fixed_ns,
            residual: off.fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_on_a_line_is_found() {
        let line: Vec<_> = [1u32, 10, 100, 50_000]
            .map(|n| (n, 250 * u64::from(n) + 900))
            .to_vec();
        let fit = LinearFit::through(&line).unwrap();
        assert!((fit.per_frame_ns - 250.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.fixed_ns - 900.0).abs() < 1e-3, "{fit:?}");
        assert!(fit.residual < 1e-9);
        assert_eq!(LinearFit::through(&line[..1]), None);
        assert_eq!(LinearFit::through(&[(5, 10), (5, 20)]), None);
        assert_eq!(LinearFit::through(&[]), None);
    }

    /// One per cent at the longest burst does not hide the cost of a call.
    #[test]
    fn short_bursts_count_as_much_as_long_ones() {
        let mut points: Vec<_> = [1u32, 2, 5, 10, 100, 1_000, 10_000]
            .map(|n| (n, 250 * u64::from(n) + 900))
            .to_vec();
        points[6].1 += 25_000;
        let fit = LinearFit::through(&points).unwrap();
        assert!((fit.fixed_ns - 900.0).abs() < 20.0, "{fit:?}");
        assert!((fit.per_frame_ns - 250.0).abs() < 2.0, "{fit:?}");
        assert!(fit.residual > 0.005 && fit.residual < 0.01, "{fit:?}");
    }

    proptest! {
        /// Checks the definition: no line near it has a smaller sum of squares.
        #[test]
        fn no_other_line_is_nearer(
            times in prop::collection::vec(1u64..1_000_000, 2..9),
            slope in -0.1f64..0.1, height in -0.1f64..0.1,
        ) {
            let points: Vec<_> = (1u32..).zip(times).collect();
            let fit = LinearFit::through(&points).unwrap();
            let sum = |a: f64, b: f64| -> f64 {
                let off = |&(n, t): &(u32, u64)| 1.0 - (a + b * f64::from(n)) / t as f64;
                points.iter().map(|p| off(p) * off(p)).sum()
            };
            let least = sum(fit.fixed_ns, fit.per_frame_ns);
            let other = sum(fit.fixed_ns * (1.0 + height), fit.per_frame_ns * (1.0 + slope));
            prop_assert!(least <= other * (1.0 + 1e-9) + 1e-12, "{} {}", least, other);
        }
    }
}
