//! The halves over a controller whose events the test determines: every frame has one fate, and
//! frames keep their order.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::driven::{Backend, Lost, Receiver, Rules, Shared, Transmitter};
use crate::sja1000::{Sja1000, Wiring};
use crate::{
    Controller, Event, Failure, Gone, Mode, Properties, Registers, StartError, State, Status, Token,
};
use engine::{Interest, LinkState, Outgoing, Receive, Refused, Transmit, TxCounters};
use frame::{CanId, Frame, FrameRef};
use proptest::prelude::*;
use std::boxed::Box;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

const BUFFERS: usize = 2;
const QUEUE: usize = 3;
const RESTART: u64 = 1000;

/// The state of the controller that the test observes and changes.
#[derive(Default)]
struct Seen {
    buffers: VecDeque<(Token, Frame)>,
    events: VecDeque<Happened>,
    state: State,
    sent: Vec<Frame>,
    restarts: usize,
    dropped: bool,
}

enum Happened {
    Received(Frame),
    Ended(Token, Option<Failure>),
    Overrun(u32),
    Status(State),
}

#[derive(Clone)]
struct Fake(Arc<Mutex<Seen>>, Properties);

impl Controller for Fake {
    fn properties(&self) -> &Properties {
        &self.1
    }
    fn start(&mut self, _: &Mode<'_>) -> Result<(), StartError> {
        Ok(())
    }
    fn stop(&mut self) {}
    fn room(&self) -> usize {
        let seen = self.0.lock().unwrap();
        if seen.state.passes() {
            // A buffer is free when the end of its frame has been reported.
            let ended = |event: &&Happened| matches!(event, Happened::Ended(..));
            let untold = seen.events.iter().filter(ended).count();
            BUFFERS - seen.buffers.len() - untold
        } else {
            0
        }
    }
    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), crate::Refused> {
        let mut seen = self.0.lock().unwrap();
        if !seen.state.passes() {
            return Err(crate::Refused::Down);
        }
        // A buffer is free when the end of its frame has been reported.
        let ended = |event: &&Happened| matches!(event, Happened::Ended(..));
        let untold = seen.events.iter().filter(ended).count();
        if seen.buffers.len() + untold >= BUFFERS {
            return Err(crate::Refused::Full);
        }
        seen.buffers
            .push_back((token, Frame::from_view(frame).unwrap()));
        Ok(())
    }
    fn service(&mut self, budget: usize, tell: &mut dyn FnMut(Event<'_>)) -> Result<bool, Gone> {
        let mut frames = 0;
        loop {
            // Unlocked before the call: `tell` may transmit.
            let next = {
                let mut seen = self.0.lock().unwrap();
                match seen.events.front() {
                    Some(Happened::Received(_)) if frames >= budget => return Ok(true),
                    None => return Ok(false),
                    _ => seen.events.pop_front().unwrap(),
                }
            };
            match next {
                Happened::Received(frame) => {
                    frames += 1;
                    let frame = frame.view();
                    tell(Event::Received { frame, stamp: None });
                }
                Happened::Ended(token, None) => tell(Event::Sent { token, stamp: None }),
                Happened::Ended(token, Some(why)) => tell(Event::Failed { token, why }),
                Happened::Overrun(frames) => tell(Event::Overrun {
                    frames,
                    exact: true,
                }),
                Happened::Status(state) => {
                    let (tec, rec) = (0, 0);
                    tell(Event::Status(Status { state, tec, rec }));
                }
            }
        }
    }
    fn abort(&mut self) {}
    fn interrupts(&mut self, _: bool) {}
    fn restart(&mut self) -> Result<(), StartError> {
        self.0.lock().unwrap().restarts += 1;
        Ok(())
    }
    fn status(&self) -> Status {
        let state = self.0.lock().unwrap().state;
        Status {
            state,
            ..Status::default()
        }
    }
}

impl Backend for Fake {
    fn controller(&mut self) -> &mut dyn Controller {
        self
    }
    fn waits(&self) -> bool {
        false
    }
    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        Ok(true)
    }
    fn arm(&mut self) -> Result<(), Lost> {
        Ok(())
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.0.lock().unwrap().dropped = true;
    }
}

struct Port {
    seen: Arc<Mutex<Seen>>,
    rx: Receiver,
    tx: Transmitter,
    now: u64,
}

/// Registers for properties that are not read from the hardware.
struct Nothing;

impl Registers for Nothing {
    fn read8(&mut self, _: u32) -> u8 {
        0
    }
    fn write8(&mut self, _: u32, _: u8) {}
    fn read32(&mut self, _: u32) -> u32 {
        0
    }
    fn write32(&mut self, _: u32, _: u32) {}
}

impl Port {
    fn open(listen_only: bool) -> Self {
        let seen = Arc::new(Mutex::new(Seen {
            state: State::Active,
            ..Seen::default()
        }));
        let rules = Rules {
            queue: QUEUE,
            listen_only,
            fd: false,
            restart: Some(RESTART),
            interrupts: false,
        };
        let shared = Arc::new(Shared::new("p", rules));
        let wiring = Wiring {
            clock: 8_000_000,
            output: 0,
            clock_divider: 0,
        };
        let properties = Sja1000::new(Nothing, wiring).properties().clone();
        shared.begin(Box::new(Fake(Arc::clone(&seen), properties)));
        Self {
            seen,
            rx: Receiver::new(Arc::clone(&shared)),
            tx: Transmitter::new(shared),
            now: 0,
        }
    }

    fn happen(&self, what: Happened) {
        self.seen.lock().unwrap().events.push_back(what);
    }

    /// Ends the oldest frame on the bus.
    fn end(&self, why: Option<Failure>) {
        let mut seen = self.seen.lock().unwrap();
        if let Some((token, frame)) = seen.buffers.pop_front() {
            if why.is_none() {
                seen.sent.push(frame);
            }
            seen.events.push_back(Happened::Ended(token, why));
        }
    }

    fn state(&self, state: State) {
        let mut seen = self.seen.lock().unwrap();
        if state == State::BusOff {
            while let Some((token, _)) = seen.buffers.pop_front() {
                let why = Some(Failure::BusOff);
                seen.events.push_back(Happened::Ended(token, why));
            }
        }
        seen.state = state;
        seen.events.push_back(Happened::Status(state));
    }

    fn transmit(&mut self, frame: &Frame) -> Result<(), Refused> {
        let outgoing = Outgoing::new(frame.view(), 0);
        self.tx.transmit(self.now, outgoing).map(drop)
    }

    /// Sends each received frame back to the port from which it came, as can-gw's `-i` does.
    fn receive(&mut self, budget: usize) -> (Vec<Frame>, Vec<Frame>) {
        self.now += 10;
        let (mut received, mut accepted) = (Vec::new(), Vec::new());
        let (now, tx) = (self.now, &mut self.tx);
        self.rx
            .receive(now, budget, &mut |frame| {
                received.push(Frame::from_view(frame.frame).unwrap());
                if tx.transmit(now, Outgoing::new(frame.frame, 0)).is_ok() {
                    accepted.push(Frame::from_view(frame.frame).unwrap());
                }
            })
            .unwrap();
        self.tx.flush(now).unwrap();
        (received, accepted)
    }

    fn check(&self) -> TxCounters {
        let tx = self.tx.counters();
        assert_eq!(tx.taken, tx.sent + tx.lost + tx.held, "{tx:?}");
        assert!(tx.held <= (BUFFERS + QUEUE) as u64, "{tx:?}");
        tx
    }
}

fn frame(n: u32) -> Frame {
    Frame::classic(CanId::from_raw(n & 0x7FF), &n.to_be_bytes()).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Transmit,
    Arrive,
    End(bool),
    Receive(usize),
    Flush,
    BusOff,
    Recover,
    Overrun(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Transmit),
        4 => Just(Step::Arrive),
        6 => prop::bool::weighted(0.8).prop_map(Step::End),
        6 => (0..4_usize).prop_map(Step::Receive),
        3 => Just(Step::Flush),
        1 => Just(Step::BusOff),
        2 => Just(Step::Recover),
        1 => (1..9_u32).prop_map(Step::Overrun),
    ]
}

proptest! {
    #[test]
    fn every_frame_has_one_fate(steps in prop::collection::vec(step(), 0..100)) {
        let mut port = Port::open(false);
        let (mut taken, mut arrived, mut came, mut overrun) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (step, n) in steps.iter().zip(0..) {
            match step {
                Step::Transmit => {
                    let room = port.tx.room();
                    match port.transmit(&frame(n)) {
                        Ok(()) => taken.push(frame(n)),
                        Err(_) => prop_assert!(room == 0 || room == usize::MAX || !port.rx.is_up()
                            || !port.seen.lock().unwrap().state.passes()),
                    }
                }
                Step::Arrive => {
                    arrived.push(frame(n));
                    port.happen(Happened::Received(frame(n)));
                }
                Step::End(well) => port.end((!well).then_some(Failure::Error)),
                Step::Receive(budget) => {
                    let (received, accepted) = port.receive(*budget);
                    prop_assert!(received.len() <= *budget);
                    came.extend(received);
                    taken.extend(accepted);
                }
                Step::Flush => {
                    port.now += 2_000_000;
                    port.tx.flush(port.now).unwrap();
                }
                Step::BusOff => port.state(State::BusOff),
                Step::Recover => port.state(State::Active),
                Step::Overrun(lost) => {
                    overrun += u64::from(*lost);
                    port.happen(Happened::Overrun(*lost));
                }
            }
            prop_assert_eq!(port.check().taken, taken.len() as u64);
        }
        // At the end, all frames in flight are sent, and everything that arrived is handed over.
        while port.tx.counters().held > 0 || !port.seen.lock().unwrap().events.is_empty() {
            port.end(None);
            let (received, accepted) = port.receive(8);
            came.extend(received);
            taken.extend(accepted);
            port.check();
        }
        prop_assert_eq!(&came, &arrived);
        prop_assert_eq!(port.rx.counters().overrun, overrun);
        let counters = port.check();
        let sent = port.seen.lock().unwrap().sent.clone();
        prop_assert_eq!(counters.sent, sent.len() as u64);
        // The frames that were sent are in the order in which they were taken.
        let mut rest = taken.iter();
        prop_assert!(sent.iter().all(|frame| rest.any(|taken| taken == frame)));
    }
}

#[test]
fn a_free_buffer_is_filled_at_once_and_what_is_full_refuses() {
    let mut port = Port::open(false);
    for n in 0..(BUFFERS + QUEUE) as u32 {
        port.transmit(&frame(n)).unwrap();
    }
    assert_eq!(
        port.seen.lock().unwrap().buffers.len(),
        BUFFERS,
        "before any flush"
    );
    assert_eq!(port.transmit(&frame(9)), Err(Refused::Full));
    let counters = port.check();
    assert_eq!((counters.held, counters.stalled), (5, QUEUE as u64));
    port.end(None);
    port.receive(1);
    assert_eq!(
        port.seen.lock().unwrap().buffers.len(),
        BUFFERS,
        "the next one moves up"
    );
    assert_eq!((port.check().sent, port.tx.room()), (1, 1));
}

#[test]
fn bus_off_drops_what_waits_and_is_restarted_in_time() {
    let mut port = Port::open(false);
    (0..4).for_each(|n| port.transmit(&frame(n)).unwrap());
    port.state(State::BusOff);
    port.receive(1);
    assert_eq!((port.check().lost, port.rx.link()), (4, LinkState::BusOff));
    assert_eq!(port.transmit(&frame(9)), Err(Refused::Down));
    assert_eq!(port.tx.room(), usize::MAX, "nobody waits for it");
    assert_eq!(port.rx.deadline(), Some(10 + RESTART));
    port.now = RESTART;
    port.receive(1);
    assert_eq!(port.seen.lock().unwrap().restarts, 1);
    port.state(State::Active);
    port.receive(1);
    assert_eq!(
        (port.rx.link(), port.rx.counters().reopened),
        (LinkState::Up, 1)
    );
    port.transmit(&frame(9)).unwrap();
}

#[test]
fn error_frames_are_for_those_who_ask() {
    let mut port = Port::open(true);
    port.happen(Happened::Overrun(2));
    assert!(port.receive(9).0.is_empty());
    assert_eq!(port.rx.counters().error_frames, 1);
    let interest = Interest {
        error_frames: true,
        ..Interest::default()
    };
    port.rx.set_interest(&interest).unwrap();
    port.happen(Happened::Overrun(1));
    let (received, accepted) = port.receive(9);
    assert_eq!(received[0].id().raw(), 0x2000_0004);
    assert!(accepted.is_empty(), "an error frame never goes on the bus");
    assert_eq!(
        port.transmit(&frame(1)),
        Err(Refused::Unsupported),
        "it only listens"
    );
}

#[test]
fn the_controller_is_let_go_with_the_last_half() {
    let Port { seen, rx, tx, .. } = Port::open(false);
    drop(rx);
    assert!(!seen.lock().unwrap().dropped);
    drop(tx);
    assert!(seen.lock().unwrap().dropped);
}
