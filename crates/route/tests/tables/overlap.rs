//! Overlaps of routes are compared with the routing table's decisions about random frames.

use crate::common::*;
use cangate_route::*;
use std::collections::HashSet;

/// Returns the routes that took a frame.
fn taken(events: &[Event]) -> Vec<u32> {
    let taken = events.iter().filter_map(|event| match event {
        Event::Taken(route) => Some(*route),
        _ => None,
    });
    taken.collect()
}

fn copies(events: &[Event], arrival: FrameArrival) -> Vec<(u32, u16)> {
    let _ = arrival;
    let copies = events.iter().filter_map(|event| match event {
        Event::Forward { route, to, .. } => Some((*route, *to)),
        _ => None,
    });
    copies.collect()
}

fn is_meant(a: &Route, b: &Route) -> bool {
    !b.matching.ids.is_empty() && a.matching.ids == b.matching.ids && a.actions != b.actions
}

#[test]
fn no_frame_reaches_what_is_called_unreachable_and_no_doubling_is_missed() {
    let (mut unreachable, mut late, mut doubled) = (0, 0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng(seed);
        let mut routes = random_routes(&mut rng);
        let conditions = rng.one_in(3);
        for route in &mut routes.routes {
            route.hop_limit = None;
            if !conditions {
                route.matching.payload.clear();
                route.matching.when = None;
                route.matching.len = None;
            }
        }
        let found = overlaps(&routes, &|port| port);
        assert!(!found.incomplete);
        let dead: HashSet<u32> = found.unreachable.iter().map(|one| one.route.0).collect();
        let twice: HashSet<u32> = found.doubled.iter().map(|one| one.second.0).collect();
        unreachable += dead.len();
        late += found.late.len();
        doubled += twice.len();
        let table = RoutingTable::compile(&routes, 3).unwrap();
        let mut memory = table.memory();
        for _ in 0..300 {
            let frame = random_frame(&mut rng);
            if frame.header.kind() == frame::Kind::Fd && frame.header.id().is_rtr() {
                continue; // no such frame comes in
            }
            let arrival = arrival(rng.below(3) as u16);
            let events = decide(&table, &mut memory, arrival, &frame);
            let taken = taken(&events);
            for route in &taken {
                assert!(!dead.contains(route), "seed {seed}: {route} took {frame:?}");
            }
            for one in &found.late {
                let drop = one.route.0;
                let others = taken.iter().filter(|route| **route < drop).count();
                let reached = !taken.contains(&drop) || others > 0;
                assert!(reached, "seed {seed}: {drop} kept {frame:?}");
            }
            for (n, (first, to)) in copies(&events, arrival).iter().enumerate() {
                for (second, other) in copies(&events, arrival).iter().skip(n + 1) {
                    let (a, b) = (
                        &routes.routes[*first as usize],
                        &routes.routes[*second as usize],
                    );
                    if to == other && first != second && !is_meant(a, b) {
                        assert!(
                            twice.contains(second),
                            "seed {seed}: {first} and {second} sent {frame:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(
        unreachable > 100 && late > 10 && doubled > 1_000,
        "{unreachable} {late} {doubled}"
    );
}

#[test]
fn the_frame_that_is_named_is_sent_twice() {
    let mut seen = 0;
    for seed in 0..2_000 {
        let mut rng = Rng(seed);
        let mut routes = random_routes(&mut rng);
        routes.mode = RouteMode::All;
        for route in &mut routes.routes {
            route.hop_limit = None;
            route.matching.payload.clear();
            route.matching.when = None;
            route.matching.len = None;
            // Classic data frames only, so that the ID determines everything.
            route.matching.kinds = KindSet {
                classic: true,
                fd: false,
                xl: false,
            };
            route.matching.err = TriState::No;
            route.actions.clear();
        }
        let found = overlaps(&routes, &|port| port);
        let table = RoutingTable::compile(&routes, 3).unwrap();
        let mut memory = table.memory();
        for one in found.doubled {
            let frame = Owned::new(frame::Kind::Classic, one.example, &[]);
            let arrival = arrival(one.from.0);
            let events = decide(&table, &mut memory, arrival, &frame);
            let copies = copies(&events, arrival);
            for route in [one.first, one.second] {
                assert!(
                    copies.contains(&(route.0, one.to.0)),
                    "seed {seed}: {one:?} {copies:?}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 500, "{seen}");
}
