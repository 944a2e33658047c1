//! The transmitting half.

use super::reports::{SentTotals, SharedTotals};
use super::socket::DatagramSocket;
use crate::network::ids::IdRange;
use crate::network::remarks::LatestRemarks;
use crate::network::unix_time;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{FrameRef, Nanos};
use net::{DatagramWriter, NotWritten};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

/// The room for a datagram, bytes. The longest one has a CAN XL frame in an ACF message: 16 bytes,
/// and up to 2047 bytes of messages.
const ROOM: usize = 2304;

/// A datagram and the number of frames in it.
struct FrameDatagram {
    bytes: Vec<u8>,
    frames: u64,
    /// Time of its first frame.
    since: Nanos,
}

impl FrameDatagram {
    fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(ROOM),
            frames: 0,
            since: 0,
        }
    }
}

/// Which frames wait for others that share their datagram.
#[derive(Default)]
pub(super) struct PackRules {
    /// The time, ns.
    pub(super) pack: Nanos,
    /// Frames that do not wait.
    pub(super) urgent: Vec<IdRange>,
}

/// The transmitting half. A frame that does not fit into the open datagram completes it and begins
/// another one, so there is room for a frame as long as no complete datagram waits.
pub(super) struct DatagramTransmit<S> {
    socket: S,
    to: SocketAddr,
    writer: Box<dyn DatagramWriter>,
    rules: PackRules,
    epoch: Nanos,
    /// The datagram that is being written.
    open: FrameDatagram,
    /// The open datagram while an urgent frame is written; otherwise empty.
    aside: FrameDatagram,
    /// A complete datagram that the socket had no room for; empty if there is none.
    complete: FrameDatagram,
    counters: TxCounters,
    totals: SharedTotals,
    remarks: LatestRemarks,
}

impl<S: DatagramSocket> DatagramTransmit<S> {
    pub(super) fn new(
        socket: S,
        to: SocketAddr,
        writer: Box<dyn DatagramWriter>,
        rules: PackRules,
        totals: SharedTotals,
        epoch: Nanos,
    ) -> Self {
        Self {
            socket,
            to,
            writer,
            rules,
            epoch,
            open: FrameDatagram::new(),
            aside: FrameDatagram::new(),
            complete: FrameDatagram::new(),
            counters: TxCounters::default(),
            totals,
            remarks: LatestRemarks::default(),
        }
    }

    /// Completes the open datagram and sends it. No other complete one waits.
    fn finish(&mut self) {
        self.writer.finish(&mut self.open.bytes);
        std::mem::swap(&mut self.open, &mut self.complete);
        self.send();
    }

    /// Sends the complete datagram, if there is one and the socket has room.
    fn send(&mut self) {
        if !self.is_blocked() {
            return;
        }
        match self.socket.send(&self.complete.bytes, self.to) {
            Ok(()) => {
                self.counters.sent += self.complete.frames;
                self.counters.datagrams += 1;
                self.totals.set(SentTotals {
                    datagrams: self.counters.datagrams,
                    frames: self.counters.sent,
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.counters.stalled += 1;
                return;
            }
            Err(error) => {
                self.writer.take_back();
                self.counters.lost += self.complete.frames;
                self.remarks
                    .push(format!("{} cannot be reached: {error}", self.to));
            }
        }
        self.complete.bytes.clear();
        self.complete.frames = 0;
    }

    /// Sends an urgent frame in a datagram of its own, before those that wait for others. No
    /// complete datagram waits.
    fn send_alone(
        &mut self,
        frame: &FrameRef<'_>,
        unix: Nanos,
    ) -> Result<Accepted, TransmitRefusal> {
        std::mem::swap(&mut self.open, &mut self.aside);
        let pushed = self.writer.push(frame, unix, &mut self.open.bytes);
        if pushed.is_ok() {
            self.open.frames = 1;
            self.counters.taken += 1;
            self.finish();
        }
        std::mem::swap(&mut self.open, &mut self.aside);
        pushed.map_or(Err(TransmitRefusal::Unsupported), |()| Ok(Accepted))
    }

    /// Returns whether a complete datagram waits for room in the socket.
    const fn is_blocked(&self) -> bool {
        self.complete.frames > 0
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.rules.pack == 0 || now >= self.open.since.saturating_add(self.rules.pack)
    }

    fn held(&self) -> u64 {
        self.open.frames + self.complete.frames
    }
}

impl<S: DatagramSocket> Transmit for DatagramTransmit<S> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.writer.carries(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        self.send();
        if self.is_blocked() {
            return Err(TransmitRefusal::Full);
        }
        let unix = unix_time(&outgoing, now, self.epoch);
        let frame = &outgoing.frame;
        let id = frame.id();
        if self.rules.urgent.iter().any(|range| range.contains(id)) {
            return self.send_alone(frame, unix);
        }
        let mut pushed = self.writer.push(frame, unix, &mut self.open.bytes);
        if pushed == Err(NotWritten::Full) {
            self.finish();
            pushed = self.writer.push(frame, unix, &mut self.open.bytes);
        }
        if pushed.is_err() {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.open.frames == 0 {
            self.open.since = now;
        }
        self.open.frames += 1;
        self.counters.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let before = self.counters.sent;
        self.send();
        if !self.is_blocked() && self.open.frames > 0 && self.is_due(now) {
            self.finish();
        }
        Ok(FlushReport {
            sent: (self.counters.sent - before) as usize,
            held: self.held() as usize,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let waits = self.open.frames > 0 && !self.is_blocked();
        waits.then(|| self.open.since.saturating_add(self.rules.pack))
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.held(),
            ..self.counters
        }
    }

    fn room(&self) -> usize {
        if self.is_blocked() {
            return 0;
        }
        self.writer.room(&self.open.bytes).max(1)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.list()
    }
}

impl PollTransmit for DatagramTransmit<Arc<UdpSocket>> {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: self.is_blocked().then(|| self.socket.as_raw_fd()),
            readable: false,
            writable: self.is_blocked(),
        }
    }
}
