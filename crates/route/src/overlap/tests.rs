//! Findings of the search, case by case. `tests/overlap.rs` compares findings with the decisions of
//! the table.

use super::*;
use crate::{
    Action, IdFilter, IdOperand, IdSet, KindSet, Modify, ModifyOp, PayloadPattern, TriState,
};
use alloc::vec;
use frame::CanId;

fn route(from: u16, to: u16, ids: &[(u32, u32)]) -> Route {
    let filter = |&(first, last): &(u32, u32)| IdFilter {
        set: IdSet::Range {
            eff: false,
            first,
            last,
        },
        inverted: false,
    };
    let mut route = Route::new("r", vec![PortId(from)], vec![PortId(to)]);
    route.matching.ids = ids.iter().map(filter).collect();
    route
}

fn dropping(ids: &[(u32, u32)]) -> Route {
    Route {
        drop: true,
        to: vec![],
        ..route(0, 1, ids)
    }
}

fn search(mode: RouteMode, routes: Vec<Route>) -> RouteOverlaps {
    let routes = Routes {
        mode,
        max_hops: 1,
        routes,
    };
    overlaps(&routes, &|port| port)
}

fn pairs(found: &RouteOverlaps) -> Vec<(u32, u32, u32)> {
    let pair = |d: &DoubledRoutes| (d.first.0, d.second.0, d.example);
    found.doubled.iter().map(pair).collect()
}

fn numbers(found: &[UnreachableRoute]) -> Vec<u32> {
    found.iter().map(|one| one.route.0).collect()
}

fn sets_id(mut route: Route) -> Route {
    let id = CanId::sff(0x321).unwrap();
    route.actions = vec![Action::Modify(Modify {
        op: ModifyOp::Set,
        id: Some(IdOperand::Id(id)),
        len: None,
        flags: None,
        data: None,
    })];
    route
}

#[test]
fn everything_beside_a_changed_id_is_sent_twice() {
    let special = || sets_id(route(0, 1, &[(0x123, 0x123)]));
    for routes in [
        vec![route(0, 1, &[]), special()],
        vec![special(), route(0, 1, &[])],
        vec![special(), route(0, 1, &[(0x100, 0x1FF)])],
    ] {
        assert_eq!(
            pairs(&search(RouteMode::All, routes.clone())),
            [(0, 1, 0x123)]
        );
        assert_eq!(search(RouteMode::First, routes).doubled, []);
    }
    // Other buses, other IDs, or frames that an earlier drop takes.
    assert_eq!(
        search(RouteMode::All, vec![route(0, 2, &[]), special()]).doubled,
        []
    );
    let around = route(0, 1, &[(0, 0x122), (0x124, 0x7FF)]);
    assert_eq!(search(RouteMode::All, vec![around, special()]).doubled, []);
    let dropped = vec![special(), dropping(&[(0x123, 0x123)]), route(0, 1, &[])];
    assert_eq!(search(RouteMode::All, dropped).doubled, []);
    // The same filters and different changes: two frames are made from one on purpose.
    let copy = vec![route(0, 1, &[(0x123, 0x123)]), special()];
    assert_eq!(search(RouteMode::All, copy).doubled, []);
    let same = vec![
        route(0, 1, &[(0x123, 0x123)]),
        route(0, 1, &[(0x123, 0x123)]),
    ];
    assert_eq!(pairs(&search(RouteMode::All, same)), [(0, 1, 0x123)]);
}

#[test]
fn two_ports_on_one_bus_are_one_destination() {
    let routes = Routes {
        mode: RouteMode::All,
        max_hops: 1,
        routes: vec![route(0, 1, &[]), route(0, 2, &[(0x10, 0x10)])],
    };
    assert_eq!(overlaps(&routes, &|port| port).doubled, []);
    let one_bus = |port: PortId| PortId(port.0.min(1));
    assert_eq!(pairs(&overlaps(&routes, &one_bus)), [(0, 1, 0x10)]);
}

#[test]
fn conditions_keep_frames_apart() {
    let pattern = |value: u8| PayloadPattern {
        at: 0,
        value: vec![value],
        mask: vec![0xF0],
    };
    let with = |value| {
        let mut route = route(0, 1, &[(1, 1)]);
        route.matching.payload = vec![pattern(value)];
        route
    };
    assert_eq!(
        search(RouteMode::All, vec![with(0x10), with(0x20)]).doubled,
        []
    );
    assert_eq!(
        search(RouteMode::All, vec![with(0x10), with(0x10)])
            .doubled
            .len(),
        1
    );
    let sized = |len| {
        let mut route = route(0, 1, &[(1, 1)]);
        route.matching.len = Some(len);
        route
    };
    assert_eq!(
        search(RouteMode::All, vec![sized((0, 4)), sized((5, 8))]).doubled,
        []
    );
    let found = search(RouteMode::First, vec![sized((0, 8)), sized((5, 8))]);
    assert_eq!(numbers(&found.unreachable), [1]);
    let found = search(RouteMode::First, vec![sized((5, 8)), sized((0, 8))]);
    assert_eq!(found.unreachable, []);
}

#[test]
fn wider_ranges_and_drops_shadow() {
    let narrow = || route(0, 1, &[(0x120, 0x12F)]);
    let found = search(
        RouteMode::First,
        vec![route(0, 2, &[(0x100, 0x1FF)]), narrow()],
    );
    assert_eq!(numbers(&found.unreachable), [1]);
    // Several together.
    let halves = vec![
        route(0, 2, &[(0x100, 0x127)]),
        route(0, 2, &[(0x128, 0x200)]),
        narrow(),
    ];
    let found = search(RouteMode::First, halves);
    let by = vec![RouteId(0), RouteId(1)];
    let route_id = RouteId(2);
    assert_eq!(
        found.unreachable,
        [UnreachableRoute {
            route: route_id,
            by
        }]
    );
    let found = search(RouteMode::All, vec![dropping(&[(0, 0x7FF)]), narrow()]);
    assert_eq!(numbers(&found.unreachable), [1]);
    // In all-match mode a route that sends ends nothing.
    let found = search(
        RouteMode::All,
        vec![route(0, 2, &[(0x100, 0x1FF)]), narrow()],
    );
    assert_eq!(found, RouteOverlaps::default());
    // Other kinds are left.
    let mut classic = dropping(&[]);
    classic.matching.kinds = KindSet {
        classic: true,
        fd: false,
        xl: false,
    };
    assert_eq!(
        search(RouteMode::All, vec![classic, narrow()]).unreachable,
        []
    );
}

#[test]
fn remote_and_data_frames_together_are_all() {
    let with = |rtr| {
        let mut route = dropping(&[]);
        route.matching.rtr = rtr;
        route
    };
    let found = search(
        RouteMode::All,
        vec![with(TriState::Yes), with(TriState::No), route(0, 1, &[])],
    );
    assert_eq!(numbers(&found.unreachable), [2]);
}

#[test]
fn a_drop_behind_what_it_should_stop_is_late() {
    let found = search(
        RouteMode::All,
        vec![route(0, 1, &[]), dropping(&[(0x123, 0x123)])],
    );
    assert_eq!(numbers(&found.late), [1]);
    // It keeps frames from a later route, or takes frames that no route has sent.
    let kept = vec![
        route(0, 1, &[(0x123, 0x123)]),
        dropping(&[(0x123, 0x123)]),
        route(0, 2, &[]),
    ];
    assert_eq!(search(RouteMode::All, kept).late, []);
    let rest = vec![route(0, 1, &[(0x123, 0x123)]), dropping(&[])];
    assert_eq!(search(RouteMode::All, rest).late, []);
}

#[test]
fn very_many_routes_are_compared_in_bounded_steps() {
    let single = |id: u32| route(0, 1, &[(id % 0x800, id % 0x800)]);
    let found = search(RouteMode::First, (0..20_000).map(single).collect());
    assert!(!found.incomplete);
    assert_eq!(found.unreachable.len(), 20_000 - 0x800);
    // Different masks that all intersect.
    let odd = |n: u32| {
        let mut one = dropping(&[]);
        let mask = 0x8000_0000 | (n % 0x7FF);
        one.matching.ids = vec![IdFilter {
            set: IdSet::Masked { id: 0, mask },
            inverted: false,
        }];
        one.matching.len = Some((n as u16 % 9, n as u16 % 9));
        one
    };
    assert!(search(RouteMode::All, (0..20_000).map(odd).collect()).incomplete);
}
