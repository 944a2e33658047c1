//! The halves over a pair of Unix datagram sockets instead of a raw CAN socket: the same system
//! calls and buffers, and an interface that does what the test says.

use super::config::{ReceiveBy, TransmitBy};
use super::line::Line;
use super::open::words;
use super::receive::RawReceive;
use super::receive::mmsg::{ByRecvmmsg, Lost};
use super::receive::read::ByRead;
use super::shared::Shared;
use super::transmit::RawTransmit;
use super::transmit::slots::{FromSlots, Loopback};
use super::way::{Arrival, Brought, ReceiveWay, TransmitWay};
use crate::LinkState;
use crate::{Ids, Interest, Outgoing, PollReceive, PollTransmit, RawFilter, Received, Refused};
use frame::{CanId, Frame, FrameBuf, Header, Kind, Nanos, flags};
use linux::Errno;
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE, decode, encode};
use linux::can::{InterfaceState, Obstacle, OpenError, error_class};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

const UP: InterfaceState = InterfaceState {
    index: 4,
    mtu: FD_SIZE,
    up: true,
    running: true,
    echo: true,
};

/// Another socket, and an interface of paper.
struct Fake {
    socket: UnixDatagram,
    link: Mutex<Result<InterfaceState, Errno>>,
    /// What the next calls fail with.
    receive_errors: Mutex<VecDeque<Errno>>,
    send_errors: Mutex<VecDeque<Option<Errno>>>,
    /// What was asked of it.
    calls: Mutex<Vec<String>>,
    /// What the kernel says that it lost.
    lost: Mutex<Option<u32>>,
}

impl Fake {
    fn called(&self, what: String) {
        self.calls.lock().unwrap().push(what);
    }
}

/// What the halves have of it.
#[derive(Clone)]
struct End(Arc<Fake>);

impl Line for End {
    fn look(&self) -> Result<InterfaceState, Errno> {
        *self.0.link.lock().unwrap()
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        self.0.called(format!("attach {index}"));
        Ok(())
    }

    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno> {
        self.0.called(format!("{} filters", filters.len()));
        Ok(())
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.socket.as_fd()
    }
}

impl AsRawFd for End {
    fn as_raw_fd(&self) -> RawFd {
        self.0.socket.as_raw_fd()
    }
}

impl Lost for End {
    fn lost(&self) -> Option<u32> {
        *self.0.lost.lock().unwrap()
    }
}

impl Loopback for End {
    fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        self.0.called(format!("loopback {on}"));
        Ok(())
    }
}

/// A way whose calls fail where the test says so.
struct Failing<W> {
    way: W,
    fake: Arc<Fake>,
}

impl<W: ReceiveWay> ReceiveWay for Failing<W> {
    fn fd(&self) -> RawFd {
        self.way.fd()
    }

    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<Brought, Errno> {
        match self.fake.receive_errors.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => self.way.receive(want, take),
        }
    }

    fn lost(&self) -> Option<u32> {
        self.way.lost()
    }
}

impl<W: TransmitWay> TransmitWay for Failing<W> {
    fn fd(&self) -> RawFd {
        self.way.fd()
    }

    fn slots(&self) -> usize {
        self.way.slots()
    }

    fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        self.way.slot(i)
    }

    fn set_loopback(&mut self, on: bool) -> Result<(), Errno> {
        self.way.set_loopback(on)
    }

    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        match self.fake.send_errors.lock().unwrap().pop_front().flatten() {
            Some(error) => Err(error),
            None => self.way.send(first, count),
        }
    }
}

struct Bench {
    fake: Arc<Fake>,
    rx: Box<dyn PollReceive>,
    tx: Box<dyn PollTransmit>,
    /// The other end: what the bus would be.
    bus: UnixDatagram,
}

fn bench_with(queue: usize, link: InterfaceState) -> Bench {
    bench_by((ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg), queue, link)
}

fn bench_by(by: (ReceiveBy, TransmitBy), queue: usize, link: InterfaceState) -> Bench {
    let (socket, bus) = UnixDatagram::pair().unwrap();
    // As every CAN socket of the port.
    socket.set_nonblocking(true).unwrap();
    bus.set_nonblocking(true).unwrap();
    let fake = Arc::new(Fake {
        socket,
        link: Mutex::new(Ok(link)),
        receive_errors: Mutex::default(),
        send_errors: Mutex::default(),
        calls: Mutex::default(),
        lost: Mutex::default(),
    });
    let end = End(Arc::clone(&fake));
    let shared = Shared::attach(end.clone(), "engine", "can7", Vec::new()).unwrap();
    let shared = Arc::new(shared);
    let rx: Box<dyn PollReceive> = match by.0 {
        ReceiveBy::Recvmmsg => receiving(&fake, &shared, ByRecvmmsg::new(end.clone(), XL_SIZE)),
        _ => receiving(&fake, &shared, ByRead::new(end.clone(), XL_SIZE, false)),
    };
    let way = Failing {
        way: FromSlots::new(end, queue, XL_SIZE, by.1 == TransmitBy::Write),
        fake: Arc::clone(&fake),
    };
    Bench {
        rx,
        tx: Box::new(RawTransmit::new(shared, way, queue, true, true)),
        fake,
        bus,
    }
}

fn receiving(
    fake: &Arc<Fake>,
    shared: &Arc<Shared>,
    way: impl ReceiveWay + 'static,
) -> Box<dyn PollReceive> {
    let fake = Arc::clone(fake);
    let way = Failing { way, fake };
    Box::new(RawReceive::new(Arc::clone(shared), way, false))
}

fn bench() -> Bench {
    bench_with(8, UP)
}

fn classic(id: u32) -> Frame {
    Frame::classic(CanId::from_raw(id), &id.to_be_bytes()).unwrap()
}

impl Bench {
    /// A frame comes from the bus.
    fn come(&self, frame: &Frame) {
        let mut bytes = [0; FD_SIZE];
        let n = encode(frame.view(), &mut bytes).unwrap();
        self.bus.send(&bytes[..n]).unwrap();
    }

    fn take(&mut self, now: Nanos) -> Vec<String> {
        let mut got = Vec::new();
        let mut keep = |r: Received<'_>| got.push(r.frame.to_string());
        self.rx.receive(now, 100, &mut keep).unwrap();
        got
    }

    fn offer(&mut self, now: Nanos, id: u32) -> Result<crate::Accepted, Refused> {
        self.tx.transmit(now, Outgoing::new(classic(id).view(), 0))
    }

    /// What went out to the bus.
    fn sent(&self) -> Vec<String> {
        let mut bytes = [0; XL_SIZE];
        let mut out = Vec::new();
        while let Ok(n) = self.bus.recv(&mut bytes) {
            out.push(decode(&bytes[..n]).unwrap().to_string());
        }
        out
    }

    fn line(&self) -> &Fake {
        &self.fake
    }

    fn set_link(&self, link: Result<InterfaceState, Errno>) {
        *self.line().link.lock().unwrap() = link;
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.line().calls.lock().unwrap())
    }
}

#[test]
fn frames_of_every_kind_come_and_go() {
    for receive in [ReceiveBy::Recvmmsg, ReceiveBy::Read] {
        for transmit in [TransmitBy::Sendmmsg, TransmitBy::Write] {
            every_kind_by((receive, transmit));
        }
    }
}

fn every_kind_by(by: (ReceiveBy, TransmitBy)) {
    let link = InterfaceState { mtu: XL_SIZE, ..UP };
    let mut bench = bench_by(by, 8, link);
    let fd = Frame::fd(CanId::eff(5).unwrap(), flags::BRS, &[7; 24]).unwrap();
    let mut xl = FrameBuf::new();
    xl.reset(Header::new(Kind::Xl, CanId::from_raw(9), 300).unwrap());
    for view in [classic(1).view(), fd.view(), xl.view()] {
        bench.tx.transmit(0, Outgoing::new(view, 0)).unwrap();
    }
    let report = bench.tx.flush(0).unwrap();
    assert_eq!((report.sent, report.held), (3, 0));
    let expected = [
        classic(1).view().to_string(),
        fd.view().to_string(),
        xl.view().to_string(),
    ];
    assert_eq!(bench.sent(), expected);
    bench.come(&classic(3));
    bench.come(&fd);
    let mut got = bench.take(0);
    if by.0 == ReceiveBy::Read {
        // One a call; whoever polls again gets the next.
        assert_eq!(got.len(), 1);
        got.extend(bench.take(0));
    }
    assert_eq!(got, ["003#00000003", &expected[1]]);
    assert_eq!(bench.take(0).len(), 0, "nothing there is no error");
}

/// What is held, refused and lost is the same whatever moves the frames.
#[test]
fn one_by_one_a_full_queue_loses_nothing() {
    let mut bench = bench_by((ReceiveBy::Read, TransmitBy::Write), 4, UP);
    for id in 0..4 {
        bench.offer(0, id).unwrap();
    }
    let errors = [None, Some(Errno::NOBUFS)];
    bench.line().send_errors.lock().unwrap().extend(errors);
    let report = bench.tx.flush(0).unwrap();
    assert_eq!((report.sent, report.held), (1, 3));
    assert_eq!(bench.offer(0, 4), Ok(crate::Accepted));
    assert_eq!(bench.offer(0, 5), Err(Refused::Full));
    assert_eq!(bench.tx.flush(1_000_000).unwrap().sent, 4);
    let expected: Vec<String> = (0..5).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(bench.sent(), expected);
    assert_eq!(bench.tx.counters().taken, 5);
}

#[test]
fn what_is_no_frame_is_counted() {
    let mut bench = bench();
    bench.bus.send(&[0; 15]).unwrap();
    bench.come(&classic(3));
    let mut long = [0; CLASSIC_SIZE];
    long[4] = 9;
    bench.bus.send(&long).unwrap();
    assert_eq!(bench.take(0).len(), 1);
    assert_eq!(bench.rx.counters().malformed, 2);
}

#[test]
fn a_budget_is_kept_over_several_batches() {
    let mut bench = bench();
    let mut got = 0;
    for round in 0..30 {
        for id in 0..5 {
            bench.come(&classic(round * 5 + id));
        }
        let report = bench.rx.receive(0, 3, &mut |_| got += 1).unwrap();
        assert_eq!((report.frames, report.more), (3, true));
        let report = bench.rx.receive(0, 100, &mut |_| got += 1).unwrap();
        assert_eq!((report.frames, report.more), (2, false));
    }
    assert_eq!(got, 150);
}

#[test]
fn no_buffers_means_later_not_lost() {
    let mut bench = bench();
    for id in 0..4 {
        bench.offer(0, id).unwrap();
    }
    let errors = [Some(Errno::NOBUFS), Some(Errno::NOBUFS)];
    bench.line().send_errors.lock().unwrap().extend(errors);
    assert_eq!(bench.tx.flush(1_000).unwrap().held, 4);
    assert!(!bench.tx.wait().writable, "poll would say writable at once");
    assert!(bench.tx.deadline().is_some_and(|at| at > 1_000));
    assert_eq!(bench.tx.flush(2_000_000).unwrap().held, 4);
    assert_eq!(bench.tx.flush(3_000_000).unwrap().sent, 4);
    assert_eq!(bench.sent().len(), 4);
    let counters = bench.tx.counters();
    assert_eq!((counters.sent, counters.lost, counters.stalled), (4, 0, 2));
    assert_eq!(bench.tx.wait(), crate::Wait::default());
    assert_eq!(bench.tx.deadline(), None);
}

#[test]
fn a_full_socket_buffer_is_polled_for() {
    let mut bench = bench_with(4096, UP);
    assert!((0..4096).all(|id| bench.offer(0, id).is_ok()));
    let report = bench.tx.flush(0).unwrap();
    assert!(
        report.held > 0,
        "the peer's queue took everything: nothing is shown"
    );
    assert!(bench.tx.wait().writable && bench.tx.wait().fd.is_some());
    let mut out = bench.sent();
    while bench.tx.flush(0).unwrap().held > 0 {
        out.extend(bench.sent());
    }
    out.extend(bench.sent());
    let expected: Vec<String> = (0..4096).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_full_ring_refuses() {
    let mut bench = bench_with(2, UP);
    assert!(bench.offer(0, 1).is_ok() && bench.offer(0, 2).is_ok());
    let errors = &bench.line().send_errors;
    errors.lock().unwrap().push_back(Some(Errno::NOBUFS));
    assert_eq!(bench.offer(0, 3), Err(Refused::Full));
    // The interface has just said that it has no room: it is not asked for every frame.
    assert_eq!(bench.offer(0, 3), Err(Refused::Full));
    assert_eq!(bench.tx.counters().stalled, 1);
    bench.tx.flush(1_000_000).unwrap();
    assert!(bench.offer(1_000_000, 3).is_ok());
}

#[test]
fn a_batch_larger_than_the_ring_leaves_as_it_comes() {
    let mut bench = bench_with(2, UP);
    assert!((0..7).all(|id| bench.offer(0, id).is_ok()));
    bench.tx.flush(0).unwrap();
    let expected: Vec<String> = (0..7).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(bench.sent(), expected);
    assert!((0..2).all(|id| bench.offer(0, id).is_ok()));
    bench
        .line()
        .send_errors
        .lock()
        .unwrap()
        .push_back(Some(Errno::NETDOWN));
    bench.set_link(Ok(InterfaceState { up: false, ..UP }));
    assert_eq!(bench.offer(0, 3), Err(Refused::Down));
    assert_eq!(bench.tx.counters().lost, 2);
}

#[test]
fn the_mtu_says_what_is_carried() {
    let link = InterfaceState {
        mtu: CLASSIC_SIZE,
        ..UP
    };
    let mut bench = bench_with(8, link);
    let fd = Frame::fd(CanId::from_raw(5), 0, &[]).unwrap();
    let refused = bench.tx.transmit(0, Outgoing::new(fd.view(), 0));
    assert_eq!(refused, Err(Refused::Unsupported));
    let error = Frame::classic(CanId::from_raw(0x2000_0004), &[0; 8]).unwrap();
    let refused = bench.tx.transmit(0, Outgoing::new(error.view(), 0));
    assert_eq!(refused, Err(Refused::Unsupported));
    assert!(bench.offer(0, 1).is_ok());
}

#[test]
fn down_and_up_again() {
    let mut bench = bench();
    bench.offer(0, 1).unwrap();
    bench.set_link(Ok(InterfaceState { up: false, ..UP }));
    bench
        .line()
        .receive_errors
        .lock()
        .unwrap()
        .push_back(Errno::NETDOWN);
    assert!(bench.take(0).is_empty());
    assert!(!bench.rx.is_up());
    assert_eq!(bench.tx.flush(0).unwrap().held, 0);
    assert_eq!(bench.tx.counters().lost, 1, "what waited is stale");
    assert_eq!(bench.offer(0, 2), Err(Refused::Down));
    assert!(bench.rx.wait().fd.is_some());
    // It stays down, then comes up.
    let later = bench.rx.deadline().unwrap();
    assert_eq!(bench.offer(later, 2), Err(Refused::Down));
    bench.set_link(Ok(UP));
    bench.calls();
    let later = bench.rx.deadline().unwrap();
    assert!(bench.offer(later, 2).is_ok());
    assert!(bench.rx.is_up());
    assert_eq!(bench.rx.counters().reopened, 1);
    assert_eq!(bench.calls(), [""; 0], "the socket was bound all the time");
    assert!(bench.rx.remarks()[0].contains("can7 is down"));
}

#[test]
fn a_frame_from_it_shows_that_it_is_up() {
    let mut bench = bench();
    bench
        .line()
        .receive_errors
        .lock()
        .unwrap()
        .push_back(Errno::NETDOWN);
    bench.take(0);
    assert!(!bench.rx.is_up());
    bench.come(&classic(1));
    assert_eq!(bench.take(1).len(), 1);
    assert!(bench.rx.is_up());
}

#[test]
fn unplugged_and_plugged_in_again() {
    let mut bench = bench();
    assert_eq!(bench.calls(), ["0 filters", "attach 4"]);
    bench.offer(0, 1).unwrap();
    bench.set_link(Err(Errno::NODEV));
    bench
        .line()
        .send_errors
        .lock()
        .unwrap()
        .push_back(Some(Errno::NODEV));
    bench.tx.flush(0).unwrap();
    assert_eq!(bench.tx.counters().lost, 1);
    assert!(bench.rx.wait().fd.is_none(), "nothing to poll");
    // New filters meanwhile are kept for later.
    let filter = RawFilter { id: 1, mask: 0x7FF };
    let interest = Interest {
        ids: Ids::Filters(vec![filter; 1]),
        ..Interest::default()
    };
    bench.rx.set_interest(&interest).unwrap();
    let mut now = 0;
    for _ in 0..20 {
        now = bench.rx.deadline().unwrap().max(now);
        assert!(bench.take(now).is_empty());
    }
    assert_eq!(bench.calls(), ["loopback false"]);
    bench.set_link(Ok(InterfaceState { index: 9, ..UP }));
    let longest = bench.rx.deadline().unwrap() - now;
    assert!(longest <= 500_000_000, "{longest}");
    now += longest;
    bench.come(&classic(1));
    assert_eq!(bench.take(now).len(), 1);
    // Filters first: no frame is to slip by between the two.
    assert_eq!(bench.calls(), ["1 filters", "attach 9"]);
    assert_eq!(bench.rx.counters().reopened, 1);
    assert!(bench.offer(now, 1).is_ok());
}

#[test]
fn bus_off_is_noticed_and_its_end_too() {
    let error =
        |class: u32| Frame::classic(CanId::from_raw(CanId::ERR_FLAG | class), &[0; 8]).unwrap();
    let mut bench = bench();
    bench.set_link(Ok(InterfaceState {
        running: false,
        ..UP
    }));
    bench.come(&error(error_class::BUS_OFF));
    assert!(bench.take(0).is_empty());
    assert_eq!(bench.offer(0, 1), Err(Refused::Down));
    assert!(bench.rx.remarks()[0].contains("bus-off"));
    bench.set_link(Ok(UP));
    bench.come(&error(error_class::RESTARTED));
    bench.take(1);
    assert!(bench.offer(2, 1).is_ok());
    assert_eq!(bench.rx.counters().error_frames, 2);
    bench
        .rx
        .set_interest(&Interest {
            error_frames: true,
            ..Interest::default()
        })
        .unwrap();
    bench.come(&error(error_class::CONTROLLER));
    assert_eq!(bench.take(3).len(), 1);
    assert_eq!(bench.rx.counters().error_frames, 2);
}

/// After the last frame of a flood none comes beside which the kernel could say it.
#[test]
fn what_was_lost_after_the_last_frame_is_counted_too() {
    let bench = bench();
    let set = |lost| *bench.line().lost.lock().unwrap() = lost;
    assert_eq!(bench.rx.counters().overrun, 0, "a kernel that does not say");
    set(Some(7));
    assert_eq!(bench.rx.counters().overrun, 7);
    assert_eq!(bench.rx.counters().overrun, 7, "once");
    set(Some(9));
    assert_eq!(bench.rx.counters().overrun, 9);
}

/// Each change is told once, whatever comes in between.
#[test]
fn the_error_state_is_told_when_it_changes() {
    let mut bench = bench();
    let mut link_after = |class: u32, trouble: u8| {
        let data = [0, trouble, 0, 0, 0, 0, 0, 0];
        let id = CanId::from_raw(CanId::ERR_FLAG | class);
        bench.come(&Frame::classic(id, &data).unwrap());
        let report = bench.rx.receive(0, 64, &mut |_| ()).unwrap();
        (report.news, bench.rx.link())
    };
    let crtl = error_class::CONTROLLER;
    // The first report is always worth a look: the interface may be down from the start.
    assert_eq!(link_after(crtl, 0x01), (true, LinkState::Up), "an overflow");
    assert_eq!(link_after(crtl, 0x08), (true, LinkState::ErrorWarning));
    assert_eq!(link_after(crtl, 0x04), (false, LinkState::ErrorWarning));
    assert_eq!(link_after(crtl, 0x20), (true, LinkState::ErrorPassive));
    assert_eq!(
        link_after(0x80, 0),
        (false, LinkState::ErrorPassive),
        "a bus error"
    );
    let off = error_class::BUS_OFF;
    assert_eq!(link_after(off, 0), (true, LinkState::BusOff));
    // The bench's interface can be used, so that the next look finds it up: error-active.
    let again = error_class::RESTARTED;
    assert_eq!(link_after(again, 0), (false, LinkState::BusOff));
    assert_eq!(link_after(crtl, 0), (true, LinkState::Up));
    assert_eq!(link_after(crtl, 0x10), (true, LinkState::ErrorPassive));
    assert_eq!(link_after(crtl, 0x40), (true, LinkState::Up));
}

#[test]
fn echo_follows_the_route_where_the_driver_can() {
    let echoes = |echo: bool| {
        let mut bench = bench_with(8, InterfaceState { echo, ..UP });
        bench.calls();
        for (id, echo) in [(1, false), (2, false), (3, true), (4, false)] {
            let frame = classic(id);
            let outgoing = Outgoing {
                echo,
                ..Outgoing::new(frame.view(), 0)
            };
            bench.tx.transmit(0, outgoing).unwrap();
        }
        bench.tx.flush(0).unwrap();
        assert_eq!(bench.sent().len(), 4);
        bench.calls()
    };
    assert_eq!(
        echoes(true),
        ["loopback false", "loopback true", "loopback false"]
    );
    assert_eq!(echoes(false), ["loopback true"]);
}

#[test]
fn what_is_missing_is_said() {
    let no_can = OpenError {
        interface: "can7".to_owned(),
        obstacle: Obstacle::NoCan,
        source: Errno::AFNOSUPPORT,
    };
    assert!(words(&no_can).contains("modprobe can`"));
    assert!(words(&no_can).contains("kind = \"bus\""));
    let gone = OpenError {
        obstacle: Obstacle::NoInterface(vec!["can0".to_owned()]),
        source: Errno::NODEV,
        ..no_can
    };
    assert_eq!(
        words(&gone),
        "there is no interface can7; CAN interfaces here: can0"
    );
}

#[derive(Clone, Debug)]
enum Op {
    Offer(bool),
    Flush(Vec<Option<Errno>>),
    Link(bool),
    Later,
}

fn op() -> impl Strategy<Value = Op> {
    let error = prop_oneof![
        4 => Just(None),
        2 => Just(Some(Errno::NOBUFS)),
        1 => Just(Some(Errno::AGAIN)),
        1 => Just(Some(Errno::INTR)),
        1 => Just(Some(Errno::NETDOWN)),
        1 => Just(Some(Errno::NODEV)),
        1 => Just(Some(Errno::INVAL)),
    ];
    prop_oneof![
        6 => any::<bool>().prop_map(Op::Offer),
        3 => prop::collection::vec(error, 0..4).prop_map(Op::Flush),
        1 => any::<bool>().prop_map(Op::Link),
        1 => Just(Op::Later),
    ]
}

proptest! {
    /// Whatever fails in whatever order: each frame that was taken is sent once, in order, or
    /// counted as lost, or held.
    #[test]
    fn every_frame_taken_has_one_fate(
        ops in prop::collection::vec(op(), 1..100), queue in 1usize..9,
    ) {
        let mut bench = bench_with(queue, UP);
        let (mut now, mut taken, mut out) = (0, 0u32, Vec::new());
        for op in ops {
            match op {
                Op::Offer(echo) => {
                    let frame = classic(taken);
                    let outgoing = Outgoing { echo, ..Outgoing::new(frame.view(), 0) };
                    taken += u32::from(bench.tx.transmit(now, outgoing).is_ok());
                    out.extend(bench.sent());
                }
                Op::Flush(errors) => {
                    *bench.line().send_errors.lock().unwrap() = errors.into();
                    let report = bench.tx.flush(now).unwrap();
                    let new = bench.sent();
                    prop_assert_eq!(new.len(), report.sent);
                    out.extend(new);
                    prop_assert_eq!(bench.tx.counters().held, report.held as u64);
                }
                Op::Link(up) => bench.set_link(Ok(InterfaceState { up, ..UP })),
                Op::Later => now += 600_000_000,
            }
            let c = bench.tx.counters();
            prop_assert_eq!(c.taken, u64::from(taken));
            prop_assert_eq!(c.taken, c.sent + c.lost + c.held);
            prop_assert_eq!(c.sent, out.len() as u64);
        }
        let number = |text: &String| u32::from_str_radix(&text[text.len() - 8..], 16).unwrap();
        let numbers: Vec<u32> = out.iter().map(number).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", numbers);
    }
}
