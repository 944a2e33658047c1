//! The traits of the ways to move frames, each of which has a file in `receive` or `transmit`. A
//! way only knows which system calls to use; filters, states of the interface, queues and counters
//! belong to the halves.

use frame::Nanos;
use linux::Errno;
use std::os::fd::RawFd;

/// A received datagram, in the buffer of the way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DatagramArrival<'a> {
    /// One of the kernel's frame structures.
    pub(super) bytes: &'a [u8],
    /// The kernel's stamp, Unix time, ns.
    pub(super) software: Option<Nanos>,
    /// The controller's stamp, ns, with an epoch of its own.
    pub(super) hardware: Option<Nanos>,
    /// Number of frames that the socket had lost when this one came, modulo 2^32.
    pub(super) lost: Option<u32>,
    /// True if it was sent on this machine.
    pub(super) local: bool,
}

/// The result of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CallResult {
    /// Number of datagrams that were handed over.
    pub(super) count: usize,
    /// True if there may be more at once.
    pub(super) more: bool,
}

/// A way to receive.
pub(super) trait ReceiveWay: Send {
    /// Returns a descriptor that is readable when there is something to receive.
    fn fd(&self) -> RawFd;

    /// Hands over at most `want` datagrams without waiting.
    ///
    /// # Errors
    /// The kernel's error: EAGAIN if nothing is there, ENETDOWN once when the interface went down,
    /// ENODEV if it is gone.
    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno>;

    /// Returns the number of frames that were lost since the socket was opened, modulo 2^32; `None`
    /// if the kernel does not report it. The number that comes with a frame
    /// ([`DatagramArrival::lost`]) is of the time when that frame came.
    fn lost(&self) -> Option<u32> {
        None
    }

    /// Returns whether the next call must come at once, because [`ReceiveWay::fd`] does not become
    /// readable before it.
    fn is_due(&self) -> bool {
        false
    }

    /// Returns whether the worker must call it again and again, and never wait for it.
    fn is_busy(&self) -> bool {
        false
    }
}

/// A way to transmit: a circular buffer of slots, in which the held frames are adjacent.
pub(super) trait TransmitWay: Send {
    /// Returns a descriptor that is writable when there is room after EAGAIN.
    fn fd(&self) -> RawFd;

    /// Returns the number of slots, which is at least the number of frames that the port can hold.
    fn slots(&self) -> usize;

    /// Returns a slot's bytes and the length of its datagram, for writing; `None` if the kernel
    /// still uses the slot.
    fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)>;

    /// Sets whether local listeners see frames sent from now on.
    ///
    /// # Errors
    /// The kernel's error.
    fn set_loopback(&mut self, on: bool) -> Result<(), Errno>;

    /// Sends `count` datagrams from slot `first` on without waiting; returns how many left, at
    /// least 1. They leave in order. The others are still there, and are given again at the next
    /// call.
    ///
    /// # Errors
    /// The kernel's error if none left: EAGAIN (wait for [`TransmitWay::fd`]), ENOBUFS (the
    /// interface has no room), ENETDOWN, ENODEV, or the reason why it refuses the first one.
    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno>;

    /// Returns whether the kernel has no access to a frame in a slot before [`TransmitWay::send`]
    /// sends it.
    fn owns_slots(&self) -> bool {
        false
    }

    /// Drops `count` held frames from slot `first` on, which cannot be sent any more.
    fn forget(&mut self, _first: usize, _count: usize) {}

    /// Leaves out the first of these frames, which cannot be sent. Returns by how many slots the
    /// start of the others has moved.
    fn leave_out(&mut self, _first: usize, _count: usize) -> usize {
        1
    }
}
