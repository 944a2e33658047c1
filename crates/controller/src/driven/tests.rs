//! The halves over a controller whose events the test determines: every frame has one fate, and
//! frames keep their order.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::driven::{
    ControllerBackend, DrivenPort, DrivenReceiver, DrivenRules, DrivenTransmitter, Lost,
};
use crate::sja1000::{ChipWiring, Sja1000};
use crate::{
    Controller, ControllerEvent, ControllerGone, ErrorState, ErrorStatus, Properties, Registers,
    StartError, StartMode, Token, TransmitFailure,
};
use engine::{
    FrameInterest, LinkState, OutgoingFrame, Receive, Transmit, TransmitRefusal, TxCounters,
};
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
struct SeenState {
    buffers: VecDeque<(Token, Frame)>,
    events: VecDeque<TestEvent>,
    state: Option<ErrorState>,
    sent: Vec<Frame>,
    restarts: usize,
    dropped: bool,
}

enum TestEvent {
    Received(Frame),
    Ended(Token, Option<TransmitFailure>),
    Overrun(u32),
    Status(Option<ErrorState>),
}

#[derive(Clone)]
struct FakeController(Arc<Mutex<SeenState>>, Properties);

impl Controller for FakeController {
    fn properties(&self) -> &Properties {
        &self.1
    }
    fn start(&mut self, _: &StartMode<'_>) -> Result<(), StartError> {
        Ok(())
    }
    fn stop(&mut self) {}
    fn room(&self) -> usize {
        let seen = self.0.lock().unwrap();
        if seen.state.is_some_and(ErrorState::is_on_bus) {
            // A buffer is free when the end of its frame has been reported.
            let ended = |event: &&TestEvent| matches!(event, TestEvent::Ended(..));
            let untold = seen.events.iter().filter(ended).count();
            BUFFERS - seen.buffers.len() - untold
        } else {
            0
        }
    }
    fn transmit(
        &mut self,
        frame: FrameRef<'_>,
        token: Token,
    ) -> Result<(), crate::ControllerRefusal> {
        let mut seen = self.0.lock().unwrap();
        if !seen.state.is_some_and(ErrorState::is_on_bus) {
            return Err(crate::ControllerRefusal::Down);
        }
        // A buffer is free when the end of its frame has been reported.
        let ended = |event: &&TestEvent| matches!(event, TestEvent::Ended(..));
        let untold = seen.events.iter().filter(ended).count();
        if seen.buffers.len() + untold >= BUFFERS {
            return Err(crate::ControllerRefusal::Full);
        }
        seen.buffers
            .push_back((token, Frame::from_view(frame).unwrap()));
        Ok(())
    }
    fn service(
        &mut self,
        budget: usize,
        report: &mut dyn FnMut(ControllerEvent<'_>),
    ) -> Result<bool, ControllerGone> {
        let mut frames = 0;
        loop {
            // Unlocked before the call: `tell` may transmit.
            let next = {
                let mut seen = self.0.lock().unwrap();
                match seen.events.front() {
                    Some(TestEvent::Received(_)) if frames >= budget => return Ok(true),
                    None => return Ok(false),
                    _ => seen.events.pop_front().unwrap(),
                }
            };
            match next {
                TestEvent::Received(frame) => {
                    frames += 1;
                    let frame = frame.view();
                    report(ControllerEvent::Received { frame, stamp: None });
                }
                TestEvent::Ended(token, None) => {
                    report(ControllerEvent::Sent { token, stamp: None });
                }
                TestEvent::Ended(token, Some(why)) => {
                    report(ControllerEvent::Failed { token, why });
                }
                TestEvent::Overrun(frames) => report(ControllerEvent::Overrun {
                    frames,
                    exact: true,
                }),
                TestEvent::Status(state) => {
                    let (tec, rec) = (0, 0);
                    report(ControllerEvent::Status(ErrorStatus { state, tec, rec }));
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
    fn status(&self) -> ErrorStatus {
        let state = self.0.lock().unwrap().state;
        ErrorStatus {
            state,
            ..ErrorStatus::default()
        }
    }
}

impl ControllerBackend for FakeController {
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

impl Drop for FakeController {
    fn drop(&mut self) {
        self.0.lock().unwrap().dropped = true;
    }
}

struct TestPort {
    seen: Arc<Mutex<SeenState>>,
    rx: DrivenReceiver,
    tx: DrivenTransmitter,
    now: u64,
}

/// Registers for properties that are not read from the hardware.
struct UnusedController;

impl Registers for UnusedController {
    fn read8(&mut self, _: u32) -> u8 {
        0
    }
    fn write8(&mut self, _: u32, _: u8) {}
    fn read32(&mut self, _: u32) -> u32 {
        0
    }
    fn write32(&mut self, _: u32, _: u32) {}
}

impl TestPort {
    fn open(listen_only: bool) -> Self {
        let seen = Arc::new(Mutex::new(SeenState {
            state: Some(ErrorState::Active),
            ..SeenState::default()
        }));
        let rules = DrivenRules {
            queue: QUEUE,
            listen_only,
            fd: false,
            restart: Some(RESTART),
            interrupts: false,
        };
        let shared = Arc::new(DrivenPort::new("p", rules));
        let wiring = ChipWiring {
            clock: 8_000_000,
            output: 0,
            clock_divider: 0,
        };
        let properties = Sja1000::new(UnusedController, wiring).properties().clone();
        shared.begin(Box::new(FakeController(Arc::clone(&seen), properties)));
        Self {
            seen,
            rx: DrivenReceiver::new(Arc::clone(&shared)),
            tx: DrivenTransmitter::new(shared),
            now: 0,
        }
    }

    fn happen(&self, what: TestEvent) {
        self.seen.lock().unwrap().events.push_back(what);
    }

    /// Ends the oldest frame on the bus.
    fn end(&self, why: Option<TransmitFailure>) {
        let mut seen = self.seen.lock().unwrap();
        if let Some((token, frame)) = seen.buffers.pop_front() {
            if why.is_none() {
                seen.sent.push(frame);
            }
            seen.events.push_back(TestEvent::Ended(token, why));
        }
    }

    fn state(&self, state: Option<ErrorState>) {
        let mut seen = self.seen.lock().unwrap();
        if state == Some(ErrorState::BusOff) {
            while let Some((token, _)) = seen.buffers.pop_front() {
                let why = Some(TransmitFailure::BusOff);
                seen.events.push_back(TestEvent::Ended(token, why));
            }
        }
        seen.state = state;
        seen.events.push_back(TestEvent::Status(state));
    }

    fn transmit(&mut self, frame: &Frame) -> Result<(), TransmitRefusal> {
        let outgoing = OutgoingFrame::new(frame.view(), 0);
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
                if tx.transmit(now, OutgoingFrame::new(frame.frame, 0)).is_ok() {
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
enum TestStep {
    Transmit,
    Arrive,
    End(bool),
    Receive(usize),
    Flush,
    BusOff,
    Recover,
    Overrun(u32),
}

fn step() -> impl Strategy<Value = TestStep> {
    prop_oneof![
        6 => Just(TestStep::Transmit),
        4 => Just(TestStep::Arrive),
        6 => prop::bool::weighted(0.8).prop_map(TestStep::End),
        6 => (0..4_usize).prop_map(TestStep::Receive),
        3 => Just(TestStep::Flush),
        1 => Just(TestStep::BusOff),
        2 => Just(TestStep::Recover),
        1 => (1..9_u32).prop_map(TestStep::Overrun),
    ]
}

proptest! {
    #[test]
    fn every_frame_has_one_fate(steps in prop::collection::vec(step(), 0..100)) {
        let mut port = TestPort::open(false);
        let (mut taken, mut arrived, mut came, mut overrun) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (step, n) in steps.iter().zip(0..) {
            match step {
                TestStep::Transmit => {
                    let room = port.tx.room();
                    match port.transmit(&frame(n)) {
                        Ok(()) => taken.push(frame(n)),
                        Err(_) => prop_assert!(room == 0 || room == usize::MAX || !port.rx.is_up()
                            || !port.seen.lock().unwrap().state.is_some_and(ErrorState::is_on_bus)),
                    }
                }
                TestStep::Arrive => {
                    arrived.push(frame(n));
                    port.happen(TestEvent::Received(frame(n)));
                }
                TestStep::End(well) => port.end((!well).then_some(TransmitFailure::Error)),
                TestStep::Receive(budget) => {
                    let (received, accepted) = port.receive(*budget);
                    prop_assert!(received.len() <= *budget);
                    came.extend(received);
                    taken.extend(accepted);
                }
                TestStep::Flush => {
                    port.now += 2_000_000;
                    port.tx.flush(port.now).unwrap();
                }
                TestStep::BusOff => port.state(Some(ErrorState::BusOff)),
                TestStep::Recover => port.state(Some(ErrorState::Active)),
                TestStep::Overrun(lost) => {
                    overrun += u64::from(*lost);
                    port.happen(TestEvent::Overrun(*lost));
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
    let mut port = TestPort::open(false);
    for n in 0..(BUFFERS + QUEUE) as u32 {
        port.transmit(&frame(n)).unwrap();
    }
    assert_eq!(
        port.seen.lock().unwrap().buffers.len(),
        BUFFERS,
        "before any flush"
    );
    assert_eq!(port.transmit(&frame(9)), Err(TransmitRefusal::Full));
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
    let mut port = TestPort::open(false);
    (0..4).for_each(|n| port.transmit(&frame(n)).unwrap());
    port.state(Some(ErrorState::BusOff));
    port.receive(1);
    assert_eq!((port.check().lost, port.rx.link()), (4, LinkState::BusOff));
    assert_eq!(port.transmit(&frame(9)), Err(TransmitRefusal::Down));
    assert_eq!(port.tx.room(), usize::MAX, "no frame waits for it");
    assert_eq!(port.rx.deadline(), Some(10 + RESTART));
    port.now = RESTART;
    port.receive(1);
    assert_eq!(port.seen.lock().unwrap().restarts, 1);
    port.state(Some(ErrorState::Active));
    port.receive(1);
    assert_eq!(
        (port.rx.link(), port.rx.counters().reopened),
        (LinkState::Up, 1)
    );
    port.transmit(&frame(9)).unwrap();
}

#[test]
fn error_frames_are_for_those_who_ask() {
    let mut port = TestPort::open(true);
    port.happen(TestEvent::Overrun(2));
    assert!(port.receive(9).0.is_empty());
    assert_eq!(port.rx.counters().error_frames, 1);
    let interest = FrameInterest {
        error_frames: true,
        ..FrameInterest::default()
    };
    port.rx.set_interest(&interest).unwrap();
    port.happen(TestEvent::Overrun(1));
    let (received, accepted) = port.receive(9);
    assert_eq!(received[0].id().raw(), 0x2000_0004);
    assert!(accepted.is_empty(), "an error frame never goes on the bus");
    assert_eq!(
        port.transmit(&frame(1)),
        Err(TransmitRefusal::Unsupported),
        "it only listens"
    );
}

#[test]
fn the_controller_is_let_go_with_the_last_half() {
    let TestPort { seen, rx, tx, .. } = TestPort::open(false);
    drop(rx);
    assert!(!seen.lock().unwrap().dropped);
    drop(tx);
    assert!(seen.lock().unwrap().dropped);
}
