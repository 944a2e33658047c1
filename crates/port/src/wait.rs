//! Halves that can be waited for in poll(2) or epoll_wait(2).
//!
//! [`Receive`] and [`Transmit`] say a time at which they want to be called again. A half of this
//! crate says besides which file descriptor brings it work earlier: that means something only where
//! there is an operating system, so it is said here and not in the engine.

use engine::{Nothing, Nowhere, Receive, Transmit, wrap};
use linux::events::Member;
use std::os::fd::RawFd;

/// Which file descriptor to wait for. A port that waits for several puts them into an epoll of its
/// own, or into the one that ports have in common ([`PollReceive::events`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    /// A file descriptor to wait for until the next call on the half; `None` where there is none,
    /// and only the half's deadline counts. As long as the half lives, the same number is to be the
    /// same open file: who waits tells the kernel only when the number changes.
    pub fd: Option<RawFd>,
    /// Poll it for reading.
    pub readable: bool,
    /// Poll it for writing.
    pub writable: bool,
}

/// A receiving half for a worker that waits, perhaps in a thread of its own.
pub trait PollReceive: Receive + Send {
    /// Call again when this is ready, or at [`Receive::deadline`], whichever comes first.
    fn wait(&self) -> Wait;

    /// The half's descriptors are in a set that ports have in common: who waits for several of them
    /// waits in the set, which brings each what is its own. [`PollReceive::wait`] is true of such a
    /// half, too: the set can be waited for as one descriptor, by whoever then asks all its halves.
    fn events(&self) -> Option<&Member> {
        None
    }

    /// The half is not to be waited for: as long as one such half says so, the worker asks all its
    /// ports again and again. It still heeds everything else, and may step back for a moment, so
    /// that [`PollReceive::wait`] is true of such a half, too.
    fn is_busy(&self) -> bool {
        false
    }

    /// Is it certain that nothing has happened since the last call of [`Receive::receive`]? Where
    /// all halves can say so, a worker that does not wait need not ask them.
    fn is_quiet(&self) -> bool {
        false
    }
}

/// A transmitting half for a worker that waits, perhaps in a thread of its own.
pub trait PollTransmit: Transmit + Send {
    /// While frames are held: flush again when this is ready, or at [`Transmit::deadline`],
    /// whichever comes first.
    fn wait(&self) -> Wait;
}

/// Both halves of a port.
pub type Halves = (Box<dyn PollReceive>, Box<dyn PollTransmit>);

impl<H: PollReceive + ?Sized> PollReceive for Box<H> {
    fn wait(&self) -> Wait {
        (**self).wait()
    }

    fn events(&self) -> Option<&Member> {
        (**self).events()
    }

    fn is_busy(&self) -> bool {
        (**self).is_busy()
    }

    fn is_quiet(&self) -> bool {
        (**self).is_quiet()
    }
}

impl<H: PollTransmit + ?Sized> PollTransmit for Box<H> {
    fn wait(&self) -> Wait {
        (**self).wait()
    }
}

impl PollReceive for Nothing {
    fn wait(&self) -> Wait {
        Wait::default()
    }
}

impl PollTransmit for Nowhere {
    fn wait(&self) -> Wait {
        Wait::default()
    }
}

impl<H: PollTransmit> PollTransmit for wrap::Queued<H> {
    fn wait(&self) -> Wait {
        self.half().wait()
    }
}

impl<H: PollReceive> PollReceive for wrap::Faulty<H> {
    fn wait(&self) -> Wait {
        self.half().wait()
    }

    fn events(&self) -> Option<&Member> {
        self.half().events()
    }

    fn is_busy(&self) -> bool {
        self.half().is_busy()
    }
}

impl<H: PollTransmit> PollTransmit for wrap::Faulty<H> {
    fn wait(&self) -> Wait {
        self.half().wait()
    }
}
