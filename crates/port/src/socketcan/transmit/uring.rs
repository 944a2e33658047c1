//! `io_uring`: a chain of requests per call, each of which begins when the previous one was sent.

use super::super::way::TransmitWay;
use super::slots::LoopbackControl;
use linux::Errno;
use linux::uring::{UringOutbox, UringUnavailable};
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// The way to transmit by io_uring. `S`: a datagram socket.
pub(in super::super) struct ByUring<S> {
    socket: S,
    outbox: UringOutbox,
}

impl<S: AsFd> ByUring<S> {
    /// Makes the way. `size`: the largest datagram to send.
    ///
    /// # Errors
    /// [`UringUnavailable`], if this kernel has no io_uring.
    pub(in super::super) fn new(
        socket: S,
        queue: usize,
        size: usize,
    ) -> Result<Self, UringUnavailable> {
        let outbox = UringOutbox::open(&socket, queue, size)?;
        Ok(Self { socket, outbox })
    }
}

impl<S: AsFd + AsRawFd + LoopbackControl + Send> TransmitWay for ByUring<S> {
    /// Returns the socket's descriptor: requests do not wait for room, so that the worker never
    /// waits for the ring.
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn slots(&self) -> usize {
        self.outbox.capacity()
    }

    fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        self.outbox.slot(i)
    }

    fn set_loopback(&mut self, on: bool) -> Result<(), Errno> {
        self.socket.set_loopback(on)
    }

    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        self.outbox.send(first, count)
    }
}
