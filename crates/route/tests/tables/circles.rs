//! The search for circles is compared with a slow search: every frame of a small model, from port
//! to port, through the real table.

use crate::common;

use cangate_route::*;
use common::{Event, Owned, Rng, decide};
use frame::{CanId, Header, Kind};
use std::collections::HashSet;

const PORTS: u16 = 5;

/// Numbers in routes and changes are below 16; those from 16 on represent all others.
fn frames() -> Vec<Owned> {
    let ids = [0, CanId::EFF_FLAG]
        .into_iter()
        .flat_map(|eff| [0, CanId::RTR_FLAG].map(|rtr| eff | rtr))
        .flat_map(|flags| (0..32).map(move |number| flags | number));
    ids.map(|raw| Owned {
        header: Header::new(Kind::Classic, CanId::from_raw(raw), 0).unwrap(),
        data: Vec::new(),
    })
    .collect()
}

fn id(rng: &mut Rng) -> u32 {
    let flag = |rng: &mut Rng, flag, one_in| if rng.one_in(one_in) { flag } else { 0 };
    let flags = flag(rng, CanId::EFF_FLAG, 3) | flag(rng, CanId::RTR_FLAG, 6);
    rng.below(16) | flags
}

fn filter(rng: &mut Rng) -> IdFilter {
    let first = rng.below(16);
    let set = if rng.one_in(2) {
        IdSet::Range {
            eff: rng.one_in(3),
            first,
            last: first + rng.below(16 - first),
        }
    } else {
        IdSet::Masked {
            id: id(rng),
            mask: rng.pick(&[0xF, 0x7, 0x8000_0003, 0xC000_07FF, 0x4000_0001]),
        }
    };
    IdFilter {
        set,
        inverted: rng.one_in(6),
    }
}

/// `exact`: only changes that work on single bits of the ID.
fn action(rng: &mut Rng, exact: bool) -> Action {
    if !exact && rng.one_in(2) {
        return if rng.one_in(2) {
            Action::OffsetId(OffsetId { by: 1 })
        } else {
            Action::MapId(MapId {
                from: rng.below(8),
                to: rng.below(8),
                count: 4,
                eff: rng.pick(&[None, Some(false), Some(true)]),
            })
        };
    }
    let operand = if rng.one_in(2) {
        IdOperand::Id(CanId::from_raw(id(rng) & !CanId::RTR_FLAG))
    } else {
        IdOperand::Raw(id(rng))
    };
    Action::Modify(Modify {
        op: rng.pick(&[ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set]),
        id: Some(operand),
        len: None,
        flags: None,
        data: None,
    })
}

fn routes(rng: &mut Rng, exact: bool) -> Routes {
    let count = 1 + rng.below(5);
    let routes = (0..count).map(|number| {
        let from = PortId(rng.below(PORTS.into()) as u16);
        let to = PortId(((u32::from(from.0) + 1 + rng.below(4)) % 5) as u16);
        let mut route = Route::new(format!("{number}"), vec![from], vec![to]);
        route.matching.kinds.fd = false;
        route.matching.kinds.xl = false;
        route.matching.ids = (0..rng.below(3)).map(|_| filter(rng)).collect();
        route.matching.rtr = rng.pick(&[
            TriState::Either,
            TriState::Either,
            TriState::Yes,
            TriState::No,
        ]);
        if rng.one_in(8) {
            route.drop = true;
            route.to.clear();
        } else {
            let actions = rng.below(3) / 2 + rng.below(2) / 2;
            route.actions = (0..actions).map(|_| action(rng, exact)).collect();
        }
        route
    });
    let routes = routes.collect();
    Routes {
        mode: rng.pick(&[RouteMode::All, RouteMode::All, RouteMode::First]),
        max_hops: 1,
        routes,
    }
}

/// Finds the routes to which a frame can come back at the same port, by trying every frame.
fn slow(routes: &Routes, hears: &dyn Fn(PortId) -> Vec<PortId>) -> HashSet<(u32, u16)> {
    let table = RoutingTable::compile(routes, PORTS.into()).unwrap();
    let mut memory = table.memory();
    // Returns the result of each route for each frame at each port.
    let mut decide = |port: u16, frame: &Owned| -> Vec<(u32, u16, Owned)> {
        let arrival = FrameArrival {
            from: PortId(port),
            now: 0,
            hops: 0,
        };
        let events = decide(&table, &mut memory, arrival, frame);
        let copies = events.into_iter().filter_map(|event| match event {
            Event::Forward {
                route, to, frame, ..
            } => Some((route, to, frame)),
            _ => None,
        });
        copies.collect()
    };
    let mut back = HashSet::new();
    for port in 0..PORTS {
        for frame in frames() {
            for (start, to, sent) in decide(port, &frame) {
                if back.contains(&(start, port)) {
                    continue;
                }
                let mut seen = HashSet::new();
                let mut open = vec![(to, sent)];
                while let Some((to, sent)) = open.pop() {
                    // An offset of 1 never ends.
                    if sent.header.id().number() >= 64 {
                        continue;
                    }
                    for next in hears(PortId(to)) {
                        if !seen.insert((next.0, sent.header.id().raw())) {
                            continue;
                        }
                        for (route, to, sent) in decide(next.0, &sent) {
                            if (route, next.0) == (start, port) {
                                back.insert((start, port));
                            }
                            open.push((to, sent));
                        }
                    }
                }
            }
        }
    }
    back
}

#[test]
fn every_circle_is_found_and_nothing_else() {
    let mut rng = Rng(11);
    let (mut with, mut without) = (0, 0);
    for case in 0..1500 {
        let exact = case % 3 != 0;
        let routes = routes(&mut rng, exact);
        let on: Vec<u32> = (0..PORTS).map(|_| rng.below(3)).collect();
        let hears = |port: PortId| -> Vec<PortId> {
            let bus = on[usize::from(port.0)];
            let others = (0..PORTS).filter(|other| *other != port.0);
            others
                .filter(|other| on[usize::from(*other)] == bus)
                .map(PortId)
                .collect()
        };
        let slow = slow(&routes, &hears);
        let found = circles(&routes, &hears);
        assert!(!found.incomplete);
        let what = format!("{case}: {slow:?} {found:?}\n{on:?} {:#?}", routes.routes);
        // Each route that leads back is in a circle, or another route of its circle is.
        assert!(slow.is_empty() || !found.circles.is_empty(), "{what}");
        if exact {
            for circle in &found.circles {
                let (route, port) = circle.routes[0];
                assert!(slow.contains(&(route.0, port.0)), "{what}");
            }
        }
        for circle in &found.circles {
            for (at, (route, port)) in circle.routes.iter().enumerate() {
                let (next, next_port) = circle.routes[(at + 1) % circle.routes.len()];
                let route = &routes.routes[route.0 as usize];
                assert!(route.from.contains(port), "{what}");
                assert!(routes.routes[next.0 as usize].from.contains(&next_port));
                let reached = route.to.iter().any(|to| hears(*to).contains(&next_port));
                assert!(reached, "{what}");
            }
        }
        if found.circles.is_empty() {
            without += 1;
        } else {
            with += 1;
        }
    }
    assert!(with > 150 && without > 300, "{with} {without}");
}

/// Two buses with a gateway between them in both directions: a port does not receive the frames
/// that it sends.
#[test]
fn a_gateway_in_both_directions_is_no_circle() {
    let route = |from, to| Route::new("", vec![PortId(from)], vec![PortId(to)]);
    let routes = Routes {
        routes: vec![route(0, 1), route(1, 0)],
        ..Routes::default()
    };
    assert_eq!(circles(&routes, &|_| Vec::new()), CircleSearch::default());
}

#[test]
fn many_routes_are_looked_at_in_a_bounded_time() {
    let mut routes = Routes::default();
    for number in 0..3_000 {
        let mut route = Route::new(
            format!("{number}"),
            vec![PortId(number % 2)],
            vec![PortId(2)],
        );
        route.matching.ids = vec![IdFilter {
            set: IdSet::Range {
                eff: false,
                first: 1,
                last: 1,
            },
            inverted: false,
        }];
        route.actions = vec![Action::OffsetId(OffsetId { by: 1 })];
        route.matching.len = Some((number, number));
        routes.routes.push(route);
    }
    // Nothing leads back: 0 and 1 hear 2, and get no 1 from it.
    for route in &mut routes.routes {
        route.actions = vec![Action::Modify(Modify {
            op: ModifyOp::Or,
            id: Some(IdOperand::Raw(2)),
            len: None,
            flags: None,
            data: None,
        })];
    }
    let hears = |port: PortId| match port.0 {
        2 => vec![PortId(0), PortId(1)],
        _ => Vec::new(),
    };
    let found = circles(&routes, &hears);
    assert!(found.circles.is_empty() && found.incomplete);
}
