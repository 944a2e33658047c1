//! The transmitting half.

use super::backlog::{BacklogResult, SendBacklog, SendClass};
use super::guard::LoopGuard;
use super::presentation::PresentationWriter;
use super::sender::{FrameDatagram, FrameSender};
use super::socket::{SendMark, SendSocket};
use super::stream_run::StreamRun;
use crate::network::ids::{IdRange, is_urgent};
use crate::network::unix_time;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{FrameRef, Nanos};
use net::{DatagramWriter, NotWritten};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// Number of frames that wait while the socket has no room.
pub(super) const BACKLOG: usize = crate::TUNNEL_BACKLOG;

/// Which frames wait for others that share their datagram, and the mark of the others.
#[derive(Default)]
pub(crate) struct PackRules {
    /// The time, ns.
    pub(crate) pack: Nanos,
    /// Frames that do not wait.
    pub(crate) urgent: Vec<IdRange>,
    /// The mark (DSCP) of datagrams with frames that do not wait.
    pub(crate) dscp: u8,
}

impl PackRules {
    fn class(&self, frame: &FrameRef<'_>) -> SendClass {
        match is_urgent(&self.urgent, frame.id()) {
            true => SendClass::Urgent,
            false => SendClass::Other,
        }
    }

    fn mark(&self, class: SendClass) -> SendMark {
        match class {
            SendClass::Urgent => SendMark {
                dscp: self.dscp,
                urgent: true,
            },
            SendClass::Other => SendMark::default(),
        }
    }
}

/// The transmitting half.
///
/// As long as the socket has room, an urgent frame leaves at once in a datagram of its own, and
/// others are packed in the order in which they come. While it has none, frames wait in the order
/// of their class and priority; the datagram that was being packed is the first of its class.
pub(super) struct DatagramTransmit<S: SendSocket> {
    sender: FrameSender<S>,
    rules: PackRules,
    epoch: Nanos,
    /// The datagram that is being packed.
    open: FrameDatagram,
    /// A datagram that leaves at once, or whose frames stay in the backlog.
    aside: FrameDatagram,
    /// It has frames only while the socket has no room.
    backlog: SendBacklog,
}

impl<S: SendSocket> DatagramTransmit<S> {
    pub(super) fn new(
        socket: S,
        to: SocketAddr,
        writer: Box<dyn DatagramWriter>,
        rules: PackRules,
        run: StreamRun,
        guard: LoopGuard,
        epoch: Nanos,
    ) -> Self {
        Self {
            sender: FrameSender::new(socket, to, writer, run, guard),
            rules,
            epoch,
            open: FrameDatagram::new(),
            aside: FrameDatagram::new(),
            backlog: SendBacklog::new(BACKLOG),
        }
    }

    /// Returns the half for datagrams with presentation times, if there is something that gives
    /// them.
    pub(super) fn presenting(mut self, presentation: Option<PresentationWriter>) -> Self {
        self.sender.presentation = presentation;
        self
    }

    /// Follows the clock of presentation times.
    fn tick(&mut self, now: Nanos) {
        if let Some(presentation) = &mut self.sender.presentation {
            presentation.tick(now);
            self.epoch = presentation.clock.epoch();
        }
    }

    /// Sends the open datagram; returns false if the socket has no room.
    fn send_open(&mut self) -> bool {
        let mark = self.rules.mark(SendClass::Other);
        self.open.frames == 0 || self.sender.send(&mut self.open, mark)
    }

    /// Sends the frames of the backlog that are of this class; returns false if the socket has no
    /// room.
    fn send_backlog(&mut self, class: SendClass) -> bool {
        loop {
            self.aside.clear();
            let mut pushed = Ok(());
            for waiting in self.backlog.of_class(class) {
                let (frame, unix) = (&waiting.frame, waiting.unix);
                pushed = self
                    .sender
                    .push(&mut self.aside, frame, waiting.token, unix);
                if pushed.is_err() {
                    break;
                }
            }
            let frames = self.aside.frames;
            if frames == 0 {
                // Its trail left no room for it.
                if pushed == Err(NotWritten::Unsupported) {
                    self.sender.counters.lost += 1;
                    self.backlog.remove(class, 1);
                    continue;
                }
                return true;
            }
            if !self.sender.send(&mut self.aside, self.rules.mark(class)) {
                return false;
            }
            self.backlog.remove(class, frames);
        }
    }

    /// Sends what the socket had no room for: the urgent frames, the open datagram, the others.
    fn send_waiting(&mut self) {
        if !std::mem::take(&mut self.sender.blocked) {
            return;
        }
        // Each step goes on only if the one before has sent everything.
        if self.send_backlog(SendClass::Urgent) {
            self.sender.hold(false);
            let _ = self.send_open() && self.send_backlog(SendClass::Other);
        }
    }

    /// Puts a frame into the backlog.
    fn keep(
        &mut self,
        class: SendClass,
        outgoing: &OutgoingFrame<'_>,
        unix: Nanos,
    ) -> Result<Accepted, TransmitRefusal> {
        match self.backlog.push(class, outgoing, unix) {
            BacklogResult::Full => return Err(TransmitRefusal::Full),
            BacklogResult::Displaces => self.sender.counters.displaced += 1,
            BacklogResult::Waits => {}
        }
        self.sender.counters.taken += 1;
        self.sender.hold(self.backlog.has(SendClass::Urgent));
        Ok(Accepted)
    }

    /// Sends an urgent frame in a datagram of its own.
    fn send_alone(
        &mut self,
        outgoing: &OutgoingFrame<'_>,
        unix: Nanos,
    ) -> Result<Accepted, TransmitRefusal> {
        self.aside.clear();
        let (frame, token) = (&outgoing.frame, outgoing.token);
        let pushed = self.sender.push(&mut self.aside, frame, token, unix);
        if pushed.is_err() {
            return Err(TransmitRefusal::Unsupported);
        }
        let mark = self.rules.mark(SendClass::Urgent);
        if !self.sender.send(&mut self.aside, mark) {
            return self.keep(SendClass::Urgent, outgoing, unix);
        }
        self.sender.counters.taken += 1;
        Ok(Accepted)
    }

    /// Adds a frame to the open datagram; sends a full one first.
    fn pack(
        &mut self,
        outgoing: &OutgoingFrame<'_>,
        unix: Nanos,
        now: Nanos,
    ) -> Result<Accepted, TransmitRefusal> {
        let (frame, token) = (&outgoing.frame, outgoing.token);
        let mut pushed = self.sender.push(&mut self.open, frame, token, unix);
        if pushed == Err(NotWritten::Full) {
            if !self.send_open() {
                return self.keep(SendClass::Other, outgoing, unix);
            }
            pushed = self.sender.push(&mut self.open, frame, token, unix);
        }
        if pushed.is_err() {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.open.frames == 1 {
            self.open.since = now;
        }
        self.sender.counters.taken += 1;
        Ok(Accepted)
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.rules.pack == 0 || now >= self.open.since.saturating_add(self.rules.pack)
    }

    fn held(&self) -> u64 {
        self.open.frames + self.backlog.len() as u64
    }
}

impl<S: SendSocket> Transmit for DatagramTransmit<S> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.sender.writer.carries(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        self.tick(now);
        // While frames wait, the flush after each batch tries again: here, each frame would cost a
        // datagram that is made and refused.
        let unix = unix_time(&outgoing, now, self.epoch);
        let class = self.rules.class(&outgoing.frame);
        let taken = match class {
            _ if self.sender.blocked => self.keep(class, &outgoing, unix),
            SendClass::Urgent => self.send_alone(&outgoing, unix),
            SendClass::Other => self.pack(&outgoing, unix, now),
        };
        if taken.is_ok() {
            self.sender.guard.record(&outgoing.frame, now);
        }
        taken
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let before = self.sender.counters.sent;
        self.tick(now);
        self.send_waiting();
        if !self.sender.blocked && self.is_due(now) {
            self.send_open();
        }
        Ok(FlushReport {
            sent: (self.sender.counters.sent - before) as usize,
            held: self.held() as usize,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let waits = self.open.frames > 0 && !self.sender.blocked;
        waits.then(|| self.open.since.saturating_add(self.rules.pack))
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.held(),
            ..self.sender.counters
        }
    }

    fn room(&self) -> usize {
        self.backlog.room()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.sender.remarks.list();
        if let Some(presentation) = &self.sender.presentation {
            let consequence = "presentation times leave marked as uncertain";
            remarks.extend(presentation.clock.remarks(consequence));
        }
        remarks
    }
}

impl<S: SendSocket + AsRawFd> PollTransmit for DatagramTransmit<S> {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: self.sender.blocked.then(|| self.sender.socket.as_raw_fd()),
            readable: false,
            writable: self.sender.blocked,
        }
    }
}
