//! What a way to move frames is: a file each in `receive` and `transmit`. Which way the kernel is
//! asked by is all they know; filters, states of the interface, queues and counters are the
//! halves'.

use frame::Nanos;
use linux::Errno;
use std::os::fd::RawFd;

/// A datagram that came in, in place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival<'a> {
    /// One of the kernel's frame structures.
    pub(super) bytes: &'a [u8],
    /// When the kernel saw it, Unix time, ns.
    pub(super) software: Option<Nanos>,
    /// The controller's stamp, ns, with an epoch of its own.
    pub(super) hardware: Option<Nanos>,
    /// Frames that the socket had lost when this one came, modulo 2^32.
    pub(super) lost: Option<u32>,
    /// Sent on this machine.
    pub(super) local: bool,
}

/// What one call brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Brought {
    /// Datagrams that were handed over.
    pub(super) count: usize,
    /// There may be more at once.
    pub(super) more: bool,
}

/// A way to receive.
pub(super) trait ReceiveWay: Send {
    /// Ready for reading when there is something to receive.
    fn fd(&self) -> RawFd;

    /// Hands over at most `want` datagrams without waiting.
    ///
    /// # Errors
    /// What the kernel says: EAGAIN where nothing is there, ENETDOWN once when the interface went
    /// down, ENODEV where it is gone.
    fn receive(&mut self, want: usize, take: &mut dyn FnMut(Arrival<'_>))
    -> Result<Brought, Errno>;

    /// Frames that were lost since the socket was opened, modulo 2^32; `None` where the kernel does
    /// not say. What is said beside a frame ([`Arrival::lost`]) is of the time when that frame
    /// came.
    fn lost(&self) -> Option<u32> {
        None
    }

    /// [`ReceiveWay::fd`] says nothing before the next call, which is therefore to come at once.
    fn is_due(&self) -> bool {
        false
    }

    /// It is to be asked again and again, and never waited for.
    fn is_busy(&self) -> bool {
        false
    }
}

/// A way to transmit: slots in a circle, of which the oldest that are held lie side by side.
pub(super) trait TransmitWay: Send {
    /// Ready for writing when there is room after EAGAIN.
    fn fd(&self) -> RawFd;

    /// Slots in the circle, at least as many as the port holds frames.
    fn slots(&self) -> usize;

    /// A slot's bytes and the length of its datagram, to be written; `None` where the kernel still
    /// has it.
    fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)>;

    /// Are local listeners to see frames sent from now on?
    ///
    /// # Errors
    /// What the kernel says.
    fn set_loopback(&mut self, on: bool) -> Result<(), Errno>;

    /// Sends `count` datagrams from slot `first` on without waiting; how many left, at least 1.
    /// They leave in order. The others are still there, and are given again at the next call.
    ///
    /// # Errors
    /// What the kernel says where none left: EAGAIN (wait for [`TransmitWay::fd`]), ENOBUFS (the
    /// interface has no room), ENETDOWN, ENODEV, or what it has against the first one.
    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno>;

    /// Does the kernel know nothing of a frame in a slot before [`TransmitWay::send`] sends it?
    fn slots_are_ours(&self) -> bool {
        false
    }

    /// These will not be sent: what is held cannot leave any more.
    fn forget(&mut self, _first: usize, _count: usize) {}

    /// The first of these cannot be sent and is left out; by how many slots the others begin later
    /// now.
    fn leave_out(&mut self, _first: usize, _count: usize) -> usize {
        1
    }
}
