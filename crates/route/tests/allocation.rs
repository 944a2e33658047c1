//! Decisions allocate nothing, and a table's memory depends on the size of its input.
//!
//! The only test binary with a counting allocator, so that other tests do not disturb the counts;
//! its tests count only for their own thread.
// SAFETY of this file: the allocator hands every call on to `System` unchanged and touches only
// thread-local counters, which neither allocate (const-initialised, no destructor) nor panic.
#![allow(unsafe_code, clippy::unwrap_used)]

mod common;

use cangate_route::*;
use common::{Event, Rng, decide, masked, plain, random_frame, random_routes, range};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: i64) {
    CALLS.set(CALLS.get() + 1);
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every method passes its arguments to `System`, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: `at` came from `System` with this layout, by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A sink that keeps nothing.
#[derive(Default)]
struct Numbers {
    taken: u64,
    forwarded: u64,
}

impl DecisionSink for Numbers {
    fn taken(&mut self, _: RouteId) {
        self.taken += 1;
    }

    fn stopped(&mut self, _: RouteId, _: StopReason) {}

    fn forward(&mut self, _: ForwardedCopy<'_>) {
        self.forwarded += 1;
    }
}

#[test]
fn a_decision_allocates_nothing() {
    let mut rng = Rng(6);
    let mut numbers = Numbers::default();
    for _ in 0..200 {
        let mut routes = random_routes(&mut rng);
        for route in &mut routes.routes {
            if !route.drop && rng.one_in(2) {
                route.limit = Some(RateLimit {
                    frames: 1000,
                    per: 1000,
                    burst: 10,
                    per_id: rng.one_in(2).then_some(4),
                });
            }
        }
        let table = RoutingTable::compile(&routes, 3).unwrap();
        let mut memory = table.memory();
        let frames: Vec<_> = (0..100).map(|_| random_frame(&mut rng)).collect();
        let before = CALLS.get();
        for (at, frame) in frames.iter().enumerate() {
            let arrival = FrameArrival {
                from: PortId((at % 3) as u16),
                now: at as u64,
                hops: 0,
            };
            table.decide(&mut memory, arrival, frame.view(), &mut numbers);
        }
        assert_eq!(CALLS.get(), before, "{routes:?}");
    }
    assert!(numbers.taken > 5000 && numbers.forwarded > 5000);
    // The counter must work, or the check above proves nothing.
    let before = CALLS.get();
    drop(std::hint::black_box(vec![1_u8; 10]));
    assert_eq!(CALLS.get(), before + 2);
}

/// Returns the bytes that a table for these filters keeps, and the maximum that it needs while it
/// is made, each for one route and port.
fn bytes_per_route(filter: impl Fn(u32) -> IdFilter, count: u32) -> (i64, i64) {
    let routes = Routes {
        routes: (0..count)
            .map(|n| {
                let mut route = plain("");
                route.matching.ids = vec![filter(n)];
                route
            })
            .collect(),
        ..Routes::default()
    };
    let before = HELD.get();
    PEAK.set(before);
    let table = RoutingTable::compile(&routes, 2).unwrap();
    let (held, peak) = (HELD.get() - before, PEAK.get() - before);
    // The table works.
    let mut memory = table.memory();
    let frame = common::Owned::new(frame::Kind::Classic, 0x400, &[]);
    let taken = decide(&table, &mut memory, common::arrival(0), &frame)
        .iter()
        .filter(|event| matches!(event, Event::Taken(_)))
        .count();
    drop(table);
    assert!(taken <= count as usize);
    (held / i64::from(count), peak / i64::from(count))
}

/// Description, the nth filter, number of entries for each.
type Case = (&'static str, Box<dyn Fn(u32) -> IdFilter>, i64);

#[test]
fn memory_follows_the_number_of_filters_not_what_they_cover() {
    const ROUTES: u32 = 5000;
    // Documented on `RoutingTable`: an entry keeps at most 100 bytes, a range has at most 64
    // entries; and 32 bytes for the route itself. Interest keeps 8 bytes an entry more.
    let entry = 100 + 8;
    let mut cases: Vec<Case> = vec![
        ("all SFF IDs", Box::new(|_| masked(0, 0x8000_0000)), 2),
        (
            "all SFF IDs, as a range",
            Box::new(|_| range(false, 0, 0x7FF)),
            2,
        ),
        ("every ID", Box::new(|_| masked(0, 0)), 2),
        (
            "half of the SFF IDs, each another",
            Box::new(|n| masked(n, 0x8000_0400 | n & 0x7FF)),
            2,
        ),
        ("single EFF IDs", Box::new(|n| range(true, n * 7, n * 7)), 1),
        (
            "ranges that fit badly",
            Box::new(|n| range(true, n + 1, 0x1FFF_FFFE - n)),
            64,
        ),
        (
            "SFF ranges that fit badly",
            Box::new(|n| range(false, 1 + n % 1000, 0x7FE)),
            64,
        ),
    ];
    // A group for each filter: the case in which the cost of a decision grows with the number of
    // routes.
    let odd = |n: u32| n.wrapping_mul(0x9E37_79B1) & 0x1FFF_FFFF;
    cases.push((
        "masks, each another",
        Box::new(move |n| masked(0, 0x8000_0000 | odd(n))),
        2,
    ));
    cases.push((
        "EFF masks, each another",
        Box::new(move |n| masked(1 << 31, 1 << 31 | odd(n))),
        2,
    ));
    let inverted = |mut filter: IdFilter| {
        filter.inverted = true;
        filter
    };
    cases.push((
        "all but one EFF ID",
        Box::new(move |n| inverted(masked(0x8000_0000 | n, 0xDFFF_FFFF))),
        64,
    ));
    for (what, filter, entries) in cases {
        let (held, peak) = bytes_per_route(filter, ROUTES);
        let most = 32 + entries * entry;
        println!("{what}: {held} bytes a route, {peak} while compiling");
        assert!(
            held <= most,
            "{what}: {held} bytes a route, {most} promised"
        );
        assert!(
            peak <= 4 * most,
            "{what}: {peak} bytes a route while compiling"
        );
    }
}
