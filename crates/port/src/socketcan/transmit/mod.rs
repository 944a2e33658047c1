//! The transmitting half.

pub(super) mod ring;
pub(super) mod slots;
pub(super) mod uring;

use super::shared::{SharedSockets, SocketState};
use super::way::TransmitWay;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::wire::{self, PhaseBits};
use frame::{FrameRef, Kind, Nanos};
use linux::Errno;
use linux::can::layout::{FD_SIZE, XL_MTU, encode};
use std::sync::Arc;

/// Time until the next attempt after ENOBUFS, ns: about the time of two frames at 500 kbit/s. The
/// interface's queue is full then, but poll(2) reports writable all the same, because it checks
/// the socket's buffer only.
const RETRY: Nanos = 500_000;

/// The reason why frames are held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HoldReason {
    /// The half has not tried to send them yet.
    Unsent,
    /// The socket's buffer is full; poll(2) reports when it is not.
    Socket,
    /// The interface's queue is full, which poll(2) does not notice; the time of the next attempt.
    Queue(Nanos),
}

/// The rule for which sent frames local listeners see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EchoMode {
    /// Those of routes with `echo`; all if the driver does not echo, because on a vcan they reach
    /// other sockets only by the CAN protocol's loopback.
    AsAsked,
    /// All if the driver echoes, else none: packet sockets cannot choose
    /// (`can_skb_headroom_valid` in drivers/net/can/dev/skb.c).
    ByDriver,
    /// None, because the port would receive them itself.
    Never,
}

/// The transmitting half. Frames wait in a circular buffer of slots, in the kernel's own layout.
pub(super) struct RawTransmit<W> {
    shared: Arc<SharedSockets>,
    way: W,
    /// Maximum number of frames that are held.
    queue: usize,
    rule: EchoMode,
    /// For each slot: whether local listeners should see the frame.
    echo: Box<[bool]>,
    first: usize,
    count: usize,
    /// The present setting of the socket, if it is known.
    loopback: Option<bool>,
    held: HoldReason,
    /// True if the remark was made that there is no echo.
    warned: bool,
    fd: bool,
    xl: bool,
    /// The bits of the newest frame, which can be recalled.
    newest: PhaseBits,
    counters: TxCounters,
}

impl<W: TransmitWay> RawTransmit<W> {
    /// Makes the half. `queue`: maximum number of frames that are held.
    pub(super) fn new(
        shared: Arc<SharedSockets>,
        way: W,
        queue: usize,
        (fd, xl): (bool, bool),
    ) -> Self {
        let slots = way.slots().max(1);
        Self {
            shared,
            way,
            queue: queue.min(slots),
            rule: EchoMode::AsAsked,
            echo: vec![false; slots].into_boxed_slice(),
            first: 0,
            count: 0,
            loopback: None,
            held: HoldReason::Unsent,
            warned: false,
            fd,
            xl,
            newest: PhaseBits::default(),
            counters: TxCounters::default(),
        }
    }

    pub(super) const fn with_echo(mut self, rule: EchoMode) -> Self {
        self.rule = rule;
        self
    }

    /// Returns whether a frame can be shown to local listeners.
    fn can_echo(&self) -> bool {
        match self.rule {
            EchoMode::AsAsked => true,
            EchoMode::ByDriver => self.shared.echo(),
            EchoMode::Never => false,
        }
    }

    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        let (id, mtu) = (frame.id(), self.shared.mtu());
        match frame.kind() {
            // An error frame reports a controller's state; it never goes on the bus.
            Kind::Classic => !id.is_err(),
            Kind::Fd => self.fd && mtu >= FD_SIZE && !id.is_err() && !id.is_rtr(),
            Kind::Xl => self.xl && mtu >= XL_MTU,
        }
    }

    /// Returns whether the frame can be sent, and be shown to local listeners if it must be.
    fn can_carry(&mut self, outgoing: &OutgoingFrame<'_>) -> bool {
        if !self.carries(&outgoing.frame) {
            return false;
        }
        if outgoing.echo && !self.can_echo() {
            self.warn_no_echo();
            return false;
        }
        true
    }

    #[cold]
    fn warn_no_echo(&mut self) {
        if !std::mem::replace(&mut self.warned, true) {
            self.shared.remark(format!(
                "with these ways to receive and to transmit, {} cannot echo frames to local \
                 programs: frames of routes with `echo = true` are refused",
                self.shared.interface()
            ));
        }
    }

    /// Drops all held frames, because they cannot leave any more.
    fn drop_all(&mut self) {
        self.counters.lost += self.count as u64;
        self.way.forget(self.first, self.count);
        self.count = 0;
        self.held = HoldReason::Unsent;
    }

    /// Removes the `n` oldest frames, which have left or are lost.
    fn leave(&mut self, n: usize) {
        let n = n.min(self.count);
        self.count -= n;
        self.first = (self.first + n) % self.echo.len();
    }

    /// Returns the number of the oldest frames in adjacent slots with the same loopback setting,
    /// and that setting.
    fn run(&self) -> (usize, bool) {
        let end = self.echo.len().min(self.first + self.count);
        let run = self.echo.get(self.first..end).unwrap_or_default();
        // Without echo in the driver, and on a vcan, frames reach other sockets only by the
        // kernel's loopback.
        let always = self.shared.needs_loopback() && self.rule == EchoMode::AsAsked;
        let first = always || run.first().copied().unwrap_or(false);
        let same = run.iter().take_while(|echo| (always || **echo) == first);
        (same.count(), first)
    }

    fn set_loopback(&mut self, on: bool) {
        if self.loopback != Some(on) && self.way.set_loopback(on).is_ok() {
            self.loopback = Some(on);
        }
    }
}

impl<W: TransmitWay> Transmit for RawTransmit<W> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.can_carry(&outgoing) {
            return Err(TransmitRefusal::Unsupported);
        }
        if self.count >= self.queue && self.held == HoldReason::Unsent {
            // A batch can be larger than the queue: the queue is for frames that the interface has
            // no room for, and the half has not tried to send these yet. Errors show in the
            // counters.
            let _ = self.flush(now);
        }
        if !self.shared.retry(now) {
            return Err(TransmitRefusal::Down);
        }
        if self.count >= self.queue {
            return Err(TransmitRefusal::Full);
        }
        let i = (self.first + self.count) % self.echo.len();
        let (Some((slot, len)), Some(echo)) = (self.way.slot(i), self.echo.get_mut(i)) else {
            return Err(TransmitRefusal::Full);
        };
        *len = encode(outgoing.frame, slot).ok_or(TransmitRefusal::Unsupported)?;
        *echo = outgoing.echo;
        self.count += 1;
        self.counters.taken += 1;
        self.newest = wire::unstuffed(outgoing.frame.header());
        self.counters.bits += u64::from(self.newest.nominal);
        self.counters.data_bits += u64::from(self.newest.data);
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let mut sent = 0;
        while self.count > 0 {
            if !self.shared.retry(now) {
                self.drop_all();
                break;
            }
            let (run, loopback) = self.run();
            self.set_loopback(loopback);
            match self.way.send(self.first, run) {
                Ok(n) if n > 0 => {
                    self.leave(n);
                    sent += n;
                    self.held = HoldReason::Unsent;
                }
                Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => {
                    self.counters.stalled += 1;
                    self.held = HoldReason::Socket;
                    break;
                }
                Err(Errno::NOBUFS | Errno::NOMEM) => {
                    self.counters.stalled += 1;
                    self.held = HoldReason::Queue(now.saturating_add(RETRY));
                    break;
                }
                Err(Errno::NETDOWN) => self.shared.suspend(SocketState::Down, now),
                Err(Errno::NODEV | Errno::NXIO) => self.shared.suspend(SocketState::Gone, now),
                // This one frame cannot be sent (the MTU has changed, for example).
                Err(e) => {
                    let moved = self.way.leave_out(self.first, self.count);
                    self.first = (self.first + moved) % self.echo.len();
                    self.count -= 1;
                    self.counters.lost += 1;
                    let name = self.shared.interface();
                    self.shared.remark(format!("{name} refused a frame: {e}"));
                }
            }
        }
        self.counters.sent += sent as u64;
        Ok(FlushReport {
            sent,
            held: self.count,
        })
    }

    fn room(&self) -> usize {
        match self.shared.state() {
            SocketState::Up => self.queue.saturating_sub(self.count),
            _ => usize::MAX,
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        match self.held {
            _ if self.count == 0 => None,
            HoldReason::Unsent => Some(0),
            HoldReason::Socket => None,
            HoldReason::Queue(at) => Some(at),
        }
    }

    fn refuses(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        if !self.can_carry(outgoing) {
            return Some(TransmitRefusal::Unsupported);
        }
        (!self.shared.retry(now)).then_some(TransmitRefusal::Down)
    }

    fn recall(&mut self) -> bool {
        let ours = self.count == 1 && self.way.owns_slots();
        if ours {
            self.count = 0;
            self.counters.taken -= 1;
            self.counters.bits -= u64::from(self.newest.nominal);
            self.counters.data_bits -= u64::from(self.newest.data);
            self.held = HoldReason::Unsent;
        }
        ours
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.count as u64,
            ..self.counters
        }
    }
}

impl<W: TransmitWay + 'static> PollTransmit for RawTransmit<W> {
    fn wait(&self) -> PortWait {
        let full = self.count > 0 && self.held == HoldReason::Socket;
        PortWait {
            fd: full.then(|| self.way.fd()),
            readable: false,
            writable: full,
        }
    }
}
