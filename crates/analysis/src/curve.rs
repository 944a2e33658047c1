//! Arrival curves: the least time that a number of consecutive releases span.
//!
//! # The argument
//! Let D(m) be the least time from a release to the m-th after it: in compositional performance
//! analysis δ⁻(m + 1), the minimum distance of m + 1 consecutive events (Richter, *Compositional
//! Scheduling Analysis Using Standard Event Models*, 2005, §3.1; `delta_min` in pyCPA). A list
//! gives D(1) to D(k). The rest follows from these:
//!
//! **Continuation.** Of a + b consecutive distances, the first a span at least D(a) and the last b
//! at least D(b). So every message that keeps the list also keeps, for each m, the sum that any
//! partition of m into parts of 1 to k gives. Let E(m) be the greatest of all these sums:
//!
//! > E(0) = 0, E(m) = max { E(m − j) + D(j) : 1 ≤ j ≤ min(m, k) }.
//!
//! E is safe: no release comes earlier than E. It is super-additive, E(a + b) ≥ E(a) + E(b),
//! because a partition of a and one of b together are a partition of a + b. A list in which D(m) is
//! less than the sum of a partition of m is refused: a value in it is wrong, because distances that
//! were measured, or are true, are never less. So E(m) = D(m) up to k.
//!
//! **It is reached.** Let releases be at E(0), E(1), E(2) …. Two of them that are b apart span
//! E(a + b) − E(a) ≥ E(b), so these releases keep the list, and all of them are as early after the
//! first one as they can be. So no better bound than E follows from the list; and a bound that is
//! computed with E is reached by releases that are allowed.
//!
//! **Far ahead.** Let p be a part with the greatest D(p) / p, the least one of these. Of p parts
//! that are not p, some consecutive ones add up to a multiple of p (two of the p + 1 sums of the
//! first 0, 1, … p of them are equal modulo p). Parts of p in their place give no smaller sum,
//! since no part has more time for each release. So a best partition has fewer than p parts that
//! are not p, which add up to at most T = (p − 1) · k. So
//!
//! > E(m) = E(m − p) + D(p), for each m > T,
//!
//! and a table up to T + p determines all of E. In the long run at most p releases come in D(p).
//!
//! **As a line.** E(m) ≥ ⌊m / p⌋ · D(p) ≥ (m − p + 1) · D(p) / p. So in a time t, both ends
//! included, there are at most t · p / D(p) + p releases.
//!
//! **Jitter.** If each release is delayed by 0 to J more, the time that they span is shorter by at
//! most J: D(m) − J. If something keeps them d apart, it is at least m · d.

use frame::Nanos;

/// The maximum number of distances in a list: of 2 to 9 releases.
pub const MAX_DISTANCES: usize = 8;

/// The reason why releases are not possible as they are given.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalError {
    /// A period of 0.
    #[error("a period of 0: it must be at least 1 ns")]
    NoPeriod,
    /// A least distance above the period: releases would fall behind for ever.
    #[error("a minimum distance above the period: releases would fall further and further behind")]
    Distance,
    /// An empty list.
    #[error("an empty list: give the least time that 2 releases span, then that of 3 ...")]
    NoDistances,
    /// A list with more than [`MAX_DISTANCES`] distances.
    #[error("{0} distances: at most {MAX_DISTANCES} are possible; leave the last ones out")]
    TooMany(usize),
    /// All distances are 0.
    #[error(
        "all distances are 0: releases would come without end; the last one must be more than 0"
    )]
    NoTime,
    /// A distance that is less than the distances of fewer releases allow.
    #[error(
        "{releases} releases span at least {least} ns according to the distances of fewer; a distance below that is wrong"
    )]
    Short {
        /// Number of releases.
        releases: usize,
        /// The least time that they span, ns.
        least: Nanos,
    },
}

/// The greatest value of T + p + 1.
const TABLE: usize = MAX_DISTANCES * MAX_DISTANCES + 1;

/// The least time that releases span, given by a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrivalCurve {
    /// D(1) to D(k); the entries after `k` repeat the last one.
    spans: [Nanos; MAX_DISTANCES],
    /// The number of distances, k.
    len: u8,
    /// The part p with the greatest D(p) / p.
    part: u8,
}

impl ArrivalCurve {
    /// Creates a curve of the least times that 2, 3, 4 … releases span, ns.
    pub(crate) const fn new(list: &[Nanos]) -> Result<Self, ArrivalError> {
        let len = list.len();
        if len == 0 {
            return Err(ArrivalError::NoDistances);
        }
        if len > MAX_DISTANCES {
            return Err(ArrivalError::TooMany(len));
        }
        let mut spans = [list[len - 1]; MAX_DISTANCES];
        let mut part = 1;
        let mut m = 1;
        while m <= len {
            let span = list[m - 1];
            let mut first = 1;
            while first < m {
                let least = list[first - 1].saturating_add(list[m - first - 1]);
                if span < least {
                    return Err(ArrivalError::Short {
                        releases: m + 1,
                        least,
                    });
                }
                first += 1;
            }
            spans[m - 1] = span;
            // Compares D(m) / m with D(p) / p.
            if span as u128 * part as u128 > spans[part - 1] as u128 * m as u128 {
                part = m;
            }
            m += 1;
        }
        if list[len - 1] == 0 {
            return Err(ArrivalError::NoTime);
        }
        Ok(Self {
            spans,
            len: len as u8,
            part: part as u8,
        })
    }

    /// Returns D(1) to D(k), ns.
    pub(crate) fn list(&self) -> &[Nanos] {
        &self.spans[..usize::from(self.len)]
    }

    /// Returns p.
    pub(crate) const fn part(&self) -> u64 {
        self.part as u64
    }

    /// Returns D(p), ns.
    pub(crate) const fn part_span(&self) -> Nanos {
        self.spans[self.part as usize - 1]
    }

    /// Returns T.
    const fn whole(&self) -> usize {
        (self.part as usize - 1) * self.len as usize
    }

    /// Returns E(0) to E(T + p), and the further entries that the table has.
    fn table(&self) -> [Nanos; TABLE] {
        let mut table = [0; TABLE];
        for m in 1..TABLE {
            let ways = self.list().iter().take(m).zip(1..);
            let most = ways.map(|(span, j)| span.saturating_add(table[m - j]));
            table[m] = most.max().unwrap_or(0);
        }
        table
    }

    /// Returns E(m), ns.
    pub(crate) fn span(&self, m: u64) -> Nanos {
        match usize::try_from(m) {
            Ok(0) => return 0,
            Ok(m) if m <= self.len as usize => return self.spans[m - 1],
            _ => {}
        }
        let (first, part) = (self.whole() as u64 + 1, self.part());
        let parts = m.saturating_sub(first) / part;
        let m = usize::try_from(m - parts * part).unwrap_or(TABLE - 1);
        let more = parts.saturating_mul(self.part_span());
        self.table()[m.min(TABLE - 1)].saturating_add(more)
    }

    /// Returns the greatest m with E(m) ≤ `span`.
    pub(crate) fn most(&self, span: Nanos) -> u64 {
        if span < self.spans[self.len as usize - 1] {
            return self.list().iter().filter(|&&least| least <= span).count() as u64;
        }
        let table = self.table();
        let first = self.whole() + 1;
        let parts = match span.checked_sub(table[first]) {
            Some(behind) => behind / self.part_span(),
            None => 0,
        };
        // Less than E(T + 1 + p) is left, so the table covers it.
        let left = span - parts * self.part_span();
        let within = &table[1..=self.whole() + usize::from(self.part)];
        let most = within.iter().filter(|&&least| least <= left).count() as u64;
        most + parts * self.part()
    }

    /// Divides all distances by `thousandths` / 1000.
    pub(crate) fn faster(mut self, thousandths: u64) -> Self {
        // ⌊x + y⌋ ≥ ⌊x⌋ + ⌊y⌋, so it stays super-additive; p may not be the greatest any more after
        // rounding, so it is searched for again.
        for span in &mut self.spans {
            *span = divided(*span, thousandths);
        }
        let last = &mut self.spans[usize::from(self.len) - 1];
        *last = (*last).max(1);
        Self::new(self.list()).unwrap_or(self)
    }
}

/// Divides a time by `thousandths` / 1000, rounded down.
pub(crate) fn divided(span: Nanos, thousandths: u64) -> Nanos {
    let parts = u128::from(span) * 1000 / u128::from(thousandths.max(1));
    Nanos::try_from(parts).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// The list of measured releases.
    fn least(gaps: &[Nanos], most: usize) -> Vec<Nanos> {
        let sums = |n: usize| gaps.windows(n).map(|w| w.iter().sum()).min();
        (1..=most).filter_map(sums).collect()
    }

    /// The greatest sum of all partitions, computed by brute force.
    fn slow(list: &[Nanos], most: usize) -> Vec<Nanos> {
        let mut all: Vec<Nanos> = vec![0];
        for m in 1..=most {
            let best = (1..=m).map(|j| match list.get(j - 1) {
                Some(span) => span + all[m - j],
                None => 0,
            });
            all.push(best.max().unwrap());
        }
        all
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(ArrivalCurve::new(&[]), Err(ArrivalError::NoDistances));
        assert_eq!(ArrivalCurve::new(&[1; 9]), Err(ArrivalError::TooMany(9)));
        assert_eq!(ArrivalCurve::new(&[0, 0]), Err(ArrivalError::NoTime));
        let short = |releases, least| Err(ArrivalError::Short { releases, least });
        assert_eq!(ArrivalCurve::new(&[5, 8]), short(3, 10));
        assert_eq!(ArrivalCurve::new(&[0, 10, 9]), short(4, 10));
    }

    #[test]
    fn bursts_of_three() {
        // Three at once, and again after 100: of the second burst none is earlier.
        let curve = ArrivalCurve::new(&[0, 0, 100]).unwrap();
        let all: Vec<Nanos> = (0..8).map(|m| curve.span(m)).collect();
        assert_eq!(all, [0, 0, 0, 100, 100, 100, 200, 200]);
        assert_eq!((curve.part(), curve.part_span()), (3, 100));
        assert_eq!([0, 99, 100].map(|t| curve.most(t)), [2, 2, 5]);
    }

    proptest! {
        /// Compares with all partitions, near and far; it is super-additive; counts and times
        /// agree; the line holds.
        #[test]
        fn the_continuation_is_the_best_way_to_cut(
            gaps in prop::collection::vec(0..40_u64, 12..40),
            most in 1..=MAX_DISTANCES,
            spans in prop::collection::vec(0..4_000_u64, 20),
        ) {
            let list = least(&gaps, most);
            let Ok(curve) = ArrivalCurve::new(&list) else {
                prop_assert_eq!(list.last(), Some(&0));
                return Ok(());
            };
            let all = slow(&list, 400);
            for (m, span) in all.iter().enumerate() {
                prop_assert_eq!(curve.span(m as u64), *span, "{}", m);
            }
            for (a, b) in [(1, 1), (3, 5), (17, 33), (70, 130)] {
                prop_assert!(all[a + b] >= all[a] + all[b]);
            }
            let line = |t: u64| t * curve.part() / curve.part_span() + curve.part();
            for t in spans {
                let slow = all.iter().take_while(|&&span| span <= t).count() as u64;
                if slow < 401 {
                    prop_assert_eq!(curve.most(t) + 1, slow, "{}", t);
                }
                prop_assert!(curve.most(t) < line(t));
            }
        }

        /// The releases from which the list was taken keep the curve, whatever the window.
        #[test]
        fn measured_releases_keep_it(gaps in prop::collection::vec(0..40_u64, 12..60)) {
            let Ok(curve) = ArrivalCurve::new(&least(&gaps, MAX_DISTANCES)) else {
                return Ok(());
            };
            for n in 1..=gaps.len() {
                let shortest = gaps.windows(n).map(|w| w.iter().sum::<u64>()).min().unwrap();
                prop_assert!(curve.span(n as u64) <= shortest);
            }
        }

        #[test]
        fn faster_stays_a_curve(gaps in prop::collection::vec(0..40_u64, 12..40), factor in 1..9_000_u64) {
            let list = least(&gaps, MAX_DISTANCES);
            let Ok(curve) = ArrivalCurve::new(&list) else {
                return Ok(());
            };
            let faster = curve.faster(factor);
            prop_assert_eq!(ArrivalCurve::new(faster.list()), Ok(faster));
            for (new, old) in faster.list().iter().zip(&list).take(list.len() - 1) {
                prop_assert_eq!(*new, old * 1000 / factor);
            }
        }
    }
}
