//! The halves over a pair of sockets, and a fake interface that the test controls.

use super::super::config::{ReceiveBy, TransmitBy};
use super::super::line::SocketLine;
use super::super::receive::RawReceive;
use super::super::receive::mmsg::{ByRecvmmsg, LossCount};
use super::super::receive::read::ByRead;
use super::super::shared::SharedSockets;
use super::super::transmit::RawTransmit;
use super::super::transmit::slots::{FromSlots, LoopbackControl};
use super::super::way::{CallResult, DatagramArrival, ReceiveWay, TransmitWay};
use crate::{OutgoingFrame, PollReceive, PollTransmit, RawFilter, ReceivedFrame, TransmitRefusal};
use frame::{CanId, Frame, Nanos};
use linux::Errno;
use linux::can::InterfaceState;
use linux::can::layout::{FD_SIZE, XL_SIZE, decode, encode};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

pub(super) const UP: InterfaceState = InterfaceState {
    index: 4,
    mtu: FD_SIZE,
    up: true,
    running: true,
    echo: true,
};

/// Another socket, and a fake interface.
pub(super) struct Fake {
    pub(super) socket: UnixDatagram,
    pub(super) link: Mutex<Result<InterfaceState, Errno>>,
    /// Errors of the next calls.
    pub(super) receive_errors: Mutex<VecDeque<Errno>>,
    pub(super) send_errors: Mutex<VecDeque<Option<Errno>>>,
    /// Record of the calls on it.
    pub(super) calls: Mutex<Vec<String>>,
    /// Number of frames that the kernel reports as lost.
    pub(super) lost: Mutex<Option<u32>>,
    /// Error of attaching to it, if any.
    pub(super) unfit: Mutex<Option<Errno>>,
    /// Whether it is a vcan.
    pub(super) vcan: Mutex<bool>,
    /// Difference from the port's settings, if any.
    pub(super) differs: Mutex<Option<String>>,
    /// Whether the driver reports its controller as bus-off; `None` if it does not report it.
    pub(super) bus_off: Mutex<Option<bool>>,
    /// Whether received frames were sent by a process of this machine.
    pub(super) local: Mutex<bool>,
}

impl Fake {
    pub(super) fn called(&self, what: String) {
        self.calls.lock().unwrap().push(what);
    }
}

/// The end that the halves have.
#[derive(Clone)]
pub(super) struct End(pub(super) Arc<Fake>);

impl SocketLine for End {
    fn query_state(&self) -> Result<InterfaceState, Errno> {
        *self.0.link.lock().unwrap()
    }

    fn is_bus_off(&self, _: &str) -> Option<bool> {
        *self.0.bus_off.lock().unwrap()
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        self.0.called(format!("attach {index}"));
        self.0.unfit.lock().unwrap().map_or(Ok(()), Err)
    }

    fn is_local(&self, _: &str) -> bool {
        *self.0.vcan.lock().unwrap()
    }

    fn differs(&self) -> Option<String> {
        self.0.differs.lock().unwrap().clone()
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

impl LossCount for End {
    fn lost(&self) -> Option<u32> {
        *self.0.lost.lock().unwrap()
    }
}

impl LoopbackControl for End {
    fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        self.0.called(format!("loopback {on}"));
        Ok(())
    }
}

/// A way whose calls fail with errors that the test sets.
pub(super) struct Failing<W> {
    pub(super) way: W,
    pub(super) fake: Arc<Fake>,
}

impl<W: ReceiveWay> ReceiveWay for Failing<W> {
    fn fd(&self) -> RawFd {
        self.way.fd()
    }

    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno> {
        match self.fake.receive_errors.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => {
                let local = *self.fake.local.lock().unwrap();
                self.way.receive(want, &mut |arrival| {
                    take(DatagramArrival { local, ..arrival });
                })
            }
        }
    }

    fn is_due(&self) -> bool {
        self.way.is_due()
    }

    fn is_busy(&self) -> bool {
        self.way.is_busy()
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

    fn owns_slots(&self) -> bool {
        self.way.owns_slots()
    }

    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        match self.fake.send_errors.lock().unwrap().pop_front().flatten() {
            Some(error) => Err(error),
            None => self.way.send(first, count),
        }
    }
}

pub(super) struct Bench {
    pub(super) fake: Arc<Fake>,
    pub(super) rx: Box<dyn PollReceive>,
    pub(super) tx: Box<dyn PollTransmit>,
    /// The other end, in place of the bus.
    pub(super) bus: UnixDatagram,
}

pub(super) fn bench_with(queue: usize, link: InterfaceState) -> Bench {
    bench_by((ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg), queue, link)
}

pub(super) fn bench_by(by: (ReceiveBy, TransmitBy), queue: usize, link: InterfaceState) -> Bench {
    bench_of(by, queue, Ok(link))
}

pub(super) fn bench_of(
    by: (ReceiveBy, TransmitBy),
    queue: usize,
    link: Result<InterfaceState, Errno>,
) -> Bench {
    let (socket, bus) = UnixDatagram::pair().unwrap();
    // Like every CAN socket of the port.
    socket.set_nonblocking(true).unwrap();
    bus.set_nonblocking(true).unwrap();
    let fake = Arc::new(Fake {
        socket,
        link: Mutex::new(link),
        receive_errors: Mutex::default(),
        send_errors: Mutex::default(),
        calls: Mutex::default(),
        lost: Mutex::default(),
        unfit: Mutex::default(),
        vcan: Mutex::default(),
        differs: Mutex::default(),
        bus_off: Mutex::default(),
        local: Mutex::default(),
    });
    let end = End(Arc::clone(&fake));
    let shared = SharedSockets::attach(end.clone(), "engine", "can7", Vec::new(), true).unwrap();
    let shared = Arc::new(shared);
    let rx: Box<dyn PollReceive> = match by.0 {
        ReceiveBy::Recvmmsg => receiving(&fake, &shared, ByRecvmmsg::new(end.clone(), XL_SIZE)),
        by => {
            let busy = by != ReceiveBy::Read;
            receiving(&fake, &shared, ByRead::new(end.clone(), XL_SIZE, busy))
        }
    };
    let way = Failing {
        way: FromSlots::new(end, queue, XL_SIZE, by.1 == TransmitBy::Write),
        fake: Arc::clone(&fake),
    };
    Bench {
        rx,
        tx: Box::new(RawTransmit::new(shared, way, queue, (true, true))),
        fake,
        bus,
    }
}

pub(super) fn receiving(
    fake: &Arc<Fake>,
    shared: &Arc<SharedSockets>,
    way: impl ReceiveWay + 'static,
) -> Box<dyn PollReceive> {
    let fake = Arc::clone(fake);
    let way = Failing { way, fake };
    Box::new(RawReceive::new(Arc::clone(shared), way, false))
}

pub(super) fn bench() -> Bench {
    bench_with(8, UP)
}

pub(super) fn classic(id: u32) -> Frame {
    Frame::classic(CanId::from_raw(id), &id.to_be_bytes()).unwrap()
}

impl Bench {
    /// Delivers a frame from the bus.
    pub(super) fn come(&self, frame: &Frame) {
        let mut bytes = [0; FD_SIZE];
        let n = encode(frame.view(), &mut bytes).unwrap();
        self.bus.send(&bytes[..n]).unwrap();
    }

    pub(super) fn take(&mut self, now: Nanos) -> Vec<String> {
        let mut got = Vec::new();
        let mut keep = |r: ReceivedFrame<'_>| got.push(r.frame.to_string());
        self.rx.receive(now, 100, &mut keep).unwrap();
        got
    }

    pub(super) fn offer(
        &mut self,
        now: Nanos,
        id: u32,
    ) -> Result<crate::Accepted, TransmitRefusal> {
        self.tx
            .transmit(now, OutgoingFrame::new(classic(id).view(), 0))
    }

    /// Returns the frames that went out to the bus.
    pub(super) fn sent(&self) -> Vec<String> {
        let mut bytes = [0; XL_SIZE];
        let mut out = Vec::new();
        while let Ok(n) = self.bus.recv(&mut bytes) {
            out.push(decode(&bytes[..n]).unwrap().to_string());
        }
        out
    }

    pub(super) fn line(&self) -> &Fake {
        &self.fake
    }

    pub(super) fn set_link(&self, link: Result<InterfaceState, Errno>) {
        *self.line().link.lock().unwrap() = link;
    }

    pub(super) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.line().calls.lock().unwrap())
    }
}
