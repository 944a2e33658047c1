//! Halves that can be waited for in poll(2) or epoll_wait(2).
//!
//! [`Receive`] and [`Transmit`] return a time at which they want to be called again. A half of this
//! crate also names the file descriptor that brings it work earlier. That is meaningful only with
//! an operating system, so it is defined here and not in the engine.

use engine::{NullReceiver, NullTransmitter, Receive, Transmit, wrap};
use linux::events::SetMember;
use std::any::Any;
use std::os::fd::RawFd;

/// The file descriptor to wait for. A port that waits for several puts them into an epoll instance
/// of its own, or into the one that ports have in common ([`PollReceive::events`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortWait {
    /// A file descriptor to wait for until the next call on the half; `None` where there is none,
    /// and only the half's deadline counts. As long as the half lives, the same number must be the
    /// same open file: the worker updates its registration with the kernel only when the number
    /// changes.
    pub fd: Option<RawFd>,
    /// Whether to poll it for reading.
    pub readable: bool,
    /// Whether to poll it for writing.
    pub writable: bool,
}

/// A receiving half for a worker that waits, perhaps in a thread of its own. It is [`Any`], so that
/// a worker can put a half of a known type around it and take that away again.
pub trait PollReceive: Receive + Send + Any {
    /// Returns the descriptor to wait for. The worker calls the half again when it is ready, or at
    /// [`Receive::deadline`], whichever comes first.
    fn wait(&self) -> PortWait;

    /// Returns the half's membership in an event set that ports have in common, if its descriptors
    /// are in one. A worker with several such ports waits for the set, which dispatches the events
    /// to each of them. [`PollReceive::wait`] is valid for such a half, too: a worker can wait for
    /// the set as one descriptor, if it then calls all halves in the set.
    fn events(&self) -> Option<&SetMember> {
        None
    }

    /// Returns whether the worker must not wait for the half: as long as one half returns true, the
    /// worker calls all its ports again and again. It still watches everything else, and may pause
    /// for a moment, so that [`PollReceive::wait`] is valid for such a half, too.
    fn is_busy(&self) -> bool {
        false
    }

    /// Returns whether it is certain that nothing has happened since the last call of
    /// [`Receive::receive`]. If it is for all halves, a worker that does not wait need not call
    /// them.
    fn is_quiet(&self) -> bool {
        false
    }
}

/// A transmitting half for a worker that waits, perhaps in a thread of its own; [`Any`] as
/// [`PollReceive`].
pub trait PollTransmit: Transmit + Send + Any {
    /// Returns the descriptor to wait for while frames are held. The worker flushes again when it
    /// is ready, or at [`Transmit::deadline`], whichever comes first.
    fn wait(&self) -> PortWait;
}

/// Both halves of a port.
pub type Halves = (Box<dyn PollReceive>, Box<dyn PollTransmit>);

/// A half around another one, which alone knows what to wait for.
pub trait HalfInside {
    /// The half inside.
    type Half: ?Sized;

    /// Returns the half inside.
    fn inside(&self) -> &Self::Half;
}

impl<H: ?Sized> HalfInside for Box<H> {
    type Half = H;

    fn inside(&self) -> &H {
        self
    }
}

impl<H> HalfInside for wrap::FaultyHalf<H> {
    type Half = H;

    fn inside(&self) -> &H {
        self.half()
    }
}

impl<H, T> HalfInside for wrap::TappedHalf<H, T>
where
    T: wrap::HalfTap,
{
    type Half = H;

    fn inside(&self) -> &H {
        self.half()
    }
}

impl<H: Transmit> HalfInside for wrap::QueuedTransmitter<H> {
    type Half = H;

    fn inside(&self) -> &H {
        self.half()
    }
}

// Nothing may fall back to a default of the trait here: a wrapper that is never quiet, for example,
// ends the worker's quick look at all ports.
#[deny(clippy::missing_trait_methods)]
impl<W: HalfInside<Half: PollReceive> + Receive + Send + 'static> PollReceive for W {
    fn wait(&self) -> PortWait {
        self.inside().wait()
    }

    fn events(&self) -> Option<&SetMember> {
        self.inside().events()
    }

    fn is_busy(&self) -> bool {
        self.inside().is_busy()
    }

    fn is_quiet(&self) -> bool {
        self.inside().is_quiet()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<W: HalfInside<Half: PollTransmit> + Transmit + Send + 'static> PollTransmit for W {
    fn wait(&self) -> PortWait {
        self.inside().wait()
    }
}

impl PollReceive for NullReceiver {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

impl PollTransmit for NullTransmitter {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{PortError, ReceivedFrame, RxCounters, RxReport};
    use frame::Nanos;

    /// A half whose answers all differ from the defaults of [`PollReceive`].
    struct QuietReceiver;

    impl Receive for QuietReceiver {
        fn receive(
            &mut self,
            _now: Nanos,
            _budget: usize,
            _take: &mut dyn FnMut(ReceivedFrame<'_>),
        ) -> Result<RxReport, PortError> {
            Ok(RxReport::default())
        }

        fn deadline(&self) -> Option<Nanos> {
            None
        }

        fn counters(&self) -> RxCounters {
            RxCounters::default()
        }
    }

    const WAIT: PortWait = PortWait {
        fd: Some(7),
        readable: true,
        writable: true,
    };

    impl PollReceive for QuietReceiver {
        fn wait(&self) -> PortWait {
            WAIT
        }

        fn is_busy(&self) -> bool {
            true
        }

        fn is_quiet(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_half_with_faults_is_as_busy_and_quiet_as_the_half_inside() {
        let half = wrap::FaultyHalf::new(QuietReceiver, wrap::FaultChances::default(), 1);
        let half: Box<dyn PollReceive> = Box::new(half.unwrap());
        assert_eq!(
            (half.wait(), half.is_busy(), half.is_quiet()),
            (WAIT, true, true)
        );
    }
}
