//! Gateway nodes on embedded buses.

use bus::{
    BusConfig, BusFaults, DropReason, ErrorKind, FaultTime, FrameFault, NodeConfig, NodeEvent,
};
use frame::{CanId, Frame, FrameBuf, Header, Kind, Nanos};
use port::embedded::{BusIndex, BusReceive, BusTransmit, BusWorld, TesterNode, WorldError};
use port::{OutgoingFrame, Receive, RxReport, SourcePace, StampSource, Transmit, TransmitRefusal};
use proptest::prelude::*;

fn frame(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), data).unwrap()
}

fn world(buses: &[&str]) -> BusWorld {
    let world = BusWorld::new();
    for name in buses {
        world.bus(name, BusConfig::classic(500_000)).unwrap();
    }
    world
}

fn tester(world: &BusWorld, bus: usize) -> TesterNode {
    world
        .tester(BusIndex(bus), NodeConfig::new("tester"))
        .unwrap()
}

fn gate(world: &BusWorld, bus: usize) -> (BusReceive, BusTransmit) {
    world
        .attach(BusIndex(bus), NodeConfig::new("gateway"))
        .unwrap()
}

/// Takes all frames that came in: ID, end of frame, tag.
fn take(rx: &mut BusReceive, now: Nanos) -> Vec<(u32, Nanos, u64)> {
    let mut out = Vec::new();
    rx.receive(now, usize::MAX, &mut |r| {
        assert_eq!(r.stamp.source, StampSource::Bus);
        out.push((r.frame.id().number(), r.stamp.ns, r.token));
    })
    .unwrap();
    out
}

/// The frames that were sent on the buses: bus, ID, start, end, tag.
type Sent = Vec<(usize, u32, Nanos, Nanos, u64)>;

/// Runs a gateway that forwards all frames from `rx` to `tx`, to the end of all traffic.
fn forward(world: &BusWorld, rx: &mut BusReceive, tx: &mut BusTransmit) -> Sent {
    let mut sent = Vec::new();
    while let Some(t) = world.next() {
        world.run_until(t, &mut |bus, event| {
            if let NodeEvent::Frame {
                start,
                end,
                tag,
                frame,
                ..
            } = *event
            {
                sent.push((bus.0, frame.id().number(), start, end, tag));
            }
        });
        rx.receive(t, 64, &mut |r| {
            let _ = tx.transmit(t, OutgoingFrame::new(r.frame, r.token));
        })
        .unwrap();
        tx.flush(t).unwrap();
    }
    sent
}

#[test]
fn a_frame_goes_from_bus_to_bus_without_losing_time() {
    let world = world(&["a", "b"]);
    let sender = tester(&world, 0);
    tester(&world, 1);
    let (mut rx, _) = gate(&world, 0);
    let (_, mut tx) = gate(&world, 1);
    let (mine, at) = (frame(0x123, &[]), 1_000);
    world.send(sender, at, &mine, 77).unwrap();
    let sent = forward(&world, &mut rx, &mut tx);
    // 48 bits less 3 of intermission, 2 µs each (facts: 123# has 48 bits).
    let long = 45 * 2_000;
    assert_eq!(
        sent,
        [
            (0, 0x123, at, at + long, 77),
            (1, 0x123, at + long, at + 2 * long, 77),
        ]
    );
    assert_eq!(tx.counters().sent, 1);
}

#[test]
fn an_answer_takes_part_in_the_arbitration_of_its_moment() {
    let world = world(&["a", "b"]);
    let (sender, rival) = (tester(&world, 0), tester(&world, 1));
    let (mut rx, _) = gate(&world, 0);
    let (_, mut tx) = gate(&world, 1);
    world.send(sender, 0, &frame(0x100, &[]), 1).unwrap();
    let end = {
        let twin = self::world(&["a"]);
        let alone = tester(&twin, 0);
        let (mut rx, _) = gate(&twin, 0);
        twin.send(alone, 0, &frame(0x100, &[]), 1).unwrap();
        twin.run_until(1_000_000, &mut |_, _| {});
        take(&mut rx, 0)[0].1
    };
    // A frame of lower priority is ready on the other bus in the same moment.
    world.send(rival, end, &frame(0x200, &[]), 2).unwrap();
    let order: Vec<u32> = forward(&world, &mut rx, &mut tx)
        .iter()
        .filter(|s| s.0 == 1)
        .map(|s| s.1)
        .collect();
    assert_eq!(order, [0x100, 0x200]);
}

#[test]
fn everybody_receives_but_the_sender() {
    let world = world(&["a"]);
    let sender = tester(&world, 0);
    let (mut rx1, mut tx1) = gate(&world, 0);
    let (mut rx2, _tx2) = gate(&world, 0);
    tx1.transmit(0, OutgoingFrame::new(frame(1, &[]).view(), 5))
        .unwrap();
    tx1.flush(0).unwrap();
    world.send(sender, 0, &frame(2, &[]), 6).unwrap();
    world.run_until(1_000_000, &mut |_, _| {});
    let tags = |rx: &mut BusReceive| -> Vec<u64> { take(rx, 0).iter().map(|r| r.2).collect() };
    assert_eq!(tags(&mut rx1), [6]);
    assert_eq!(tags(&mut rx2), [5, 6]);
}

#[test]
fn a_full_fifo_loses_the_newest_and_counts() {
    let world = world(&["a"]);
    let sender = tester(&world, 0);
    let (mut rx, _) = world
        .attach_with_fifo(BusIndex(0), NodeConfig::new("g"), 2)
        .unwrap();
    for id in 0..5 {
        world
            .send(sender, 0, &frame(id, &[]), u64::from(id))
            .unwrap();
    }
    world.run_until(10_000_000, &mut |_, _| {});
    assert_eq!(rx.deadline(), Some(0), "there is something to take");
    assert_eq!(
        rx.receive(0, 1, &mut |_| {}).unwrap(),
        RxReport {
            frames: 1,
            more: true,
            ..RxReport::default()
        }
    );
    assert_eq!(take(&mut rx, 0).len(), 1);
    assert_eq!(rx.counters().overrun, 3);
}

#[test]
fn an_fd_frame_of_ten_bytes_comes_in_with_twelve() {
    let world = world(&[]);
    let fd = world.bus("fd", BusConfig::fd(500_000, 2_000_000)).unwrap();
    let attach = || world.attach(fd, NodeConfig::new("g")).unwrap();
    let ((_, mut tx), (mut rx, _)) = (attach(), attach());
    let ten = Frame::fd(CanId::from_raw(1), 0, &[0x55; 10]).unwrap();
    tx.transmit(0, OutgoingFrame::new(ten.view(), 0)).unwrap();
    tx.flush(0).unwrap();
    world.run_until(1_000_000, &mut |_, _| {});
    let mut came = Vec::new();
    rx.receive(1_000_000, 1, &mut |r| came = r.frame.data().to_vec())
        .unwrap();
    assert_eq!(came, [[0x55; 10].as_slice(), &[0; 2]].concat());
}

#[test]
fn what_a_node_cannot_send_is_refused() {
    let world = world(&["a"]);
    let (_, mut tx) = gate(&world, 0);
    let mut refuse = |frame: frame::FrameRef<'_>| tx.transmit(0, OutgoingFrame::new(frame, 0));
    let fd = Frame::fd(CanId::from_raw(1), 0, &[0; 12]).unwrap();
    let error = Frame::classic(CanId::from_raw(0x2000_0080), &[0; 8]).unwrap();
    let mut xl = FrameBuf::new();
    xl.reset(Header::new(Kind::Xl, CanId::from_raw(1), 1).unwrap());
    for frame in [fd.view(), error.view(), xl.view()] {
        assert_eq!(
            refuse(frame),
            Err(TransmitRefusal::Unsupported),
            "{frame:?}"
        );
    }
    assert!(refuse(frame(1, &[]).view()).is_ok());

    let both = world.bus("fd", BusConfig::fd(500_000, 2_000_000)).unwrap();
    let (_, mut tx) = world.attach(both, NodeConfig::new("g")).unwrap();
    assert!(tx.transmit(0, OutgoingFrame::new(fd.view(), 0)).is_ok());
    let quiet = NodeConfig {
        listen_only: true,
        ..NodeConfig::new("quiet")
    };
    let (_, mut tx) = world.attach(both, quiet).unwrap();
    let refused = tx.transmit(0, OutgoingFrame::new(fd.view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Unsupported));
}

#[test]
fn a_full_queue_refuses_until_a_frame_is_gone() {
    let world = world(&["a"]);
    tester(&world, 0);
    let node = NodeConfig {
        mailboxes: 1,
        queue: 2,
        ..NodeConfig::new("g")
    };
    let (_, mut tx) = world.attach(BusIndex(0), node).unwrap();
    let offer =
        |tx: &mut BusTransmit, now| tx.transmit(now, OutgoingFrame::new(frame(1, &[]).view(), 0));
    for _ in 0..3 {
        assert!(offer(&mut tx, 0).is_ok());
    }
    assert_eq!(offer(&mut tx, 0), Err(TransmitRefusal::Full));
    assert_eq!(tx.flush(0).unwrap().sent, 3);
    assert_eq!(offer(&mut tx, 0), Err(TransmitRefusal::Full));
    world.run_until(100_000, &mut |_, _| {});
    assert!(offer(&mut tx, 100_000).is_ok());
    assert_eq!(offer(&mut tx, 100_000), Err(TransmitRefusal::Full));
    let counters = tx.counters();
    assert_eq!((counters.taken, counters.sent, counters.held), (4, 1, 3));
}

#[test]
fn bus_off_loses_what_is_held_and_refuses_more() {
    let world = world(&["a"]);
    tester(&world, 0);
    let (_, mut tx) = gate(&world, 0);
    for n in 1..=64 {
        let fault = FrameFault::new(ErrorKind::Bit);
        world
            .inject(BusIndex(0), FaultTime::StartOf(tx.node(), n), fault)
            .unwrap();
    }
    for id in 0..5 {
        tx.transmit(0, OutgoingFrame::new(frame(id, &[]).view(), 0))
            .unwrap();
    }
    tx.flush(0).unwrap();
    let mut dropped = 0;
    world.run_until(100_000_000, &mut |_, event| {
        dropped += u64::from(matches!(
            event,
            NodeEvent::Dropped {
                why: DropReason::BusOff,
                ..
            }
        ));
    });
    assert_eq!(dropped, 5);
    assert_eq!(tx.counters().lost, 5);
    let mut offer = |now| tx.transmit(now, OutgoingFrame::new(frame(1, &[]).view(), 0));
    assert_eq!(offer(100_000_000), Err(TransmitRefusal::Down));
    let node = tx.node();
    world.restart(BusIndex(0), node).unwrap();
    world.run_until(200_000_000, &mut |_, _| {});
    let mut offer = |now| tx.transmit(now, OutgoingFrame::new(frame(1, &[]).view(), 0));
    assert!(offer(200_000_000).is_ok());
}

#[test]
fn mistakes_are_named() {
    let world = world(&["a"]);
    let again = world.bus("a", BusConfig::classic(500_000));
    assert_eq!(again, Err(WorldError::NameTaken("a".into())));
    let slow = world.bus("slow", BusConfig::classic(1)).unwrap_err();
    assert!(slow.to_string().starts_with("bus \"slow\": "), "{slow}");
    assert_eq!(world.find("a"), Some(BusIndex(0)));
    assert_eq!(world.find("slow"), None);
    assert!(world.tester(BusIndex(9), NodeConfig::new("t")).is_err());
    let (rx, _) = gate(&world, 0);
    let stolen = TesterNode {
        bus: BusIndex(0),
        node: rx.node(),
    };
    let refused = world.send(stolen, 0, &frame(1, &[]), 0);
    assert!(refused.is_err(), "a gateway's node is not a tester's");
}

#[test]
fn paced_by_a_clock() {
    let world = world(&["a"]);
    let sender = tester(&world, 0);
    let (mut rx, mut tx) = gate(&world, 0);
    let start = 5_000_000_000;
    world.pace(SourcePace::real_time(start, 0));
    world.send(sender, 1_000_000, &frame(1, &[]), 9).unwrap();
    assert!(take(&mut rx, start).is_empty());
    let mut now = start;
    for _ in 0..10 {
        let Some(due) = rx.deadline() else { break };
        assert!(due >= now);
        now = due;
        if let [(1, end, 9)] = take(&mut rx, now)[..] {
            assert_eq!(start + end, now, "taken at the end of frame");
            tx.transmit(now, OutgoingFrame::new(frame(3, &[]).view(), 0))
                .unwrap();
            tx.flush(now).unwrap();
        }
    }
    assert_eq!(tx.counters().sent, 1);
}

#[derive(Clone, Debug)]
enum Op {
    Offer(u32, usize),
    Flush,
    Run(Nanos),
    Restart,
    Rival(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u32..0x800, 0usize..9).prop_map(|(id, n)| Op::Offer(id, n)),
        3 => Just(Op::Flush),
        3 => (0u64..2_000_000).prop_map(Op::Run),
        1 => Just(Op::Restart),
        1 => (0u32..0x800).prop_map(Op::Rival),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Checks that taken = sent + lost + held after every step, that each part agrees with the
    /// bus's own events, and that nothing is held in the end.
    #[test]
    fn every_frame_taken_has_one_fate(
        ops in prop::collection::vec(op(), 1..120),
        seed in any::<u64>(), per_frame in prop_oneof![Just(0.0), Just(0.3), Just(0.9)],
        one_shot in any::<bool>(), queue in 0usize..6, mailboxes in 1u8..4,
        restart in prop_oneof![Just(None), Just(Some(1_000_000))],
    ) {
        let world = BusWorld::new();
        let faults = BusFaults { per_frame, ..BusFaults::default() };
        let config = BusConfig { seed, faults, ..BusConfig::classic(1_000_000) };
        let bus = world.bus("a", config).unwrap();
        let rival = tester(&world, 0);
        let node = NodeConfig { one_shot, queue, mailboxes, restart, ..NodeConfig::new("g") };
        let (_rx, mut tx) = world.attach(bus, node).unwrap();
        let id = tx.node();
        let (mut now, mut accepted, mut sent, mut dropped) = (0, 0, 0, 0);
        let run = |t, sent: &mut u64, dropped: &mut u64| world.run_until(t, &mut |_, event| {
            match event {
                NodeEvent::Frame { node, .. } if *node == id => *sent += 1,
                NodeEvent::Dropped { node, .. } if *node == id => *dropped += 1,
                _ => {}
            }
        });
        let mut unflushed = 0;
        for op in ops {
            match op {
                Op::Offer(number, n) => {
                    let frame = frame(number, &[0x55; 8][..n]);
                    if tx.transmit(now, OutgoingFrame::new(frame.view(), 0)).is_ok() {
                        accepted += 1;
                        unflushed += 1;
                    }
                }
                Op::Flush => unflushed = tx.flush(now).unwrap().held as u64,
                Op::Run(by) => {
                    now += by;
                    run(now, &mut sent, &mut dropped);
                }
                Op::Restart => world.restart(bus, id).unwrap(),
                Op::Rival(number) => { let _ = world.send(rival, now, &frame(number, &[]), 0); }
            }
            let counters = tx.counters();
            prop_assert_eq!(counters.taken, accepted);
            prop_assert_eq!(counters.taken, counters.sent + counters.lost + counters.held);
            prop_assert_eq!(counters.sent, sent);
            prop_assert!(counters.lost >= dropped);
            let inside = world.with_bus(bus, |b| {
                let state = b.node_state(id).unwrap();
                (state.queued + state.mailboxes_used + state.scheduled) as u64
            }).unwrap();
            prop_assert_eq!(counters.held, inside + unflushed);
        }
        // Run to the end: the node comes back as often as it has to.
        for _ in 0..10_000 {
            if tx.counters().held == 0 {
                break;
            }
            tx.flush(now).unwrap();
            world.restart(bus, id).unwrap();
            now += 10_000_000;
            run(now, &mut sent, &mut dropped);
        }
        prop_assert_eq!(tx.counters().held, 0);
    }
}
