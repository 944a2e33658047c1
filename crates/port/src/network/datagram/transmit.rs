//! The transmitting half.

use crate::network::remarks::LatestRemarks;
use crate::network::unix_time;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::Nanos;
use net::{DatagramWriter, NotWritten};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

/// The room for a datagram, bytes: what an Ethernet frame holds, and more than any writer needs.
const ROOM: usize = 2048;

pub(super) struct DatagramTransmit {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    writer: Box<dyn DatagramWriter>,
    pack: Nanos,
    epoch: Nanos,
    /// The datagram that is being written, and the number of frames in it.
    out: Vec<u8>,
    frames: u64,
    /// Time of its first frame.
    since: Nanos,
    /// The datagram is complete, and the socket had no room for it.
    blocked: bool,
    counters: TxCounters,
    remarks: LatestRemarks,
}

impl DatagramTransmit {
    pub(super) fn new(
        socket: Arc<UdpSocket>,
        to: SocketAddr,
        writer: Box<dyn DatagramWriter>,
        pack: Nanos,
        epoch: Nanos,
    ) -> Self {
        Self {
            socket,
            to,
            writer,
            pack,
            epoch,
            out: Vec::with_capacity(ROOM),
            frames: 0,
            since: 0,
            blocked: false,
            counters: TxCounters::default(),
            remarks: LatestRemarks::default(),
        }
    }

    /// Sends the datagram, if there is one and the socket has room.
    fn send(&mut self) {
        if self.frames == 0 {
            return;
        }
        if !self.blocked {
            self.writer.finish(&mut self.out);
        }
        match self.socket.send_to(&self.out, self.to) {
            Ok(_) => self.counters.sent += self.frames,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.blocked = true;
                self.counters.stalled += 1;
                return;
            }
            Err(error) => {
                self.counters.lost += self.frames;
                self.remarks
                    .push(format!("{} cannot be reached: {error}", self.to));
            }
        }
        self.blocked = false;
        self.out.clear();
        self.frames = 0;
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.blocked || self.pack == 0 || now >= self.since.saturating_add(self.pack)
    }
}

impl Transmit for DatagramTransmit {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.writer.carries(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.blocked {
            self.send();
            if self.blocked {
                return Err(TransmitRefusal::Full);
            }
        }
        let unix = unix_time(&outgoing, now, self.epoch);
        let mut pushed = self.writer.push(&outgoing.frame, unix, &mut self.out);
        if pushed == Err(NotWritten::Full) {
            self.send();
            if self.blocked {
                return Err(TransmitRefusal::Full);
            }
            pushed = self.writer.push(&outgoing.frame, unix, &mut self.out);
        }
        if pushed.is_err() {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.frames == 0 {
            self.since = now;
        }
        self.frames += 1;
        self.counters.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let before = self.counters.sent;
        if self.frames > 0 && self.is_due(now) {
            self.send();
        }
        Ok(FlushReport {
            sent: (self.counters.sent - before) as usize,
            held: self.frames as usize,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        (self.frames > 0 && !self.blocked).then(|| self.since.saturating_add(self.pack))
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.frames,
            ..self.counters
        }
    }

    fn room(&self) -> usize {
        if self.blocked {
            return 0;
        }
        self.writer.room(&self.out)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.list()
    }
}

impl PollTransmit for DatagramTransmit {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: self.blocked.then(|| self.socket.as_raw_fd()),
            readable: false,
            writable: self.blocked,
        }
    }
}
