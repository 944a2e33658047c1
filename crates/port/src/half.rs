//! The two halves of a port, and what passes through them.

use crate::Interest;
use frame::{FrameRef, Nanos};
use std::os::fd::RawFd;

/// A number that follows a frame through the gateway, from [`Received`] to
/// [`Transmit::transmit`]: the embedded bus and the tester use it to know a frame again whatever
/// was changed in it. Ports without such a number give and ignore 0.
pub type Token = u64;

/// Who took a time stamp, and so what it means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StampSource {
    /// Nobody: the gateway read its clock when it took the frame.
    #[default]
    Gateway,
    /// The embedded bus, exact, at the end of frame.
    Bus,
    /// A controller, at the end of frame.
    Hardware,
    /// The kernel, in or shortly after the receive interrupt.
    Kernel,
    /// The line of a log.
    Log,
}

/// When a frame was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp {
    /// Nanoseconds; the epoch is the source's (bus start, Unix epoch).
    pub ns: Nanos,
    /// Who says so.
    pub source: StampSource,
}

/// A frame that came in, still where the port found it.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// When it was received.
    pub stamp: Stamp,
    /// How many gateways it has passed, where the port can tell; else 0.
    pub hops: u8,
    /// See [`Token`].
    pub token: Token,
}

/// A frame that is to leave, and what a port may need to know of where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// See [`Token`].
    pub token: Token,
    /// How many gateways it has passed, this one included; a port that can say so to the next
    /// gateway does.
    pub hops: u8,
    /// When it was received, where its route keeps the stamp (can-gw's `-t`): a log writes it
    /// in place of the time of sending.
    pub stamp: Option<Stamp>,
    /// Local listeners on the outgoing interface are to see it too (can-gw's `-e`).
    pub echo: bool,
}

impl<'a> Outgoing<'a> {
    /// A frame and its number, and nothing special about it.
    #[must_use]
    pub const fn new(frame: FrameRef<'a>, token: Token) -> Self {
        Self {
            frame,
            token,
            hops: 0,
            stamp: None,
            echo: false,
        }
    }
}

/// What a call of [`Receive::receive`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxReport {
    /// Frames handed over.
    pub frames: usize,
    /// There may be more at once: call again before waiting.
    pub more: bool,
    /// Nothing will ever come again (end of a file).
    pub finished: bool,
}

/// What a port counts of its receiving side. Frames counted here never reached the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxCounters {
    /// Lost because a receive queue was full (SO_RXQ_OVFL, a FIFO's overrun).
    pub overrun: u64,
    /// Input that was no frame: a bad line of a log, a short read.
    pub malformed: u64,
    /// Error frames of the controller that were seen and not handed on.
    pub error_frames: u64,
    /// How often the port was lost and taken up again.
    pub reopened: u64,
}

/// What a port counts of its transmitting side: the fate of frames after [`Transmit::transmit`]
/// took them. `taken = sent + lost + held`, always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxCounters {
    /// Frames taken by [`Transmit::transmit`].
    pub taken: u64,
    /// Handed to the kernel, written to the file, sent on the bus.
    pub sent: u64,
    /// Taken and then lost: interface gone or down, bus-off, one-shot failure.
    pub lost: u64,
    /// Taken and still waiting.
    pub held: u64,
    /// Times that the other side had no room (ENOBUFS, a full ring) and the frame was kept.
    pub stalled: u64,
}

/// What [`Transmit::flush`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlushReport {
    /// Frames that left in this call.
    pub sent: usize,
    /// Frames that wait for another call. (A frame in a bus's own transmit queue does not: it
    /// shows in [`TxCounters::held`] only.)
    pub held: usize,
}

/// A frame was taken; its further fate is the port's to count ([`TxCounters`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepted;

/// Why a port did not take a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Its queue is full.
    Full,
    /// It is down, gone or bus-off at the moment.
    Down,
    /// It cannot carry this kind of frame: FD on a classic bus, a bare RTR on FD, XL.
    Unsupported,
}

/// What to wait for before calling again: the descriptor or the deadline, whichever comes
/// first. A port that waits on several descriptors puts them into an epoll of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    /// A file descriptor to poll, valid until the next call on the port.
    pub fd: Option<RawFd>,
    /// Poll it for reading.
    pub readable: bool,
    /// Poll it for writing.
    pub writable: bool,
    /// Call again at this time at the latest, in the time that is passed in.
    pub deadline: Option<Nanos>,
}

/// Both halves of a port.
pub type Halves = (Box<dyn Receive>, Box<dyn Transmit>);

/// A port that cannot go on. What can be survived (down, unplugged, no buffers) is survived
/// inside the port and shows in its counters.
#[derive(thiserror::Error, Debug)]
#[error("{port}: {what}")]
pub struct PortError {
    /// The port's name.
    pub port: String,
    /// What happened, what it means and what to do.
    pub what: String,
    /// The operating system's error, where there was one.
    #[source]
    pub source: Option<std::io::Error>,
}

/// The receiving half of a port.
pub trait Receive: Send {
    /// Hands up to `budget` frames to `take`, oldest first, without blocking. `now` is the
    /// gateway's time.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError>;

    /// What to wait for.
    fn wait(&self) -> Wait;

    /// What was counted so far.
    fn counters(&self) -> RxCounters;

    /// Says which frames can be of use from now on, so that a port may leave the others out
    /// (kernel filters). It may still hand over more than that; it loses no frame that both
    /// the old and the new interest name. Called at the start and after a reload.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        let _ = interest;
        Ok(())
    }

    /// Can frames come in at the moment? False while an interface is down or gone.
    fn is_up(&self) -> bool {
        true
    }

    /// What a user should be told besides the counters, in sentences: the first bad lines of a
    /// log, why an interface was lost. Bounded; not for every batch.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The transmitting half of a port.
pub trait Transmit: Send {
    /// Takes a frame for transmission, or refuses it; never blocks, never allocates. What was
    /// taken may wait until [`Transmit::flush`].
    ///
    /// # Errors
    /// [`Refused`] says why not; the frame is untouched.
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused>;

    /// Sends what waits, as far as the other side has room.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError>;

    /// What to wait for while frames are held.
    fn wait(&self) -> Wait;

    /// What was counted so far.
    fn counters(&self) -> TxCounters;

    /// What a user should be told besides the counters, as in [`Receive::remarks`].
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<H: Receive + ?Sized> Receive for Box<H> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        (**self).receive(now, budget, take)
    }

    fn wait(&self) -> Wait {
        (**self).wait()
    }

    fn counters(&self) -> RxCounters {
        (**self).counters()
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        (**self).set_interest(interest)
    }

    fn is_up(&self) -> bool {
        (**self).is_up()
    }

    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
}

impl<H: Transmit + ?Sized> Transmit for Box<H> {
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        (**self).transmit(now, outgoing)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        (**self).flush(now)
    }

    fn wait(&self) -> Wait {
        (**self).wait()
    }

    fn counters(&self) -> TxCounters {
        (**self).counters()
    }

    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
}
