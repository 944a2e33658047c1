//! Searches with simulated gateways.

use super::*;
use crate::fake;
use guest::machine::BenchKind;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

fn base(bench: BenchKind) -> Experiment {
    Experiment {
        bench,
        payload: 2,
        frames: 1000,
        ..Experiment::default()
    }
}

/// Simulates a gateway that needs `service` ns per frame and has room for `room` frames; frames on
/// the bus take 65 µs where they come as a flood.
fn gateway(e: &Experiment, service: u64, room: usize) -> RunResults {
    let period = match e.traffic {
        TrafficPattern::Period(ns) => ns,
        _ => 65_000,
    };
    let mut records = fake::records(u64::from(e.frames), 0);
    let mut free = 0;
    let mut waiting: Vec<u64> = Vec::new();
    for (record, n) in records.iter_mut().zip(0..) {
        let end = 1_000_000 + n * period;
        record.incoming.as_mut().unwrap().end = end;
        waiting.retain(|done| *done > end);
        if waiting.len() > room {
            record.outgoing = None;
            record.status = probe::Status::Lost;
            continue;
        }
        free = end.max(free) + service;
        waiting.push(free);
        let outgoing = record.outgoing.as_mut().unwrap();
        outgoing.end = free + outgoing.duration;
    }
    fake::results(records)
}

/// Returns the search's end and the number of experiments that it took.
fn found(base: &Experiment, make: impl Fn(&Experiment) -> RunResults) -> (SearchedRate, usize) {
    let made = RefCell::new(BTreeMap::new());
    let find = |e: &Experiment| match made.borrow().get(e) {
        Some(results) => StoredResult::Results(Box::new(RunResults::clone(results))),
        None => StoredResult::Absent,
    };
    let mut search_one = [RateSearch::new(base)];
    search(&mut search_one, &find, &mut |todo| {
        for e in todo {
            assert_eq!(e.check(), Ok(()));
            assert!(made.borrow_mut().insert(e.clone(), make(e)).is_none());
        }
        Ok(ScheduleTally::default())
    })
    .unwrap();
    let rate = search_one[0].end().unwrap().clone().unwrap();
    // From the existing results, the same rate follows again without any experiment.
    let mut again = RateSearch::new(base);
    assert_eq!(again.follow(&find), None);
    assert_eq!(again.end().unwrap().as_ref().unwrap(), &rate);
    let count = made.borrow().len();
    (rate, count)
}

#[test]
fn where_a_flood_loses_nothing_the_bus_is_the_bound() {
    let (rate, tries) = found(&base(BenchKind::Timed), |e| gateway(e, 30_000, 4));
    assert_eq!((rate.bound, tries, rate.tries), (RateLimitedBy::Bus, 1, 1));
    assert!((rate.frames_per_s - 1e9 / 65_000.0).abs() < 1.0);
}

#[test]
fn a_gateway_that_never_passes_has_no_rate() {
    let (rate, tries) = found(&base(BenchKind::Timed), |e| {
        fake::results(fake::losing(fake::records(u64::from(e.frames), 1), |n| {
            n == 7
        }))
    });
    assert_eq!((rate.bound, rate.frames_per_s), (RateLimitedBy::None, 0.0));
    assert!(rate.passed.is_none() && rate.failed.is_some());
    // Twice as slow each time, down to a frame a second.
    assert!(tries <= 16, "{tries}");
}

#[test]
fn a_queue_that_grows_is_no_rate_to_be_kept() {
    // Room for all frames of the run: no frame is ever lost.
    let (rate, _) = found(&base(BenchKind::Timed), |e| gateway(e, 200_000, 5000));
    assert_eq!(rate.bound, RateLimitedBy::Gateway);
    let failed = rate.failed.unwrap();
    assert!(failed.lost == 0 && failed.queue_grows);
    assert!(rate.frames_per_s < 5_100.0, "{}", rate.frames_per_s);
}

#[test]
fn a_failing_guest_ends_the_search_with_its_words() {
    let failed = FailedGuest {
        why: "it hung".to_owned(),
        console: String::new(),
    };
    let mut one = RateSearch::new(&base(BenchKind::Timed));
    assert_eq!(one.follow(&|_| StoredResult::Failed(failed.clone())), None);
    assert_eq!(one.end(), Some(&Err(failed)));
    assert_eq!(one.failing().unwrap().traffic, TrafficPattern::Flood);
    // Results that cannot be read back are not made for ever.
    let mut one = [RateSearch::new(&base(BenchKind::Timed))];
    let nothing = |_: &Experiment| StoredResult::Absent;
    let end = search(&mut one, &nothing, &mut |_| Ok(ScheduleTally::default()));
    assert!(end.unwrap_err().to_string().contains("read back"));
}

#[test]
fn no_period_is_shorter_than_the_longest_frame() {
    // 63 bits at 1 Mbit/s, and stuff bits in most of 1000 frames.
    let floor = floor(&base(BenchKind::Timed));
    assert!((64_000..=75_000).contains(&floor), "{floor}");
    assert_eq!(super::floor(&base(BenchKind::Kvaser)), STEP);
}

/// Simulates a gateway that loses one frame where `loses` returns true for the period; always with
/// a flood.
fn whim(e: &Experiment, loses: impl Fn(u64) -> bool) -> RunResults {
    let (period, loses) = match e.traffic {
        TrafficPattern::Period(ns) => (ns, loses(ns)),
        _ => (65_000, true),
    };
    let mut records = fake::records(u64::from(e.frames), 40_000);
    for (record, n) in records.iter_mut().zip(0..) {
        let end = 1_000_000 + n * period;
        record.incoming.as_mut().unwrap().end = end;
        record.outgoing.as_mut().unwrap().end = end + 40_000;
    }
    fake::results(fake::losing(records, |n| loses && n == 7))
}

/// Returns a number that looks random, derived from a period.
fn coin(seed: u64, period: u64) -> u64 {
    let mixed = (seed ^ period).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40
}

fn period_of(tried: &RateTry) -> f64 {
    1e9 / tried.frames_per_s
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Where it is chance whether frames are lost, up to a tenth on either side of the gateway's
    /// own period, the rate is within this range.
    #[test]
    fn chance_does_not_lead_the_search_away(own in 100_000u64..20_000_000, seed: u64) {
        let band = own * 9 / 10..own * 11 / 10;
        let (rate, tries) = found(&base(BenchKind::Timed), |e| {
            whim(e, |p| if band.contains(&p) { coin(seed, p).is_multiple_of(2) } else { p < own })
        });
        prop_assert_eq!(rate.bound, RateLimitedBy::Gateway);
        let period = 1e9 / rate.frames_per_s;
        let (low, high) = (band.start as f64 * 0.99, band.end as f64 * 1.01);
        prop_assert!(period > low && period < high, "{} of {}", period, own);
        prop_assert!(tries <= 24, "{}", tries);
    }

    /// With any gateway, however odd, the search ends, and its result was tried.
    #[test]
    fn every_search_ends_with_what_was_tried(seed: u64, often in 1u64..20) {
        let (rate, tries) = found(&base(BenchKind::Timed), |e| {
            whim(e, |p| coin(seed, p) % 20 < often)
        });
        prop_assert!(tries <= 40, "{}", tries);
        prop_assert_ne!(rate.bound, RateLimitedBy::Bus);
        let failed = rate.failed.unwrap();
        prop_assert!(!failed.passed());
        if let Some(passed) = rate.passed {
            prop_assert!(passed.passed());
            prop_assert_eq!(passed.frames_per_s, rate.frames_per_s);
            let (slow, fast) = (period_of(&passed), period_of(&failed));
            prop_assert!(failed.traffic == "flood" || slow > fast, "{} {}", slow, fast);
        } else {
            prop_assert_eq!(rate.frames_per_s, 0.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The rate is that of the gateway, to the precision of the search.
    #[test]
    fn the_rate_is_found(service in 80_000u64..50_000_000, room in 1usize..8) {
        let (rate, tries) = found(&base(BenchKind::Timed), |e| gateway(e, service, room));
        prop_assert_eq!(rate.bound, RateLimitedBy::Gateway);
        let period = 1e9 / rate.frames_per_s;
        let service = service as f64;
        // In 1000 frames a few more pass than at a rate without loss for ever.
        prop_assert!(period < service * 1.01 && period > service * 0.97, "{period} {service}");
        prop_assert!(tries <= 14, "{tries}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// However slow the gateway is: at each moment the expected number of attempts is off by at
    /// most three, or by at most six where the search first goes down or up a long way.
    #[test]
    fn tries_that_are_left_are_expected(service in 66_000u64..2_000_000, room in 1usize..20) {
        let base = base(BenchKind::Timed);
        let made = RefCell::new(BTreeMap::new());
        let find = |e: &Experiment| match made.borrow().get(e) {
            Some(results) => StoredResult::Results(Box::new(RunResults::clone(results))),
            None => StoredResult::Absent,
        };
        let mut expected = Vec::new();
        let mut searches = [RateSearch::new(&base)];
        search_in_rounds(&mut searches, &find, &mut |searches, todo| {
            expected.push(searches[0].tries_left());
            for e in todo {
                made.borrow_mut().insert(e.clone(), gateway(e, service, room));
            }
            Ok(ScheduleTally::default())
        })
        .unwrap();
        prop_assert_eq!(searches[0].tries_left(), 0);
        for (done, left) in expected.iter().enumerate() {
            let truth = expected.len() - done;
            prop_assert!(left + 3 >= truth && *left <= truth + 6, "{expected:?} at {done}");
        }
    }
}
