//! The transmitting half.

use super::line::DeviceLine;
use super::shared::SharedDevice;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{FrameRef, Kind, Nanos};
use linux::Errno;
use linux::can::layout::{FD_SIZE, encode};
use linux::chardev::SLOTS;
use linux::chardev::area::{FRAME_FD, TX_PENDING, at, both, first, second};
use std::sync::Arc;

/// Maximum time until the end of a frame's transmission is noticed when nothing else happens, ns.
const TRANSMIT_POLL_INTERVAL: Nanos = 1_000_000;

/// The frames that the port may carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitRules {
    /// Whether it may send FD frames.
    pub fd: bool,
    /// Whether it may send nothing at all.
    pub listen_only: bool,
}

pub(super) struct CharDevTransmit {
    shared: Arc<SharedDevice>,
    rules: TransmitRules,
    line: Arc<dyn DeviceLine>,
    generation: u32,
    /// Number of frames put into the queue, and of those that the driver was notified of.
    head: u32,
    rung: u32,
    /// The last known values of the driver's counts.
    sent_seen: u32,
    failed_seen: u32,
    taken: u64,
    sent: u64,
    lost: u64,
    stalled: u64,
    /// Time of the next check of the frames that the driver has.
    ask_at: Option<Nanos>,
}

impl CharDevTransmit {
    pub(super) fn new(shared: Arc<SharedDevice>, rules: TransmitRules) -> Self {
        let (line, generation) = shared.line();
        Self {
            shared,
            rules,
            line,
            generation,
            head: 0,
            rung: 0,
            sent_seen: 0,
            failed_seen: 0,
            taken: 0,
            sent: 0,
            lost: 0,
            stalled: 0,
            ask_at: None,
        }
    }

    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        let kind = match frame.kind() {
            Kind::Classic => true,
            Kind::Fd => self.rules.fd && !frame.id().is_rtr(),
            Kind::Xl => false,
        };
        // An error frame reports a controller's state; it never goes on the bus.
        kind && !frame.id().is_err() && !self.rules.listen_only
    }

    /// Returns the numbers of frames that the driver newly reports as sent and as failed, in its
    /// word with both counts: at most as many as it was notified of.
    fn news(&self, word: u64) -> (u64, u64) {
        let new = u64::from(self.head.wrapping_sub(self.rung));
        let open = self.held().saturating_sub(new);
        let sent = u64::from(first(word).wrapping_sub(self.sent_seen)).min(open);
        let failed = u64::from(second(word).wrapping_sub(self.failed_seen)).min(open - sent);
        (sent, failed)
    }

    fn count(&mut self) {
        let word = self.line.get(at::TX_SENT);
        let (sent, failed) = self.news(word);
        (self.sent_seen, self.failed_seen) = (first(word), second(word));
        self.sent += sent;
        self.lost += failed;
    }

    /// Returns the number of held frames: each frame that was taken is sent, lost or held.
    const fn held(&self) -> u64 {
        self.taken - (self.sent + self.lost)
    }

    /// Uses the device that was opened anew: the counts of the old one are final, and frames that
    /// it did not report are lost.
    #[cold]
    fn take_up(&mut self) {
        self.count();
        self.lost += self.held();
        (self.line, self.generation) = self.shared.line();
        (self.head, self.rung) = (0, 0);
        (self.sent_seen, self.failed_seen) = (0, 0);
    }

    #[inline]
    fn is_free(&self, count: u32) -> bool {
        second(self.line.get(at::tx(count) + at::FLAGS)) != TX_PENDING
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.head.wrapping_sub(self.rung) < SLOTS && self.is_free(self.head)
    }

    /// Notifies the driver of the new frames. They are lost if the controller is stopped, bus-off
    /// or gone.
    fn ring(&mut self) -> Result<(), PortError> {
        let new = self.head.wrapping_sub(self.rung);
        match self.line.ring() {
            Ok(taken) => {
                let taken = u32::try_from(taken).unwrap_or(new).min(new);
                self.rung = self.rung.wrapping_add(taken);
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            // Stopped, bus-off or gone: the receiving half reports it.
            Err(Errno::NETDOWN | Errno::NODEV | Errno::PERM) => {
                self.lost += u64::from(new);
                self.head = self.rung;
                self.line.set(at::TX_HEAD, both(self.head, 0));
                Ok(())
            }
            Err(error) => Err(self.shared.fail("takes no frames", error)),
        }
    }
}

impl Transmit for CharDevTransmit {
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.carries(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.generation != self.shared.generation() {
            self.take_up();
        }
        if !self.line.is_on_bus() || self.shared.is_gone() {
            return Err(TransmitRefusal::Down);
        }
        if !self.has_room() {
            self.stalled += 1;
            return Err(TransmitRefusal::Full);
        }
        let mut bytes = [0; FD_SIZE];
        let size = encode(outgoing.frame, &mut bytes).ok_or(TransmitRefusal::Unsupported)?;
        let slot = at::tx(self.head);
        for (i, word) in bytes.as_chunks().0.iter().take(size / 8).enumerate() {
            let word = u64::from_ne_bytes(*word);
            self.line.set(slot + at::FRAME + 8 * i, word);
        }
        let fd = outgoing.frame.kind() == Kind::Fd;
        self.line
            .set(slot + at::FLAGS, both(u32::from(fd) * FRAME_FD, 0));
        self.head = self.head.wrapping_add(1);
        self.line.set(at::TX_HEAD, both(self.head, 0));
        self.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        if self.generation != self.shared.generation() {
            self.take_up();
        }
        if self.head != self.rung {
            self.ring()?;
        }
        let before = self.sent;
        self.count();
        let held = self.held();
        self.ask_at = (held > 0).then(|| now.saturating_add(TRANSMIT_POLL_INTERVAL));
        Ok(FlushReport {
            sent: (self.sent - before) as usize,
            held: held as usize,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.ask_at
    }

    fn counters(&self) -> TxCounters {
        let (sent, failed) = self.news(self.line.get(at::TX_SENT));
        TxCounters {
            taken: self.taken,
            sent: self.sent + sent,
            lost: self.lost + failed,
            held: self.held() - (sent + failed),
            stalled: self.stalled,
            ..TxCounters::default()
        }
    }

    fn room(&self) -> usize {
        if !self.line.is_on_bus() || self.shared.is_gone() {
            // The half refuses frames for another reason.
            return usize::MAX;
        }
        if self.head == self.rung && self.held() == 0 {
            return SLOTS as usize;
        }
        let new = self.head.wrapping_sub(self.rung);
        let free =
            (0..SLOTS - new.min(SLOTS)).take_while(|n| self.is_free(self.head.wrapping_add(*n)));
        free.count()
    }
}

impl PollTransmit for CharDevTransmit {
    fn wait(&self) -> PortWait {
        let full = !self.shared.is_gone() && !self.has_room();
        PortWait {
            fd: full.then(|| self.line.fd()),
            readable: false,
            writable: full,
        }
    }
}
