//! Rate limits: exact, without drift, and harmless if the clock is wrong.

use crate::common;

use cangate_route::*;
use common::{Event, Owned, Rng, decide, plain, table};
use frame::{Kind, Nanos};

const SECOND: Nanos = 1_000_000_000;

fn limited(limit: RateLimit) -> RoutingTable {
    let mut route = plain("limited");
    route.limit = Some(limit);
    table(vec![route])
}

/// Returns whether a frame with this ID passes at this time.
fn passes(table: &RoutingTable, memory: &mut TableMemory, raw: u32, now: Nanos) -> bool {
    let frame = Owned::new(Kind::Classic, raw, &[1]);
    let arrival = FrameArrival {
        from: PortId(0),
        now,
        hops: 0,
    };
    match &decide(table, memory, arrival, &frame)[..] {
        [Event::Taken(0), Event::Forward { .. }] => true,
        [Event::Taken(0), Event::Stopped(0, StopReason::RateLimit)] => false,
        other => panic!("{other:?}"),
    }
}

fn per_second(frames: u32, burst: u32) -> RateLimit {
    RateLimit {
        frames,
        per: SECOND,
        burst,
        per_id: None,
    }
}

#[test]
fn a_burst_and_then_one_frame_an_interval() {
    let table = limited(per_second(10, 3));
    let mut memory = table.memory();
    let start = 77 * SECOND;
    let burst: Vec<_> = (0..5)
        .map(|_| passes(&table, &mut memory, 1, start))
        .collect();
    assert_eq!(burst, [true, true, true, false, false]);
    let interval = SECOND / 10;
    assert!(!passes(&table, &mut memory, 1, start + interval - 1));
    assert!(passes(&table, &mut memory, 1, start + interval));
    assert!(!passes(&table, &mut memory, 1, start + interval));
    // After a long pause the burst is available again, but not more.
    let later = start + 100 * SECOND;
    let burst: Vec<_> = (0..5)
        .map(|_| passes(&table, &mut memory, 1, later))
        .collect();
    assert_eq!(burst, [true, true, true, false, false]);
}

#[test]
fn nothing_drifts_when_the_interval_is_no_whole_number() {
    // One frame every 142857142.857… ns. One frame is taken at the start from a bucket for two, so
    // that the bucket is never full again and loses nothing. From then on the nth frame passes at
    // the first nanosecond that is not before n/7 s.
    let table = limited(per_second(7, 2));
    let mut memory = table.memory();
    assert!(passes(&table, &mut memory, 1, 0));
    for n in 0..30_000_u64 {
        let due = (n * SECOND).div_ceil(7);
        if n > 0 {
            assert!(
                !passes(&table, &mut memory, 1, due - 1),
                "frame {n} came early"
            );
        }
        assert!(passes(&table, &mut memory, 1, due), "frame {n} came late");
    }
}

#[test]
fn in_any_stretch_of_time_no_more_than_rate_and_burst_allow() {
    let mut rng = Rng(5);
    for _ in 0..50 {
        let limit = RateLimit {
            frames: 1 + rng.below(2000),
            per: 1 + rng.next() % (3 * SECOND),
            burst: 1 + rng.below(20),
            per_id: None,
        };
        let table = limited(limit);
        let mut memory = table.memory();
        let mut now = rng.next() % SECOND;
        let start = now;
        let mut passed = 0_u128;
        for _ in 0..2000 {
            // From time to time a frame of another port, a little older.
            let jitter = if rng.one_in(3) { rng.next() % 1000 } else { 0 };
            passed += u128::from(passes(&table, &mut memory, 1, now.saturating_sub(jitter)));
            let elapsed = u128::from(now - start);
            let most = u128::from(limit.burst)
                + elapsed * u128::from(limit.frames) / u128::from(limit.per);
            assert!(
                passed <= most,
                "{passed} > {most} after {elapsed} ns: {limit:?}"
            );
            now += rng.next() % (2 * limit.per / u64::from(limit.frames) + 1);
        }
        // Not much less either: frames came at most twice as fast as allowed, half as fast on
        // average.
        assert!(passed > 500, "{passed} {limit:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_costs_no_more_than_an_empty_bucket() {
    let table = limited(per_second(10, 2));
    let mut memory = table.memory();
    let start = 1000 * SECOND;
    assert!(passes(&table, &mut memory, 1, start));
    assert!(passes(&table, &mut memory, 1, start));
    assert!(!passes(&table, &mut memory, 1, start));
    // An hour back. One interval later frames pass again.
    let back = start - 900 * SECOND;
    assert!(!passes(&table, &mut memory, 1, back));
    assert!(passes(&table, &mut memory, 1, back + SECOND / 10));
    assert!(!passes(&table, &mut memory, 1, back + SECOND / 10));
    // A little back: no time has passed, and no time is lost.
    assert!(passes(&table, &mut memory, 1, back + SECOND / 5));
    assert!(!passes(&table, &mut memory, 1, back + SECOND / 10));
    assert!(passes(&table, &mut memory, 1, back + 3 * SECOND / 10));
}

#[test]
fn the_ends_of_the_number_range_do_no_harm() {
    let table = limited(RateLimit {
        frames: u32::MAX,
        per: Nanos::MAX,
        burst: u32::MAX,
        per_id: Some(1),
    });
    let mut memory = table.memory();
    for now in [0, Nanos::MAX, 0, 1, Nanos::MAX - 1, Nanos::MAX] {
        for id in 0..3 {
            let _ = passes(&table, &mut memory, id, now);
        }
    }
}

#[test]
fn each_id_has_its_own_bucket_and_those_above_the_number_share_one() {
    let table = limited(RateLimit {
        per_id: Some(2),
        ..per_second(1, 1)
    });
    let mut memory = table.memory();
    let mut at = |raw, now| passes(&table, &mut memory, raw, now);
    assert!(
        at(0x100, 0) && at(0x8000_0100, 0),
        "two formats are two IDs"
    );
    assert!(!at(0x100, 0) && !at(0x8000_0100, 0));
    assert!(at(0x300, 0), "the third takes the shared bucket");
    assert!(!at(0x301, 0), "which the fourth finds empty");
    assert!(
        !at(0x4000_0100, 0),
        "a remote frame has its data frame's bucket"
    );
    assert!(at(0x100, SECOND) && at(0x301, SECOND) && !at(0x300, SECOND));
}

#[test]
fn a_frame_that_passed_too_many_gateways_uses_nothing_up() {
    let table = limited(per_second(1, 1));
    let mut memory = table.memory();
    let frame = Owned::new(Kind::Classic, 1, &[]);
    let tired = FrameArrival {
        from: PortId(0),
        now: 0,
        hops: 1,
    };
    assert_eq!(
        decide(&table, &mut memory, tired, &frame),
        [Event::Taken(0), Event::Stopped(0, StopReason::HopLimit)]
    );
    assert!(passes(&table, &mut memory, 1, 0));
}

#[test]
fn frames_out_of_order_give_nothing_away() {
    let table = limited(per_second(1000, 1));
    let mut memory = table.memory();
    let start = 1000 * SECOND;
    let passed = (0..100)
        .filter(|n| passes(&table, &mut memory, 1, start - (n % 2) * SECOND / 2))
        .count();
    assert_eq!(passed, 1);
}
