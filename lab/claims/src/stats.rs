//! Statistics that claims use.

use probe::{FrameRecord, RunResults, Status};

/// Returns the widest empty interval between values that has at least `share` of them on each side.
/// `(below, above)` are its ends: the last value below and the first above.
pub(crate) fn widest_gap(sorted: &[i64], share: f64) -> Option<(i64, i64)> {
    let least = ((sorted.len() as f64) * share).ceil().max(1.0) as usize;
    let last = sorted.len().checked_sub(least)?;
    let inner = sorted.get(least - 1..=last)?;
    let pairs = inner
        .windows(2)
        .filter_map(|w| Some((*w.first()?, *w.last()?)));
    pairs
        .filter(|(a, b)| b > a)
        .max_by_key(|(a, b)| (b - a, -a))
}

/// Returns the shortest arc of a circle of `period` that holds all `times`, as a share of the
/// period.
pub(crate) fn arc(times: &[u64], period: u64) -> Option<f64> {
    let mut phases: Vec<u64> = times.iter().map(|t| t % period.max(1)).collect();
    phases.sort_unstable();
    let (first, last) = (*phases.first()?, *phases.last()?);
    let inner = phases
        .windows(2)
        .filter_map(|w| Some(w.last()? - w.first()?));
    let widest = inner.chain([first + period - last]).max()?;
    Some((period - widest) as f64 / period as f64)
}

/// Returns the greatest number of `times` that lie on one arc of `length`, on a circle of `period`.
pub(crate) fn most_within(times: &[u64], period: u64, length: u64) -> usize {
    let period = period.max(1);
    let from = |start: &u64| {
        let after = |t: &&u64| (*t % period + period - start % period) % period <= length;
        times.iter().filter(after).count()
    };
    times.iter().map(from).max().unwrap_or(0)
}

/// Fits a straight line through points: `(slope, intercept, greatest distance of a point from it)`.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let n = points.len() as f64;
    if points.len() < 2 {
        return None;
    }
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let across: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    if across == 0.0 {
        return None;
    }
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / across;
    let intercept = y - slope * x;
    let off = points.iter().map(|p| (p.1 - slope * p.0 - intercept).abs());
    Some((slope, intercept, off.fold(0.0, f64::max)))
}

/// Returns the lengths of the runs of frames that were received, among the frames in the order of
/// sending. A run that the end of the measurement may have cut counts as well.
pub(crate) fn received_runs(records: &[FrameRecord]) -> Vec<usize> {
    let mut sent: Vec<&FrameRecord> = records.iter().filter(|r| r.incoming.is_some()).collect();
    sent.sort_by_key(|r| r.tag);
    let mut runs = Vec::new();
    let mut run = 0;
    for record in sent {
        if record.status == Status::Delivered {
            run += 1;
        } else if run > 0 {
            runs.push(run);
            run = 0;
        }
    }
    if run > 0 {
        runs.push(run);
    }
    runs
}

/// Returns the median.
pub(crate) fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// Returns the number of frames that went in and were lost, as a share of those that went in.
pub(crate) fn loss(results: &RunResults) -> f64 {
    let sent = results
        .records
        .iter()
        .filter(|r| r.incoming.is_some())
        .count();
    let lost = results
        .records
        .iter()
        .filter(|r| r.status == Status::Lost)
        .count();
    if sent == 0 {
        0.0
    } else {
        lost as f64 / sent as f64
    }
}

/// Returns `a / b`; infinite where `b` is 0.
pub(crate) fn ratio(a: i64, b: i64) -> f64 {
    a as f64 / b as f64
}

/// Returns the number of lost frames.
pub(crate) fn lost(results: &RunResults) -> usize {
    let lost = |r: &&FrameRecord| r.status == Status::Lost;
    results.records.iter().filter(lost).count()
}

/// Returns the share of the frames that went out which had to wait for the outgoing bus: their
/// start of frame follows the end of the frame before by the three bits of intermission (at 1
/// Mbit/s) and at most a microsecond more.
pub(crate) fn waited(records: &[FrameRecord]) -> f64 {
    const INTERMISSION: u64 = 3_000;
    const SLACK: u64 = 1_000;
    let mut out: Vec<_> = records.iter().filter_map(|r| r.outgoing).collect();
    out.sort_by_key(|o| o.end);
    let directly = |pair: &&[probe::SentCopy]| match pair {
        [before, after] => {
            after.end.saturating_sub(after.duration) <= before.end + INTERMISSION + SLACK
        }
        _ => false,
    };
    let waited = out.windows(2).filter(directly).count();
    waited as f64 / out.len().max(1) as f64
}

/// Formats a time in ns as the papers print it: microseconds, or milliseconds from 10 000 of them
/// on.
pub(crate) fn us(ns: i64) -> String {
    let us = ns as f64 / 1000.0;
    if us.abs() >= 10_000.0 {
        format!("{:.1} ms", us / 1000.0)
    } else {
        format!("{us:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::fake;
    use proptest::prelude::*;

    #[test]
    fn gaps() {
        assert_eq!(widest_gap(&[1, 2, 10, 11], 0.1), Some((2, 10)));
        assert_eq!(
            widest_gap(&[1, 2, 3, 100], 0.5),
            Some((2, 3)),
            "too few above"
        );
        assert_eq!(widest_gap(&[1, 1, 1], 0.1), None);
        assert_eq!(widest_gap(&[], 0.1), None);
        assert_eq!(widest_gap(&[5], 0.1), None);
    }

    #[test]
    fn the_fullest_arc() {
        assert_eq!(most_within(&[], 100, 10), 0);
        assert_eq!(most_within(&[195, 301, 405, 50, 160], 100, 10), 3);
        assert_eq!(most_within(&[195, 301, 406, 50], 100, 10), 2);
    }

    #[test]
    fn arcs_go_round() {
        assert_eq!(arc(&[95, 105, 200, 1], 100), Some(0.1));
        assert_eq!(arc(&[0, 25, 50, 75], 100), Some(0.75));
        assert_eq!(arc(&[7], 100), Some(0.0));
        assert_eq!(arc(&[], 100), None);
    }

    #[test]
    fn lines() {
        let (slope, at, off) = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert!((slope - 2.0).abs() < 1e-9 && (at - 1.0).abs() < 1e-9 && off < 1e-9);
        assert!(line(&[(0.0, 0.0), (1.0, 0.0), (2.0, 3.0)]).unwrap().2 > 0.9);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 1.0)]), None);
    }

    #[test]
    fn runs() {
        let records = fake::losing(fake::records(10, 1), |n| n % 5 == 4 || n == 0);
        assert_eq!(received_runs(&records), [3, 4]);
        assert!(received_runs(&[]).is_empty());
        assert_eq!(lost(&fake::results(records.clone())), 3);
        assert!((loss(&fake::results(records)) - 0.3).abs() < 1e-9);
    }

    #[test]
    fn frames_that_follow_one_another_have_waited() {
        // The generated frames come a millisecond apart and last 60 µs.
        let mut records = fake::records(4, 1);
        assert_eq!(waited(&records), 0.0);
        let first = records[0].outgoing.unwrap().end;
        for (record, n) in records.iter_mut().zip(0..) {
            record.outgoing.as_mut().unwrap().end = first + n * 63_000;
        }
        assert_eq!(waited(&records), 0.75);
        assert_eq!(waited(&[]), 0.0);
    }

    #[test]
    fn times_as_the_papers_print_them() {
        assert_eq!(
            (us(35_440), us(2_500_000), us(50_000_000)),
            ("35.4".to_owned(), "2500.0".to_owned(), "50.0 ms".to_owned())
        );
    }

    proptest! {
        #[test]
        fn a_gap_is_empty(mut values in prop::collection::vec(0i64..1000, 2..60)) {
            values.sort_unstable();
            if let Some((a, b)) = widest_gap(&values, 0.1) {
                prop_assert!(a < b && !values.iter().any(|v| (a + 1..b).contains(v)));
                let below = values.iter().filter(|v| **v <= a).count();
                prop_assert!(below * 10 >= values.len() && (values.len() - below) * 10 >= values.len());
            }
        }

        #[test]
        fn an_arc_holds_all(times in prop::collection::vec(any::<u32>(), 1..40), period in 1u64..10_000) {
            let times: Vec<u64> = times.into_iter().map(u64::from).collect();
            let arc = arc(&times, period).unwrap();
            let length = (arc * period as f64).round() as u64;
            let holds = |start: u64| times.iter().all(|t| (t % period + period - start) % period <= length);
            prop_assert!(times.iter().any(|t| holds(t % period)));
        }
    }
}
