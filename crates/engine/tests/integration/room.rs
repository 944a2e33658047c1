//! Ports whose frames can wait: no frame is refused, however slow the destinations are.

use crate::common::{Handle, all, memory_halves, memory_port, route};
use engine::wrap::{QueueOrder, QueueRules, QueuedTransmitter, WhenFull};
use engine::{Engine, Fate, NamedPort, NullTransmitter, Receive, Transmit};
use proptest::prelude::*;
use route::{RouteMode, Routes, RoutingTable};
use std::sync::Arc;

/// An engine whose ports with these numbers can wait.
fn engine(ports: usize, waiting: &[usize], routes: &Routes) -> (Engine, Vec<Handle>) {
    let (named, handles): (Vec<_>, Vec<_>) = (0..ports)
        .map(|i| {
            let (port, handle) = memory_port(&format!("p{i}"));
            handle.inside().can_wait = waiting.contains(&i);
            (port, handle)
        })
        .unzip();
    let table = Arc::new(RoutingTable::compile(routes, ports).unwrap());
    (Engine::new(named, table, routes).unwrap(), handles)
}

#[test]
fn a_port_that_can_wait_is_not_waited_for_while_its_destination_is_full() {
    let (mut engine, ports) = engine(3, &[0], &all(vec![route("r", &[0, 1], &[2])]));
    ports[2].inside().queue = 4;
    ports[2].inside().room = 0;
    ports[0].feed(0..10);
    let step = engine.step(0);
    assert_eq!((step.frames, step.more), (4, false));
    // The other ports are worth waiting for, and room at the destination.
    assert_eq!(engine.receiving().count(), 2);
    assert_eq!(engine.sending().count(), 1);
    // A live port is always asked; frames without room are refused.
    ports[1].feed(100..103);
    assert_eq!(engine.step(1).frames, 3);
    assert_eq!(engine.snapshot().frames(Fate::Refused), 3);
    ports[2].inside().room = 2;
    assert_eq!(engine.step(2).frames, 2, "as many as have left");
    ports[2].inside().room = usize::MAX;
    while engine.step(3).frames > 0 {}
    assert_eq!(ports[2].sent_tokens(), (0..10).collect::<Vec<_>>());
    assert_eq!(engine.receiving().count(), 3);
    engine.snapshot().check().unwrap();
}

#[test]
fn no_port_waits_for_a_destination_that_is_down_or_has_failed() {
    let (mut engine, ports) = engine(2, &[0], &all(vec![route("r", &[0], &[1])]));
    assert!(!engine.leads_nowhere());
    ports[1].inside().queue = 1;
    ports[1].inside().room = 0;
    ports[0].feed(0..8);
    engine.step(0);
    ports[1].inside().down = true;
    assert_eq!(engine.step(1).frames, 7);
    assert_eq!(engine.snapshot().frames(Fate::Undeliverable), 7);
    ports[1].inside().down = false;
    ports[1].inside().flush_fails = true;
    ports[0].feed(8..16);
    while engine.step(2).frames > 0 {}
    assert_eq!(engine.snapshot().frames(Fate::Undeliverable), 15);
    assert!(engine.leads_nowhere());
}

#[test]
fn a_queue_smaller_than_the_copies_of_one_frame_stops_no_other() {
    let routes = all(vec![
        route("a", &[0], &[1]),
        route("b", &[0], &[1]),
        route("c", &[0], &[1]),
    ]);
    let (mut engine, ports) = engine(2, &[0], &routes);
    ports[1].inside().queue = 2;
    ports[0].feed(0..5);
    while engine.step(0).more {}
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    assert_eq!(snapshot.received(), 5);
    assert_eq!(snapshot.port("p1").unwrap().copies.refused, 5);
}

/// An engine from p0 to p1, which takes one frame at a time and has a queue of four in front of it.
fn queued(when_full: WhenFull) -> (Engine, Vec<Handle>) {
    let routes = all(vec![route("r", &[0], &[1])]);
    let (mut source, from) = memory_port("p0");
    source.tx = Box::new(NullTransmitter);
    let (rx, tx, to) = memory_halves();
    (to.inside().queue, to.inside().room) = (1, 0);
    let rules = QueueRules {
        order: QueueOrder::Fifo,
        max_age: None,
        when_full,
        frames: 4,
        longest: 8,
    };
    let sink = NamedPort {
        name: "p1".into(),
        rx: Box::new(rx) as Box<dyn Receive>,
        tx: Box::new(QueuedTransmitter::new(tx, rules)) as Box<dyn Transmit>,
    };
    let table = Arc::new(RoutingTable::compile(&routes, 2).unwrap());
    let engine = Engine::new(vec![source, sink], table, &routes).unwrap();
    (engine, vec![from, to])
}

#[test]
fn a_destination_that_makes_wait_is_waited_for_by_live_ports_too() {
    let (mut engine, ports) = queued(WhenFull::Wait);
    ports[0].feed(0..40);
    while engine.step(0).frames > 0 {}
    // One is in the half, four wait; the others stay where they are.
    assert_eq!(ports[0].inside().incoming.len(), 35);
    assert_eq!(engine.receiving().count(), 1);
    assert_eq!(engine.sending().count(), 1);
    ports[1].inside().room = usize::MAX;
    while engine.step(1).frames > 0 {}
    assert_eq!(ports[1].sent_tokens(), (0..40).collect::<Vec<_>>());
    assert_eq!(engine.receiving().count(), 2);
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    assert!(snapshot.losses().is_none());
}

#[test]
fn without_that_live_ports_wait_for_no_destination() {
    for (when_full, refused, displaced) in
        [(WhenFull::Refuse, 35, 0), (WhenFull::DropOldest, 0, 35)]
    {
        let (mut engine, ports) = queued(when_full);
        ports[0].feed(0..40);
        while engine.step(0).frames > 0 {}
        assert!(ports[0].inside().incoming.is_empty());
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let port = snapshot.port("p1").unwrap();
        assert_eq!(
            (port.copies.refused, port.tx.displaced),
            (refused, displaced)
        );
        assert_eq!(port.tx.held, 5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2000 }))]

    /// For any routes, queues and speeds of the destinations: every frame arrives, in order, as
    /// often as routes lead there, and none is refused.
    #[test]
    fn no_frame_that_can_wait_is_refused(
        routes in prop::collection::vec(prop::collection::vec(1_u16..4, 1..4), 1..6),
        first in any::<bool>(),
        queues in prop::collection::vec(6_usize..100, 3),
        frames in 0_u64..500,
        speeds in prop::collection::vec(prop::collection::vec(0_usize..20, 3), 1..20),
    ) {
        let lists = routes.iter().map(|to| {
            let mut to = to.clone();
            to.sort_unstable();
            to.dedup();
            to
        });
        let lists: Vec<Vec<u16>> = lists.collect();
        let numbered = lists.iter().enumerate();
        let mut routes = all(numbered.map(|(i, to)| route(&format!("r{i}"), &[0], to)).collect());
        if first {
            routes.mode = RouteMode::First;
        }
        let (mut engine, ports) = engine(4, &[0], &routes);
        for (port, queue) in ports[1..].iter().zip(&queues) {
            port.inside().queue = *queue;
        }
        ports[0].inside().ends = true;
        ports[0].feed(0..frames);
        let mut turns = 0;
        for speeds in speeds.iter().cycle() {
            for (port, speed) in ports[1..].iter().zip(speeds) {
                // Not 0 forever.
                port.inside().room = speed + usize::from(turns % 50 == 49);
            }
            let step = engine.step(turns);
            turns += 1;
            prop_assert!(turns < 200_000, "it does not come to its end");
            let over = ports[0].inside().incoming.is_empty();
            if over && step.held == 0 {
                break;
            }
        }
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        prop_assert_eq!(snapshot.received(), u128::from(frames));
        prop_assert_eq!(snapshot.frames(Fate::Routed), u128::from(frames));
        let in_force = if first { &lists[..1] } else { &lists[..] };
        for (number, port) in (1..4).zip(&ports[1..]) {
            let copies = in_force.iter().filter(|to| to.contains(&number)).count();
            let expected = (0..frames).flat_map(|n| std::iter::repeat_n(n, copies));
            prop_assert_eq!(port.sent_tokens(), expected.collect::<Vec<_>>());
        }
    }
}

/// Held frames are not flushed without need: the half that detected their departure reports it, and
/// the step in which it does so asks for the number that is still held.
#[test]
fn a_port_whose_frames_have_left_is_flushed_once_more() {
    let (mut engine, ports) = engine(2, &[], &all(vec![route("r", &[0], &[1])]));
    ports[1].inside().queue = 4;
    ports[1].inside().room = 0;
    ports[0].feed(0..1);
    assert_eq!(engine.step(0).held, 1);
    assert_eq!(ports[1].inside().flushes, 1);
    assert_eq!(engine.step(1).held, 1);
    assert_eq!(ports[1].inside().flushes, 2);
    ports[1].inside().ended = true;
    assert_eq!(engine.step(2).held, 1);
    assert_eq!(ports[1].inside().flushes, 4);
    ports[1].inside().room = usize::MAX;
    assert_eq!(engine.step(3).held, 0);
    // No frame is held any more, whatever the half reports.
    let flushes = ports[1].inside().flushes;
    engine.step(4);
    assert_eq!(ports[1].inside().flushes, flushes);
    engine.snapshot().check().unwrap();
}

/// With a budget of one frame, the port with the first turn sends first.
#[test]
fn who_was_looked_for_has_the_first_turn() {
    let (mut engine, ports) = engine(3, &[], &all(vec![route("r", &[0, 1], &[2])]));
    for (number, name) in [(0_u64, 1_usize), (10, 0), (20, 1), (30, 1)] {
        let mut seen = 0;
        assert!(engine.look_for(|_| {
            seen += 1;
            seen == name + 1
        }));
        ports[0].feed(number..number + 1);
        ports[1].feed(number + 1..number + 2);
        ports[2].inside().sent.clear();
        assert_eq!(engine.step(number).frames, 2);
        let first = number + name as u64;
        assert_eq!(ports[2].sent_tokens().first(), Some(&first));
    }
    assert!(!engine.look_for(|_| false));
}
