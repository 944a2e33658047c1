//! Results and counters of a half of a port.

use crate::faults::FaultCounters;
use serde::{Deserialize, Serialize};

/// The result of a call of [`Receive::receive`](crate::Receive::receive).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxReport {
    /// Frames handed over.
    pub frames: usize,
    /// More frames may be available immediately: call again before waiting.
    pub more: bool,
    /// No frame will ever come again (end of a file).
    pub finished: bool,
    /// The result of [`Receive::link`](crate::Receive::link) may have changed.
    pub news: bool,
    /// Frames that the transmitting half of this port held have left or were given up: it is
    /// flushed once more, so that it reports what it still holds.
    pub ended: bool,
}

/// The result of [`Transmit::flush`](crate::Transmit::flush).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlushReport {
    /// Frames that left in this call.
    pub sent: usize,
    /// Frames that wait for another call. (A frame in a bus's own transmit queue does not: it is
    /// only in [`TxCounters::held`].)
    pub held: usize,
}

/// The result that a frame was taken; the port counts its further fate ([`TxCounters`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepted;

/// Reason why a port did not take a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitRefusal {
    /// Its queue is full.
    Full,
    /// It is down, gone or bus-off at the moment.
    Down,
    /// It cannot carry this kind of frame: FD on a classic bus, a bare RTR on FD, XL.
    Unsupported,
}

/// Counters of a port's receiving side. Frames counted here never reached the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RxCounters {
    /// Frames that were lost because a receive queue was full: the socket's (SO_RXQ_OVFL), or the
    /// controller's FIFO. SocketCAN's controllers report an overflow but not the number of lost
    /// frames: each report counts as one.
    pub overrun: u64,
    /// Input that was not a valid frame: a bad line of a log, a short read.
    pub malformed: u64,
    /// Error frames of the controller that were received and not handed on.
    pub error_frames: u64,
    /// Number of times that the port was lost and opened again.
    pub reopened: u64,
    /// Frames that programs on this machine sent, if the port can distinguish them. They are among
    /// the frames received.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub local: u64,
    /// Faults that were injected on purpose.
    #[serde(default, skip_serializing_if = "FaultCounters::is_none")]
    pub faults: FaultCounters,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RxCounters {
    /// Returns the counts since the counters were at `base`.
    #[must_use]
    pub(crate) const fn since(&self, base: &Self) -> Self {
        Self {
            overrun: self.overrun.saturating_sub(base.overrun),
            malformed: self.malformed.saturating_sub(base.malformed),
            error_frames: self.error_frames.saturating_sub(base.error_frames),
            reopened: self.reopened.saturating_sub(base.reopened),
            local: self.local.saturating_sub(base.local),
            faults: self.faults.since(&base.faults),
        }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.overrun += other.overrun;
        self.malformed += other.malformed;
        self.error_frames += other.error_frames;
        self.reopened += other.reopened;
        self.local += other.local;
        self.faults.add(&other.faults);
    }
}

/// Counters of a port's transmitting side: the fate of frames after
/// [`Transmit::transmit`](crate::Transmit::transmit) took them. `taken + faults.duplicated = sent +
/// lost + expired + displaced + held`, always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TxCounters {
    /// Frames taken by [`Transmit::transmit`](crate::Transmit::transmit).
    pub taken: u64,
    /// Frames that were handed to the kernel, written to the file, or sent on the bus.
    pub sent: u64,
    /// Frames that were taken and then lost: interface gone or down, bus-off, one-shot failure, or
    /// still waiting when the port failed or was closed.
    pub lost: u64,
    /// Frames that were taken and dropped, because they had waited for the port's maximum time.
    #[serde(default)]
    pub expired: u64,
    /// Frames that were taken and dropped, because the queue was full and a newer frame took the
    /// place.
    #[serde(default)]
    pub displaced: u64,
    /// Frames that were taken and are still waiting.
    pub held: u64,
    /// Number of times that the other side had no room (ENOBUFS, a full ring) and the frame was
    /// kept.
    pub stalled: u64,
    /// Faults that were injected on purpose.
    #[serde(default, skip_serializing_if = "FaultCounters::is_none")]
    pub faults: FaultCounters,
}

impl TxCounters {
    /// Returns the number of frames whose end is known.
    #[must_use]
    pub const fn gone(&self) -> u64 {
        self.sent + self.lost + self.expired + self.displaced
    }

    /// Returns the counts since the counters were at `base`. `over`: the port will send nothing
    /// more, so the frames that it holds are lost.
    #[must_use]
    pub(crate) fn since(&self, base: &Self, over: bool) -> Self {
        // Frames that were held at `base` are not counted here. They leave first, so the port's
        // `sent`, `lost` and `held` at `base` count as one: gone.
        let before = base.gone() + base.held;
        let faults = self.faults.since(&base.faults);
        let taken = self.taken.saturating_sub(base.taken);
        let held = self.held.min(taken + faults.duplicated);
        let lost = self.lost.saturating_sub(base.lost);
        let gone = (self.gone() + self.held).saturating_sub(before);
        let expired = self.expired.saturating_sub(base.expired);
        let displaced = self.displaced.saturating_sub(base.displaced);
        let (lost, held) = if over { (lost + held, 0) } else { (lost, held) };
        Self {
            taken,
            sent: gone.saturating_sub(lost + expired + displaced + held),
            lost,
            expired,
            displaced,
            held,
            stalled: self.stalled.saturating_sub(base.stalled),
            faults,
        }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.sent += other.sent;
        self.lost += other.lost;
        self.expired += other.expired;
        self.displaced += other.displaced;
        self.held += other.held;
        self.stalled += other.stalled;
        self.faults.add(&other.faults);
    }
}
