use super::*;
use frame::CanId;
use probe::{IncomingFrame, SentCopy};
use proptest::prelude::*;

/// Returns a frame that came in and, with `out`, went out that many ns later.
fn record(tag: u64, end: u64, out: Option<u64>, accesses: Option<u32>) -> FrameRecord {
    let id = CanId::from_raw(1);
    FrameRecord {
        tag,
        route: None,
        incoming: Some(IncomingFrame {
            port: 0,
            id,
            kind: Some(frame::Kind::Classic),
            len: 2,
            end,
        }),
        outgoing: out.map(|after| SentCopy {
            port: 1,
            id,
            kind: Some(frame::Kind::Classic),
            len: 2,
            end: end + after,
            duration: 0,
        }),
        status: if out.is_some() {
            Status::Delivered
        } else {
            Status::Lost
        },
        processing: None,
        accesses,
    }
}

fn digested(records: Vec<FrameRecord>) -> (IndexLine, ExperimentDetails) {
    let results = RunResults {
        records,
        ..RunResults::default()
    };
    digest("x", &results)
}

#[test]
fn every_access_is_charged_to_its_frame() {
    let (line, details) = digested(vec![
        record(0, 0, Some(10_000), Some(10)),
        record(1, 100_000, Some(9_000), Some(30)),
        record(2, 200_000, Some(50_000), None),
    ]);
    let figures = |n: usize| line.latency[n].as_ref().unwrap();
    assert_eq!(
        (figures(0).count, figures(0).min, figures(0).max),
        (3, 9_000, 50_000)
    );
    // At 100 ns: 11 000 and 12 000; the frame whose accesses were not counted has no such latency.
    assert_eq!(
        (figures(1).count, figures(1).min, figures(1).max),
        (2, 11_000, 12_000)
    );
    assert_eq!((figures(2).min, figures(2).max), (20_000, 39_000));
    let accesses = line.accesses.as_ref().unwrap();
    assert_eq!(
        (accesses.frames, accesses.sum, accesses.min, accesses.max),
        (2, 40, 10, 30)
    );
    assert_eq!(details.time.a, None, "not counted for all");
    let none = digested(vec![record(0, 0, Some(1), None)]).0;
    assert_eq!((none.accesses, none.latency[1].clone()), (None, None));
}

#[test]
fn losses_come_in_runs_and_have_a_place() {
    let lost = [10, 11, 12, 50, 99];
    let out = |n: u64| (!lost.contains(&n)).then_some(5);
    let mut records: Vec<FrameRecord> = (0..100)
        .map(|n| record(n, n * 1_000, out(n), None))
        .collect();
    records.push(FrameRecord {
        incoming: None,
        ..record(100, 0, None, None)
    });
    let (line, details) = digested(records);
    assert_eq!((line.sent, line.received, line.lost), (101, 95, 6));
    let l = &details.losses;
    assert_eq!((l.runs, l.longest, l.unplaced, l.span), (3, 3, 1, 99_000));
    assert_eq!(
        (l.frames.iter().sum::<u64>(), l.lost.iter().sum::<u64>()),
        (100, 5)
    );
    assert_eq!((l.lost[0], l.lost[50], l.lost[99]), (0, 1, 1));
}

#[test]
fn one_that_was_overtaken_is_reordered() {
    // Each came in 1 µs after the previous one; the second took 10 µs, and two overtook it.
    let out = [1_000, 10_000, 1_000, 1_000, 20_000];
    let records = (0..5).map(|n| record(n, n * 1_000, Some(out[n as usize]), None));
    assert_eq!(digested(records.collect()).0.reordered, 1);
}

#[test]
fn nothing_and_nonsense_have_a_digest() {
    let (line, details) = digested(vec![]);
    assert_eq!(
        (
            line.sent,
            line.latency[0].clone(),
            details.curves[0].clone()
        ),
        (0, None, None)
    );
    let far = FrameRecord {
        status: Status::Lost,
        ..record(1, u64::MAX, None, Some(u32::MAX))
    };
    let odd = FrameRecord {
        status: Status::Duplicated,
        ..record(0, 0, Some(u64::MAX), Some(u32::MAX))
    };
    let (line, _) = digested(vec![far, odd, far]);
    assert_eq!((line.sent, line.lost, line.duplicated), (2, 2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_time_chart_hides_no_extreme_at_any_cost(
        frames in prop::collection::vec((0u64..1_000_000, 0u32..200), 1..3_000),
    ) {
        let records = frames.iter().enumerate()
            .map(|(n, &(latency, a))| record(n as u64, n as u64 * 500, Some(latency), Some(a)));
        let (line, details) = digested(records.collect());
        let time = &details.time;
        prop_assert_eq!(time.of, frames.len());
        prop_assert!(time.y.len() <= 3 * (DOTS + 4), "{}", time.y.len());
        let a = time.a.as_ref().unwrap();
        for (figures, cost) in line.latency.iter().zip(COSTS) {
            let at = |n: usize| time.y[n] + i64::from(cost) * i64::from(a[n]);
            let shown = || (0..time.y.len()).map(at);
            let figures = figures.as_ref().unwrap();
            prop_assert_eq!((shown().min(), shown().max()), (Some(figures.min), Some(figures.max)));
        }
        let mut end = 0;
        for (step, (y, a)) in time.x.iter().zip(time.y.iter().zip(a)) {
            end += step;
            prop_assert_eq!(frames[(end / 500) as usize], (*y as u64, *a), "a frame that was there");
        }
    }

    #[test]
    fn sums_add_up(fates in prop::collection::vec(0usize..Status::ALL.len(), 0..300)) {
        let records: Vec<FrameRecord> = fates.iter().enumerate().map(|(n, &f)| {
            let status = Status::ALL[f];
            let out = (status == Status::Delivered).then_some(7);
            FrameRecord { status, ..record(n as u64, n as u64, out, None) }
        }).collect();
        let (line, details) = digested(records);
        let sum: u64 = details.fates.iter().map(|f| f.1).sum();
        prop_assert_eq!(sum, fates.len() as u64);
        prop_assert!(line.received + line.lost <= line.sent);
        if line.lost > 0 {
            prop_assert_eq!(details.losses.lost.iter().sum::<u64>() + details.losses.unplaced, line.lost);
        }
    }
}
