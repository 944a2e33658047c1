//! Ports of kind `shm`, two of them at one server: every frame has one fate, in any order of
//! events.

use engine::{LinkState, OutgoingFrame, TransmitRefusal};
use frame::{CanId, Frame, Nanos};
use linux::PollSet;
use port::shm::{AttachMode, ShmSettings};
use port::{Halves, PortOpener, PortSettings};
use proptest::prelude::*;
use shm::layout::{LEAST, slots};
use shm::link::ShmServer;
use std::path::Path;
use std::time::Duration;

const BEAT: Nanos = 500_000_000;

fn settings(path: &Path) -> ShmSettings {
    ShmSettings {
        attach: AttachMode::Socket(path.to_owned()),
    }
}

fn open(path: &Path) -> Halves {
    settings(path)
        .open("p", &mut PortOpener::new(0, 0))
        .unwrap()
}

/// Returns the numbers of the frames that have come.
fn receive(halves: &mut Halves, now: Nanos, budget: usize) -> Vec<u32> {
    let mut got = Vec::new();
    let take = &mut |received: port::ReceivedFrame<'_>| got.push(received.frame.id().number());
    halves.0.receive(now, budget, take).unwrap();
    got
}

fn transmit(halves: &mut Halves, number: u32) -> Result<(), TransmitRefusal> {
    let frame = Frame::classic(CanId::eff(number).unwrap(), &[1, 2, 3]).unwrap();
    let outgoing = OutgoingFrame::new(frame.view(), 0);
    halves.1.transmit(0, outgoing).map(drop)
}

/// Returns whether the kernel reports that there is something to do.
fn is_rung(halves: &Halves) -> bool {
    let mut poll = PollSet::default();
    poll.add_fd(halves.0.wait().fd.unwrap(), true, false);
    poll.wait(Some(Duration::ZERO)).unwrap() > 0
}

/// Lets server and ports find one another.
fn join(server: &mut ShmServer, sides: &mut [&mut Halves], now: Nanos) {
    for _ in 0..4 {
        for side in &mut *sides {
            assert_eq!(receive(side, now, 0), [0; 0]);
        }
        server.work();
    }
}

#[test]
fn frames_pass_and_no_side_waits_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let (mut one, mut two) = (open(&path), open(&path));
    assert_eq!(one.0.link(), LinkState::Gone);
    assert_eq!(transmit(&mut one, 1), Err(TransmitRefusal::Down));
    assert_eq!(one.1.room(), usize::MAX, "it is refused for another reason");
    receive(&mut one, 0, 1);
    let again = one.0.deadline().unwrap();
    assert!(again > 0, "it looks for its server from time to time");
    // Ports may be there before their server.
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    join(&mut server, &mut [&mut one, &mut two], again);
    assert!(one.0.is_up() && two.0.is_up());
    assert!(!is_rung(&one) && !is_rung(&two));

    for round in 0..3 {
        for n in 0..5 {
            transmit(&mut one, round * 5 + n).unwrap();
        }
        assert!(!is_rung(&two), "not shown yet");
        let flushed = one.1.flush(again).unwrap();
        assert_eq!((flushed.sent, flushed.held), (5, 5));
        assert!(is_rung(&two));
        let got = receive(&mut two, again, 100);
        assert_eq!(got, Vec::from_iter(round * 5..(round + 1) * 5));
        assert!(!is_rung(&two));
        assert!(
            one.1.deadline().is_some(),
            "it looks whether they were read"
        );
        assert_eq!(one.1.flush(again).unwrap().held, 0);
        assert_eq!(one.1.deadline(), None);
    }
    let c = one.1.counters();
    assert_eq!((c.taken, c.sent, c.lost, c.held), (15, 15, 0, 0));
    // Frames that were there when the budget ended are not forgotten.
    for n in 0..5 {
        transmit(&mut one, n).unwrap();
    }
    one.1.flush(again).unwrap();
    let mut got = Vec::new();
    let report = two
        .0
        .receive(again, 2, &mut |r| got.push(r.frame.id().number()))
        .unwrap();
    assert!(report.more);
    assert_eq!(got, [0, 1]);
}

#[test]
fn a_full_ring_refuses_and_states_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    let (mut one, mut two) = (open(&path), open(&path));
    join(&mut server, &mut [&mut one, &mut two], 0);
    let room = slots(LEAST);
    assert_eq!(one.1.room(), room as usize);
    for n in 0..room {
        transmit(&mut one, n).unwrap();
    }
    assert_eq!(transmit(&mut one, 0), Err(TransmitRefusal::Full));
    assert_eq!((one.1.room(), one.1.counters().stalled), (0, 1));
    receive(&mut one, 0, 1);
    assert!(!is_rung(&one));
    assert_eq!(receive(&mut two, 0, 10).len(), 10);
    assert!(is_rung(&one), "there is room");
    let report = one.0.receive(0, 1, &mut |_| ()).unwrap();
    assert!(report.ended, "held frames have left");
    assert_eq!(one.1.room(), 10);
}

#[test]
fn sides_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    let (mut one, mut two) = (open(&path), open(&path));
    join(&mut server, &mut [&mut one, &mut two], 0);
    transmit(&mut one, 7).unwrap();
    one.1.flush(0).unwrap();
    // An orderly end is noticed at once.
    drop(two);
    assert!(is_rung(&one));
    receive(&mut one, 0, 1);
    assert_eq!(one.0.link(), LinkState::Gone);
    let c = one.1.counters();
    assert_eq!((c.taken, c.sent, c.lost, c.held), (1, 0, 1, 0));
    server.work();
    let mut two = open(&path);
    join(&mut server, &mut [&mut one, &mut two], BEAT / 4);
    assert!(one.0.is_up() && two.0.is_up());
    assert_eq!(one.0.counters().reopened, 1);
    // The server ends: frames still pass. Both return to the next server.
    drop(server);
    receive(&mut one, BEAT / 4, 1);
    receive(&mut two, BEAT / 4, 1);
    transmit(&mut one, 8).unwrap();
    one.1.flush(BEAT / 4).unwrap();
    assert_eq!(receive(&mut two, BEAT / 4, 9), [8]);
    assert!(
        one.0.remarks()[0].contains("has ended"),
        "{:?}",
        one.0.remarks()
    );
    assert!(!is_rung(&one), "an end is no news for ever");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    drop(two);
    let mut two = open(&path);
    receive(&mut one, BEAT / 2, 1);
    join(&mut server, &mut [&mut one, &mut two], BEAT);
    assert!(one.0.is_up() && two.0.is_up());
    transmit(&mut two, 9).unwrap();
    two.1.flush(BEAT).unwrap();
    assert_eq!(receive(&mut one, BEAT, 9), [9]);
    let c = one.1.counters();
    assert_eq!((c.taken, c.sent, c.lost, c.held), (2, 1, 1, 0));
}

#[test]
fn a_third_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    let (mut one, mut two, mut three) = (open(&path), open(&path), open(&path));
    join(&mut server, &mut [&mut one, &mut two, &mut three], 0);
    assert_eq!(three.0.link(), LinkState::Gone);
    let output = three.0.remarks();
    assert!(
        output[0].contains("two peers are connected already"),
        "{output:?}"
    );
    assert_eq!(output.len(), 1, "{output:?}");
    drop(one);
    for n in 1..4 {
        join(&mut server, &mut [&mut two, &mut three], n * BEAT);
    }
    assert!(three.0.is_up(), "a place is free");
}

#[derive(Clone, Debug)]
enum Step {
    Send(bool, u8),
    Flush(bool),
    Receive(bool, u8),
    /// A side ends and comes again.
    Again(bool),
    Serve,
    Pause,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let side = any::<bool>();
    let step = prop_oneof![
        4 => (side, 1..40_u8).prop_map(|(s, n)| Step::Send(s, n)),
        4 => side.prop_map(Step::Flush),
        5 => (side, 0..60_u8).prop_map(|(s, n)| Step::Receive(s, n)),
        1 => side.prop_map(Step::Again),
        3 => Just(Step::Serve),
        2 => Just(Step::Pause),
    ];
    proptest::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_frame_has_one_fate(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        let mut server = ShmServer::bind(&path, LEAST).unwrap();
        let mut sides = [open(&path), open(&path)];
        let mut next = 0;
        let mut last = [None, None];
        let (mut got, mut sent) = (0_u64, 0_u64);
        let mut now = 0;
        for step in steps {
            match step {
                Step::Send(s, n) => for _ in 0..n {
                    match transmit(&mut sides[usize::from(s)], next) {
                        Ok(()) => next += 1,
                        Err(TransmitRefusal::Full) => prop_assert_eq!(sides[usize::from(s)].1.room(), 0),
                        Err(TransmitRefusal::Down) => prop_assert!(!sides[usize::from(s)].0.is_up()),
                        Err(other) => prop_assert!(false, "{:?}", other),
                    }
                },
                Step::Flush(s) => { sides[usize::from(s)].1.flush(now).unwrap(); }
                Step::Receive(s, n) => {
                    let numbers = receive(&mut sides[usize::from(s)], now, n.into());
                    prop_assert!(numbers.len() <= usize::from(n));
                    for number in numbers {
                        prop_assert!(last[usize::from(s)].is_none_or(|last| last < number));
                        last[usize::from(s)] = Some(number);
                        got += 1;
                    }
                }
                Step::Again(s) => {
                    let c = sides[usize::from(s)].1.counters();
                    sent += c.sent;
                    sides[usize::from(s)] = open(&path);
                }
                Step::Serve => { server.work(); }
                Step::Pause => now += BEAT / 3,
            }
            for side in &sides {
                let c = side.1.counters();
                prop_assert_eq!(c.taken, c.sent + c.lost + c.held);
            }
        }
        for _ in 0..4 {
            now += BEAT / 3;
            server.work();
            for side in &mut sides {
                side.1.flush(now).unwrap();
                got += receive(side, now, 1000).len() as u64;
            }
        }
        prop_assert!(sides.iter().all(|side| side.0.is_up()));
        for side in &sides {
            sent += side.1.counters().sent;
            prop_assert_eq!(side.1.counters().held, 0);
        }
        // At most the frames that were received: the other side also counts the frames that a side
        // had read just before it ended, but never more.
        prop_assert!(sent <= got, "{} counted as sent, {} received", sent, got);
    }
}
