//! The halves over a driver in memory, which the tests control: every frame has one fate, in any
//! order of events.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::line::DeviceLine;
use super::receive::CharDevReceive;
use super::shared::{Open, SharedDevice};
use super::transmit::{CharDevTransmit, TransmitRules};
use crate::{
    FrameInterest, LinkState, OutgoingFrame, PollReceive, PollTransmit, RawFilter, Receive,
    Transmit, TransmitRefusal,
};
use frame::{CanId, Frame, flags};
use linux::Errno;
use linux::can::layout::{decode, encode};
use linux::chardev::area::{TX_PENDING, at, both, first, second};
use linux::chardev::{AREA, MappedArea, SLOTS};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// `CANCHAR_TX_SENT`, `CANCHAR_TX_FAILED`, `CANCHAR_TX_ABORTED`.
const SENT: u32 = 2;
const FAILED: u32 = 3;
const ABORTED: u32 = 4;

/// One open file of the driver's.
struct FakeDriver {
    area: Vec<AtomicU64>,
    inner: Mutex<DriverState>,
}

#[derive(Default)]
struct DriverState {
    there: bool,
    taken: u32,
    /// Slots of frames that the driver has.
    pending: VecDeque<u32>,
    on_bus: Vec<Frame>,
    rings: usize,
    errors: u32,
    filters: Vec<RawFilter>,
}

impl FakeDriver {
    fn new() -> Self {
        let driver = Self {
            area: (0..AREA / 8).map(|_| AtomicU64::new(0)).collect(),
            inner: Mutex::new(DriverState {
                there: true,
                ..DriverState::default()
            }),
        };
        driver.put(at::STATE, both(1, 1));
        driver
    }

    fn put(&self, at: usize, word: u64) {
        self.area[at / 8].store(word, SeqCst);
    }

    fn word(&self, at: usize) -> u64 {
        self.area[at / 8].load(SeqCst)
    }

    fn state(&self, state: u32) {
        let changes = second(self.word(at::STATE));
        self.put(at::STATE, both(state, changes + 1));
    }

    fn lost(&self, by: u32) {
        let word = self.word(at::RX_LOST);
        self.put(
            at::RX_LOST,
            both(first(word).wrapping_add(by), second(word)),
        );
    }

    /// Delivers a frame from the bus.
    fn deliver(&self, frame: &Frame) -> bool {
        let head = second(self.word(at::RX_HEAD));
        if head.wrapping_sub(first(self.word(at::RX_TAIL))) >= SLOTS {
            self.lost(1);
            return false;
        }
        let slot = at::rx(head);
        let mut bytes = [0; 72];
        let size = encode(frame.view(), &mut bytes).unwrap();
        for (i, chunk) in bytes.chunks(8).enumerate() {
            let word = u64::from_ne_bytes(chunk.try_into().unwrap());
            self.put(slot + at::FRAME + 8 * i, word);
        }
        self.put(slot, 77);
        self.put(slot + at::FLAGS, both(u32::from(size == 72), 0));
        self.put(at::RX_HEAD, both(1, head.wrapping_add(1)));
        true
    }

    /// Ends the transmission of one of its frames.
    fn finish(&self, state: u32) {
        let mut inner = self.inner.lock().unwrap();
        let Some(slot) = inner.pending.pop_front() else {
            return;
        };
        let flags = self.word(at::tx(slot) + at::FLAGS);
        self.put(at::tx(slot) + at::FLAGS, both(first(flags), state));
        let word = self.word(at::TX_SENT);
        let (sent, failed) = (first(word), second(word));
        if state == SENT {
            let size = if first(flags) == 1 { 72 } else { 16 };
            let words = (0..9).map(|i| self.word(at::tx(slot) + at::FRAME + 8 * i));
            let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
            let frame = Frame::from_view(decode(&bytes[..size]).unwrap()).unwrap();
            inner.on_bus.push(frame);
            self.put(at::TX_SENT, both(sent.wrapping_add(1), failed));
        } else {
            self.put(at::TX_SENT, both(sent, failed.wrapping_add(1)));
        }
    }

    fn unplug(&self) {
        while !self.inner.lock().unwrap().pending.is_empty() {
            self.finish(ABORTED);
        }
        self.state(0);
        self.inner.lock().unwrap().there = false;
    }
}

struct FakeHandle(Arc<FakeDriver>);

impl MappedArea for FakeHandle {
    fn get(&self, at: usize) -> u64 {
        self.0.word(at)
    }

    fn set(&self, at: usize, word: u64) {
        self.0.put(at, word);
    }
}

impl DeviceLine for FakeHandle {
    fn ring(&self) -> Result<u64, Errno> {
        let mut inner = self.0.inner.lock().unwrap();
        inner.rings += 1;
        if !inner.there {
            return Err(Errno::NODEV);
        }
        if !(1..=3).contains(&first(self.0.word(at::STATE))) {
            return Err(Errno::NETDOWN);
        }
        let head = first(self.0.word(at::TX_HEAD));
        let mut count = 0;
        while inner.taken != head {
            let slot = at::tx(inner.taken) + at::FLAGS;
            let flags = self.0.word(slot);
            if second(flags) == TX_PENDING {
                break;
            }
            self.0.put(slot, both(first(flags), TX_PENDING));
            let taken = inner.taken;
            inner.pending.push_back(taken);
            inner.taken = taken.wrapping_add(1);
            count += 1;
        }
        Ok(count)
    }

    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno> {
        let mut inner = self.0.inner.lock().unwrap();
        (inner.filters, inner.errors) = (filters.to_vec(), errors);
        Ok(())
    }

    fn is_there(&self) -> bool {
        self.0.inner.lock().unwrap().there
    }

    fn fd(&self) -> RawFd {
        7
    }
}

/// A port, and the driver under it; the port finds the next driver when it opens the device again.
struct DeviceBench {
    driver: Arc<FakeDriver>,
    next: Arc<Mutex<Option<Arc<FakeDriver>>>>,
    rx: CharDevReceive,
    tx: CharDevTransmit,
}

fn bench() -> DeviceBench {
    let driver = Arc::new(FakeDriver::new());
    let next: Arc<Mutex<Option<Arc<FakeDriver>>>> = Arc::default();
    let found = Arc::clone(&next);
    let again: Open = Box::new(move || {
        let driver = found.lock().unwrap().take().ok_or("nothing is there")?;
        Ok(Arc::new(FakeHandle(driver)) as Arc<dyn DeviceLine>)
    });
    let line = Arc::new(FakeHandle(Arc::clone(&driver)));
    let shared = Arc::new(SharedDevice::new("p", "/dev/can0", line, again).unwrap());
    let rules = TransmitRules {
        fd: true,
        listen_only: false,
    };
    DeviceBench {
        driver,
        next,
        rx: CharDevReceive::new(Arc::clone(&shared)),
        tx: CharDevTransmit::new(shared, rules),
    }
}

impl DeviceBench {
    fn receive(&mut self, now: u64) -> Vec<Frame> {
        let mut got = Vec::new();
        let take = &mut |r: crate::ReceivedFrame<'_>| got.push(Frame::from_view(r.frame).unwrap());
        self.rx.receive(now, 64, take).unwrap();
        got
    }

    fn send(&mut self, frame: &Frame) -> Result<(), TransmitRefusal> {
        let outgoing = OutgoingFrame::new(frame.view(), 0);
        self.tx.transmit(0, outgoing).map(drop)
    }

    fn plug(&mut self) {
        self.driver = Arc::new(FakeDriver::new());
        *self.next.lock().unwrap() = Some(Arc::clone(&self.driver));
    }

    fn sums(&self) -> (u64, u64, u64, u64) {
        let c = self.tx.counters();
        (c.taken, c.sent, c.lost, c.held)
    }
}

fn classic(id: u32) -> Frame {
    Frame::classic(CanId::from_raw(id), &[id as u8; 8]).unwrap()
}

#[test]
fn a_batch_is_one_call_and_every_kind_comes_through() {
    let mut b = bench();
    let all = [
        classic(5),
        Frame::fd(CanId::from_raw(0x7FF), flags::BRS, &[9; 64]).unwrap(),
        Frame::remote(CanId::sff(5).unwrap(), 3).unwrap(),
        classic(0x9ABC_DEF0),
    ];
    for frame in &all {
        b.send(frame).unwrap();
    }
    assert_eq!(b.sums(), (4, 0, 0, 4));
    let report = b.tx.flush(5).unwrap();
    assert_eq!((report.sent, report.held), (0, 4));
    assert_eq!(b.driver.inner.lock().unwrap().rings, 1);
    assert_eq!(b.tx.deadline(), Some(1_000_005), "somebody asks after them");
    for _ in 0..3 {
        b.driver.finish(SENT);
    }
    b.driver.finish(FAILED);
    assert_eq!(b.sums(), (4, 3, 1, 0));
    assert_eq!(b.tx.flush(6).unwrap().sent, 3);
    assert_eq!(b.tx.deadline(), None);
    assert_eq!(b.driver.inner.lock().unwrap().on_bus, all[..3]);
    for frame in &all {
        assert!(b.driver.deliver(frame));
    }
    assert_eq!(b.receive(9), all);
    assert!(b.receive(9).is_empty());
}

#[test]
fn a_full_queue_refuses_and_waits_for_room() {
    let mut b = bench();
    for n in 0..SLOTS {
        b.send(&classic(n)).unwrap();
    }
    assert_eq!(b.send(&classic(0)), Err(TransmitRefusal::Full));
    b.tx.flush(0).unwrap();
    assert_eq!(b.send(&classic(0)), Err(TransmitRefusal::Full));
    assert_eq!((b.tx.room(), b.tx.counters().stalled), (0, 2));
    let wait = b.tx.wait();
    assert!(wait.writable && wait.fd == Some(7));
    b.driver.finish(SENT);
    assert_eq!(b.tx.room(), 1);
    assert_eq!(b.tx.wait().fd, None);
    assert_eq!(b.send(&classic(1)), Ok(()));
    for frame in [
        Frame::fd(CanId::from_raw(CanId::ERR_FLAG), 0, &[]).unwrap(),
        Frame::classic(CanId::from_raw(CanId::ERR_FLAG | 4), &[0; 8]).unwrap(),
    ] {
        assert_eq!(b.send(&frame), Err(TransmitRefusal::Unsupported));
    }
}

#[test]
fn what_finds_no_room_is_counted_and_the_rest_comes() {
    let mut b = bench();
    for n in 0..SLOTS + 9 {
        b.driver.deliver(&classic(n));
    }
    b.driver.put(at::OVERRUNS, both(2, 0));
    assert_eq!(b.rx.counters().overrun, 11);
    assert_eq!(b.receive(0).len(), 64);
    assert_eq!(b.rx.counters().overrun, 11);
    // An impossible head costs only the frames behind it.
    b.driver.put(at::RX_HEAD, both(1, 7777));
    assert!(b.receive(0).is_empty());
    assert_eq!(b.rx.counters().malformed, 1);
    b.driver.put(at::rx(7777) + at::FRAME, both(1, 99));
    b.driver.put(at::RX_HEAD, both(1, 7778));
    assert!(b.receive(0).is_empty(), "99 bytes");
    assert_eq!(b.rx.counters().malformed, 2);
}

#[test]
fn states_are_reported_and_error_frames_given_to_those_who_want_them() {
    let mut b = bench();
    let error = Frame::classic(CanId::from_raw(CanId::ERR_FLAG | 4), &[0; 8]).unwrap();
    b.driver.deliver(&error);
    assert!(b.receive(0).is_empty());
    assert_eq!(b.rx.counters().error_frames, 1);
    assert_eq!(b.driver.inner.lock().unwrap().errors, 0x144);
    let interest = FrameInterest {
        error_frames: true,
        ..FrameInterest::default()
    };
    b.rx.set_interest(&interest).unwrap();
    assert_eq!(b.driver.inner.lock().unwrap().errors, 0x1FFF_FFFF);
    b.driver.deliver(&error);
    assert_eq!(b.receive(0), [error]);
    for (state, link) in [
        (2, LinkState::ErrorWarning),
        (3, LinkState::ErrorPassive),
        (4, LinkState::BusOff),
        (0, LinkState::Down),
        (1, LinkState::Up),
        (99, LinkState::Down),
    ] {
        b.driver.state(state);
        let report = b.rx.receive(0, 64, &mut |_| {}).unwrap();
        assert!(report.news);
        assert_eq!(b.rx.link(), link);
        let up = matches!(state, 1..=3);
        assert_eq!((b.rx.is_up(), b.send(&classic(1)).is_ok()), (up, up));
    }
    assert_eq!(b.rx.counters().reopened, 1, "once from stopped to active");
}

#[test]
fn stopped_between_taking_and_telling_is_a_loss() {
    let mut b = bench();
    b.send(&classic(1)).unwrap();
    b.send(&classic(2)).unwrap();
    b.driver.state(4);
    b.tx.flush(0).unwrap();
    assert_eq!(b.sums(), (2, 0, 2, 0));
    b.driver.state(1);
    b.send(&classic(3)).unwrap();
    b.tx.flush(0).unwrap();
    b.driver.finish(SENT);
    assert_eq!(b.sums(), (3, 1, 2, 0));
    assert_eq!(b.driver.inner.lock().unwrap().on_bus, [classic(3)]);
}

#[test]
fn a_driver_that_counts_what_it_does_not_have_is_not_believed() {
    let mut b = bench();
    b.send(&classic(1)).unwrap();
    b.driver.put(at::TX_SENT, both(5, 9));
    assert_eq!(b.sums(), (1, 0, 0, 1), "it was not notified of the frame");
    b.tx.flush(0).unwrap();
    assert_eq!(b.sums(), (1, 1, 0, 0));
    b.send(&classic(2)).unwrap();
    b.tx.flush(0).unwrap();
    b.driver.put(at::TX_SENT, both(5, 200));
    b.send(&classic(3)).unwrap();
    b.driver.state(4);
    b.tx.flush(0).unwrap();
    assert_eq!(b.sums(), (3, 1, 2, 0));
}

#[test]
fn unplugged_and_plugged_in_again() {
    let mut b = bench();
    b.send(&classic(1)).unwrap();
    b.tx.flush(0).unwrap();
    b.send(&classic(2)).unwrap();
    b.driver.unplug();
    let report = b.rx.receive(100, 64, &mut |_| {}).unwrap();
    assert!(report.news);
    assert_eq!(b.rx.link(), LinkState::Gone);
    assert_eq!(b.rx.wait().fd, None);
    assert_eq!(b.send(&classic(3)), Err(TransmitRefusal::Down));
    b.tx.flush(0).unwrap();
    assert_eq!(b.sums(), (2, 0, 2, 0));
    let due = b.rx.deadline().unwrap();
    assert_eq!(due, 20_000_100);
    b.receive(due);
    assert_eq!(b.rx.deadline(), Some(due + 40_000_000), "later and later");
    b.plug();
    let due = b.rx.deadline().unwrap();
    b.receive(due);
    assert_eq!((b.rx.link(), b.rx.deadline()), (LinkState::Up, None));
    assert_eq!(b.rx.counters().reopened, 1);
    let output = b.rx.remarks();
    assert!(
        output[0].contains("is gone") && output[1].contains("is back"),
        "{output:?}"
    );
    b.send(&classic(4)).unwrap();
    b.tx.flush(0).unwrap();
    b.driver.finish(SENT);
    assert_eq!(b.sums(), (3, 1, 2, 0));
    b.driver.deliver(&classic(9));
    assert_eq!(b.receive(due), [classic(9)]);
}

#[derive(Clone, Debug)]
enum TestStep {
    Send(u32),
    Flush,
    Finish(bool),
    Deliver(u32),
    Receive,
    State(u32),
    Unplug,
    Plug,
}

fn step() -> impl Strategy<Value = TestStep> {
    prop_oneof![
        6 => (0..0x800u32).prop_map(TestStep::Send),
        4 => Just(TestStep::Flush),
        4 => any::<bool>().prop_map(TestStep::Finish),
        6 => (0..0x800u32).prop_map(TestStep::Deliver),
        4 => Just(TestStep::Receive),
        1 => (0..6u32).prop_map(TestStep::State),
        1 => Just(TestStep::Unplug),
        1 => Just(TestStep::Plug),
    ]
}

proptest! {
    /// Checks for events in any order: each frame that was taken is sent, lost or held, and each
    /// frame that the driver put into the queue comes out of it once, in order.
    #[test]
    fn every_frame_has_one_fate(steps in prop::collection::vec(step(), 1..400)) {
        let mut b = bench();
        let (mut now, mut taken, mut refused) = (0, 0, 0);
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        for step in steps {
            now += 1_000_000_000;
            match step {
                TestStep::Send(id) => match b.send(&classic(id)) {
                    Ok(()) => taken += 1,
                    Err(_) => refused += 1,
                },
                TestStep::Flush => drop(b.tx.flush(now).unwrap()),
                TestStep::Finish(good) => b.driver.finish(if good { SENT } else { FAILED }),
                TestStep::Deliver(id) => {
                    let there = b.driver.inner.lock().unwrap().there;
                    if there && b.next.lock().unwrap().is_none() && b.driver.deliver(&classic(id)) {
                        expected.push(classic(id));
                    }
                }
                TestStep::Receive => got.extend(b.receive(now)),
                TestStep::State(state) => if b.driver.inner.lock().unwrap().there {
                    b.driver.state(state);
                },
                TestStep::Unplug => {
                    // The waiting frames are read before the device is opened anew.
                    got.extend(b.receive(now));
                    b.driver.unplug();
                    got.extend(b.receive(now));
                }
                TestStep::Plug => if !b.driver.inner.lock().unwrap().there {
                    b.plug();
                },
            }
            let (all, sent, lost, held) = b.sums();
            prop_assert_eq!(all, taken);
            prop_assert_eq!(all, sent + lost + held);
        }
        got.extend(b.receive(now + 1_000_000_000));
        prop_assert_eq!(got, expected);
        let _ = refused;
    }
}
