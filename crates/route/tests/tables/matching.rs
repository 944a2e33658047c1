//! The compiled table against a loop over all routes and filters.

use crate::common;

use cangate_route::*;
use common::{Event, Rng, decide, random_frame, random_routes, reference};

#[test]
fn a_table_decides_as_a_loop_over_all_routes_does() {
    let mut rng = Rng(1);
    let mut seen = [0_u32; 9];
    for case in 0..4000 {
        let routes = random_routes(&mut rng);
        let table =
            RoutingTable::compile(&routes, 3).unwrap_or_else(|e| panic!("{e:?} in {routes:#?}"));
        let mut memory = table.memory();
        for _ in 0..30 {
            let frame = random_frame(&mut rng);
            let arrival = FrameArrival {
                from: PortId(rng.below(3) as u16),
                now: rng.next(),
                hops: if rng.one_in(2) { 0 } else { rng.below(8) as u8 },
            };
            let expected = reference::decide(&routes, arrival, &frame);
            let got = decide(&table, &mut memory, arrival, &frame);
            if got != expected {
                let differs = got
                    .iter()
                    .zip(&expected)
                    .take_while(|(a, b)| a == b)
                    .count();
                panic!(
                    "case {case}: {arrival:?} {frame:?}\ngot from {differs}: {:?}\nexpected: {:?}\n{:?}\n{:?}",
                    &got[differs..],
                    &expected[differs..],
                    routes.mode,
                    routes.routes.iter().enumerate().collect::<Vec<_>>(),
                );
            }
            for event in &got {
                seen[match event {
                    Event::Taken(_) => 0,
                    Event::Forward { .. } => 1,
                    Event::Stopped(_, StopReason::DropRule) => 2,
                    Event::Stopped(_, StopReason::HopLimit) => 3,
                    Event::Stopped(_, StopReason::TooLong) => 4,
                    Event::Stopped(_, StopReason::IdRange) => 5,
                    Event::Stopped(_, StopReason::RateLimit) => unreachable!("no limits here"),
                    Event::Stopped(_, StopReason::Absent) => 7,
                    Event::Stopped(_, StopReason::OutOfRange) => 8,
                    Event::Stopped(_, StopReason::E2eWrong) => unreachable!("no E2E here"),
                }] += 1;
            }
            seen[6] += u32::from(got.is_empty());
        }
    }
    // The cases must reach every outcome, or they prove nothing.
    assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
}

#[test]
fn many_routes_with_few_masks_decide_as_a_loop_does() {
    // Enough values in one group for the 2048-entry table and for long probe runs.
    let mut rng = Rng(2);
    for direct in [false, true] {
        let mut routes = Routes::default();
        for n in 0..3000_u32 {
            let mut route = common::plain(&format!("{n}"));
            route.matching.ids = match n % 4 {
                0 if direct => vec![common::range(false, n % 0x800, n % 0x800)],
                0 => vec![common::masked(n % 0x800, 0xC000_07FF)],
                1 => vec![common::range(true, n << 8, n << 8)],
                2 => vec![common::masked(0x8000_0000 | (n << 4), 0x9FFF_FFF0)],
                _ => vec![common::range(true, n << 3, (n << 3) + 20)],
            };
            routes.routes.push(route);
        }
        let table = RoutingTable::compile(&routes, 2).unwrap();
        let mut memory = table.memory();
        let mut hits = 0;
        for _ in 0..1000 {
            let raw = match rng.below(3) {
                0 => rng.below(0x800),
                1 => 0x8000_0000 | rng.below(3000) << 8,
                _ => 0x8000_0000 | rng.below(1 << 15),
            };
            let frame = common::Owned::new(frame::Kind::Classic, raw, &[1, 2]);
            let got = decide(&table, &mut memory, common::arrival(0), &frame);
            assert_eq!(
                got,
                reference::decide(&routes, common::arrival(0), &frame),
                "{raw:X}"
            );
            hits += got.len();
        }
        assert!(hits > 500, "{hits}");
    }
}
