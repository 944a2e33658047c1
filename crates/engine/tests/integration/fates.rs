//! The engine with ports in memory: fates, failures, fairness, changes.
//!
//! Each scenario is a test here. `without_os/main.rs` has this file as a module and runs the same
//! scenarios as a program, also where there is no operating system: so only `core`, `alloc` and
//! the crates under test are used.

use crate::common::{all, engine, memory_port, route};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use engine::{
    Accepted, Engine, EngineError, Fate, LinkState, PortEvent, PortState, TransmitRefusal,
};
use frame::{CanId, Frame};
use route::{Action, Modify, ModifyOp, OffsetId, RateLimit, RoutingTable, StopReason};

fn only_fate(engine: &Engine, fate: Fate, frames: u64) {
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    assert_eq!(
        snapshot.frames(fate),
        u128::from(frames),
        "{fate:?} in {snapshot:#?}"
    );
    assert_eq!(snapshot.received(), u128::from(frames));
}

scenarios! {
    fn routed_to_every_destination_with_its_token() {
        let (mut engine, ports) = engine(3, &all(vec![route("r", &[0], &[1, 2])]));
        ports[0].feed(0..100);
        let mut frames = 0;
        while {
            let step = engine.step(5);
            frames += step.frames;
            step.more
        } {}
        assert_eq!(frames, 100);
        only_fate(&engine, Fate::Routed, 100);
        for port in &ports[1..] {
            assert_eq!(port.sent_tokens(), (0..100).collect::<Vec<_>>());
        }
        let snapshot = engine.snapshot();
        let count = snapshot.route("r").unwrap();
        assert_eq!(
            (count.taken, count.copies.offered, count.copies.accepted),
            (100, 200, 200)
        );
        assert_eq!(snapshot.port("p1").unwrap().tx.sent, 100);
    }

    /// Frames of clients have a counter of their own, with which the sums of their port add up.
    fn frames_of_clients_are_counted_apart() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        {
            let mut inside = ports[1].inside();
            inside.queue = 3;
            inside.room = 0;
            inside.classic_only = true;
        }
        ports[0].feed(0..1);
        engine.step(1);
        let id = CanId::sff(0x123).unwrap();
        let classic = Frame::classic(id, &[1, 2]).unwrap();
        let frames = [classic, Frame::fd(id, 0, &[1]).unwrap(), classic, classic];
        let inject = |engine: &mut Engine, port: &str| {
            let mut answers = Vec::new();
            let views = frames.iter().map(Frame::view);
            let there = engine.inject(port, 2, views, |answer| answers.push(answer));
            (there, answers)
        };
        let refused = |why| Err::<Accepted, _>(why);
        let (unsupported, full) = (TransmitRefusal::Unsupported, TransmitRefusal::Full);
        let expected = vec![Ok(Accepted), refused(unsupported), Ok(Accepted), refused(full)];
        assert_eq!(inject(&mut engine, "p1"), (true, expected));
        assert_eq!(inject(&mut engine, "p7"), (false, Vec::new()));
        // The next step passes on what the port holds.
        ports[1].inside().room = 10;
        engine.step(3);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let port = snapshot.port("p1").unwrap();
        assert_eq!((port.injected, port.copies.accepted), (2, 1));
        assert_eq!((port.tx.taken, port.tx.sent), (3, 3));
        // A port that fails at the flush is out of service, and the sums still add up.
        ports[1].inside().flush_fails = true;
        inject(&mut engine, "p1");
        let (_, answers) = inject(&mut engine, "p1");
        assert_eq!(answers, vec![refused(TransmitRefusal::Down); 4]);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let port = snapshot.port("p1").unwrap();
        assert_eq!((port.injected, port.tx.taken, port.tx.lost), (5, 6, 3));
    }

    /// A half can be put around that of a port, and taken away again: the port stays the same.
    fn halves_are_changed_between_two_steps() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        let mut number = 0;
        assert!(engine.change_halves("p0", |_, _| number += 1));
        assert!(!engine.change_halves("p7", |_, _| number += 1));
        assert_eq!(number, 1);
        ports[0].feed(0..1);
        engine.step(1);
        only_fate(&engine, Fate::Routed, 1);
    }

    /// Ports that are known to have no frames are skipped once; others never are.
    fn what_is_not_ready_is_not_asked() {
        let routes = all(vec![route("r", &[0, 1, 2], &[3])]);
        let (mut engine, ports) = engine(4, &routes);
        for (port, token) in [(0, 10), (1, 11), (2, 12)] {
            ports[port].inside().no_deadline = true;
            ports[port].feed(token..token + 1);
        }
        assert_eq!(engine.receiving().count(), 4);
        let mut asked = 0;
        engine.skip_once(|_| {
            asked += 1;
            asked == 1
        });
        assert_eq!(asked, 4);
        assert_eq!(engine.step(0).frames, 2);
        let mut sent = ports[3].sent_tokens();
        sent.sort_unstable();
        assert_eq!(sent, [11, 12]);
        assert_eq!(engine.step(0).frames, 1, "the next step looks again");
        only_fate(&engine, Fate::Routed, 3);
    }

    fn one_flush_for_a_batch() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[0].feed(0..64);
        engine.step(0);
        assert_eq!(ports[1].inside().flushes, 1);
        assert_eq!(
            ports[0].inside().flushes,
            0,
            "a port that was given nothing is left alone"
        );
    }

    fn no_route() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[1], &[0])]));
        ports[0].feed(0..3);
        engine.step(0);
        only_fate(&engine, Fate::NoRoute, 3);
    }

    fn dropped_by_rule() {
        let mut dropping = route("r", &[0], &[]);
        dropping.drop = true;
        let (mut engine, ports) = engine(2, &all(vec![dropping, route("s", &[0], &[1])]));
        ports[0].feed(0..3);
        engine.step(0);
        only_fate(&engine, Fate::Stopped(StopReason::DropRule), 3);
    }

    fn above_the_rate() {
        let mut limited = route("r", &[0], &[1]);
        limited.limit = Some(RateLimit {
            frames: 1,
            per: 1_000_000_000,
            burst: 2,
            per_id: None,
        });
        let (mut engine, ports) = engine(2, &all(vec![limited]));
        ports[0].feed(0..10);
        engine.step(0);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.frames(Fate::Stopped(StopReason::RateLimit)), 8);
        assert_eq!(snapshot.frames(Fate::Routed), 2);
    }

    fn too_many_hops() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        let frame = Frame::classic(CanId::from_raw(1), &[]).unwrap();
        ports[0].inside().incoming.push_back((frame, 1, 0));
        engine.step(0);
        only_fate(&engine, Fate::Stopped(StopReason::HopLimit), 1);
    }

    fn made_too_long() {
        let mut longer = route("r", &[0], &[1]);
        longer.actions = vec![Action::Modify(Modify {
            op: ModifyOp::Set,
            id: None,
            len: Some(16), // 9 to 15 would be raw DLCs of 8 bytes
            flags: None,
            data: None,
        })];
        let (mut engine, ports) = engine(2, &all(vec![longer]));
        ports[0].feed(0..2);
        engine.step(0);
        only_fate(&engine, Fate::Stopped(StopReason::TooLong), 2);
    }

    fn moved_to_an_impossible_id() {
        let mut moved = route("r", &[0], &[1]);
        moved.actions = vec![Action::OffsetId(OffsetId { by: 0x7FF })];
        let (mut engine, ports) = engine(2, &all(vec![moved]));
        ports[0].feed(1..3);
        engine.step(0);
        only_fate(&engine, Fate::Stopped(StopReason::IdRange), 2);
    }

    fn refused_by_a_full_queue() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[1].inside().queue = 0;
        ports[0].feed(0..5);
        engine.step(0);
        only_fate(&engine, Fate::Refused, 5);
    }

    fn undeliverable_to_a_port_that_is_down_or_cannot_carry_it() {
        let (mut engine, ports) = engine(3, &all(vec![route("r", &[0], &[1, 2])]));
        ports[1].inside().down = true;
        ports[2].inside().classic_only = true;
        let fd = Frame::fd(CanId::from_raw(1), 0, &[0; 12]).unwrap();
        ports[0].inside().incoming.push_back((fd, 0, 0));
        engine.step(0);
        only_fate(&engine, Fate::Undeliverable, 1);
        let snapshot = engine.snapshot();
        let (down, classic) = (snapshot.port("p1").unwrap(), snapshot.port("p2").unwrap());
        assert_eq!((down.copies.down, down.state), (1, PortState::Down));
        assert_eq!(
            (classic.copies.unsupported, classic.state),
            (1, PortState::Up)
        );
    }

    fn one_accepted_copy_makes_a_frame_routed() {
        let (mut engine, ports) = engine(
            3,
            &all(vec![route("r", &[0], &[1]), route("s", &[0], &[2])]),
        );
        ports[1].inside().queue = 0;
        ports[0].feed(0..1);
        engine.step(0);
        only_fate(&engine, Fate::Routed, 1);
        assert_eq!(engine.snapshot().route("r").unwrap().copies.refused, 1);
    }

    fn a_port_whose_flush_fails_is_out_of_service_and_the_others_go_on() {
        let (mut engine, ports) = engine(3, &all(vec![route("r", &[0], &[1, 2])]));
        ports[1].inside().room = 0;
        ports[0].feed(0..4);
        engine.step(0);
        ports[1].inside().flush_fails = true;
        engine.step(1);
        ports[0].feed(4..6);
        engine.step(2);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let failed = snapshot.port("p1").unwrap();
        assert_eq!(failed.state, PortState::Failed);
        assert_eq!(failed.tx.lost, 4, "what it held is lost");
        assert_eq!(failed.copies.down, 2);
        assert_eq!(
            snapshot.ports[1].failure.as_deref(),
            Some("the driver is gone")
        );
        assert_eq!(ports[2].sent_tokens().len(), 6);
        assert_eq!(
            ports[1].inside().flushes,
            2,
            "a failed port is not called again"
        );
    }

    fn what_a_port_wants_reported_at_once_is_reported_once() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[0].inside().alarms = vec!["second".into(), "first".into()];
        let reported = |engine: &mut Engine| {
            let mut all = Vec::new();
            engine.events(|event| match event {
                PortEvent::Alarm { port, what } => all.push(format!("{port}: {what}")),
                other => panic!("{other:?}"),
            });
            all
        };
        assert_eq!(reported(&mut engine), ["p0: first", "p0: second"]);
        assert_eq!(reported(&mut engine), [""; 0]);
    }

    /// A port that returns a time for a retry is in service again then, and frames that it could
    /// not take meanwhile are counted.
    fn a_port_that_can_be_tried_again_is_back_in_its_time() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[1].inside().flush_fails = true;
        ports[1].inside().retry_at = Some(10);
        ports[0].feed(0..1);
        engine.step(1);
        let reported = |engine: &mut Engine| {
            let mut all = Vec::new();
            engine.events(|event| all.push(format!("{event:?}")));
            all.join("")
        };
        assert!(reported(&mut engine).contains("Failed"));
        ports[0].feed(1..3);
        let step = engine.step(9);
        assert!(step.deadline.is_some_and(|at| at <= 10) && !step.events);
        assert_eq!(engine.snapshot().port("p1").unwrap().state, PortState::Failed);
        ports[1].inside().flush_fails = false;
        ports[0].feed(3..4);
        assert!(engine.step(10).events);
        assert!(reported(&mut engine).contains("Recovered"));
        assert_eq!(reported(&mut engine), "");
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let port = snapshot.port("p1").unwrap();
        assert_eq!(port.state, PortState::Up);
        assert_eq!(snapshot.ports[1].failure, None);
        assert_eq!((port.copies.down, port.copies.accepted), (2, 2));
        assert!(ports[1].sent_tokens().contains(&3));
    }

    /// A failure is reported once by the engine, and in the step's report.
    fn a_failure_is_reported_once() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        assert!(!engine.step(0).events);
        ports[1].inside().flush_fails = true;
        ports[0].feed(0..1);
        assert!(engine.step(1).events);
        let mut reported = 0;
        for _ in 0..2 {
            engine.events(|event| {
                reported += 1;
                assert_eq!(event, PortEvent::Failed { port: "p1", why: "the driver is gone" });
            });
        }
        assert_eq!(reported, 1);
        assert!(!engine.step(2).events);
    }

    /// Changes of an interface between two calls are one event; a reported change is not reported
    /// again.
    fn a_link_that_changes_is_reported_once_with_its_last_state() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        let reported = |engine: &mut Engine| {
            let mut reported = Vec::new();
            engine.events(|event| match event {
                PortEvent::Link { port, before, now } => reported.push((port.to_owned(), before, now)),
                other => panic!("{other:?}"),
            });
            reported
        };
        let set = |link, news| {
            let mut inside = ports[1].inside();
            (inside.link, inside.news) = (link, news);
        };
        assert_eq!(reported(&mut engine), []);
        set(LinkState::Down, true);
        engine.step(0);
        set(LinkState::BusOff, true);
        assert!(engine.step(1).events);
        set(LinkState::BusOff, false);
        let name = || "p1".to_owned();
        assert_eq!(reported(&mut engine), [(name(), LinkState::Up, LinkState::BusOff)]);
        assert!(!engine.step(2).events);
        set(LinkState::Up, true);
        assert!(engine.step(3).events);
        assert_eq!(reported(&mut engine), [(name(), LinkState::BusOff, LinkState::Up)]);
        assert_eq!(reported(&mut engine), []);
    }

    fn a_port_that_fails_while_receiving_loses_no_frame_that_it_handed_over() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0, 1], &[0, 1])]));
        ports[0].inside().rx_fails = true;
        ports[0].feed(0..4);
        let step = engine.step(0);
        assert_eq!(step.frames, 4);
        assert!(!step.finished);
        ports[1].feed(4..6);
        engine.step(1);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(ports[1].sent_tokens().len(), 4);
        assert_eq!(
            snapshot.port("p0").unwrap().copies.down,
            2,
            "both halves are out of service"
        );
    }

    fn the_end_of_every_input_is_noticed() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[0].inside().ends = true;
        ports[0].feed(0..1);
        assert!(!engine.step(0).finished, "port 1 may still receive");
        ports[1].inside().ends = true;
        let step = engine.step(1);
        assert!(step.finished);
        assert_eq!(step.deadline, None);
        assert_eq!(
            engine.snapshot().port("p0").unwrap().state,
            PortState::Finished
        );
    }

    fn held_frames_are_sent_when_there_is_room() {
        let (mut engine, ports) = engine(2, &all(vec![route("r", &[0], &[1])]));
        ports[1].inside().room = 0;
        ports[0].feed(0..3);
        let step = engine.step(0);
        assert_eq!(step.held, 3);
        assert!(step.deadline.is_some());
        ports[1].inside().room = 2;
        assert_eq!(engine.step(1).held, 1);
        assert_eq!(engine.flush(2).held, 0);
        assert_eq!(ports[1].sent_tokens(), vec![0, 1, 2]);
        only_fate(&engine, Fate::Routed, 3);
    }

    /// A flooded port does not delay another one by more than one budget.
    fn a_flood_on_one_port_leaves_the_others_their_turn() {
        let routes = all(vec![route("r", &[0, 1], &[2])]);
        let (engine, ports) = engine(3, &routes);
        let mut engine = engine.with_budget(8);
        ports[0].feed(0..10_000);
        ports[1].feed(20_000..20_004);
        let step = engine.step(0);
        assert!(step.more);
        assert_eq!(step.frames, 12);
        let sent = ports[2].sent_tokens();
        assert!(sent.contains(&20_003));
        // The port that begins changes.
        ports[1].feed(30_000..30_001);
        engine.step(1);
        assert_eq!(ports[2].sent_tokens()[12], 30_000);
    }

    fn what_does_not_belong_together_is_refused() {
        let routes = all(vec![route("r", &[0], &[1])]);
        let other = all(vec![route("r", &[0], &[1]), route("s", &[0], &[1])]);
        let table = Arc::new(RoutingTable::compile(&routes, 2).unwrap());
        let ports = || {
            (0..2)
                .map(|i| memory_port(&format!("p{i}")).0)
                .collect::<Vec<_>>()
        };
        let error = |result: Result<Engine, EngineError>| result.err().unwrap();
        assert_eq!(
            error(Engine::new(ports(), table.clone(), &other)),
            EngineError::OtherRoutes {
                table: 1,
                routes: 2
            }
        );
        let too_few = vec![memory_port("p0").0];
        assert!(matches!(
            error(Engine::new(too_few, table.clone(), &routes)),
            EngineError::NoSuchPort { port: 1, .. }
        ));
        let twins = vec![memory_port("p").0, memory_port("p").0];
        assert_eq!(
            error(Engine::new(twins, table, &routes)),
            EngineError::NameTwice("p".into())
        );
    }
}
