//! `write` and `sendmmsg`: from slots that are allocated once, one or many datagrams per call.

use super::super::way::TransmitWay;
use linux::Errno;
use linux::can::CanSocket;
use linux::mmsg::MmsgOutbox;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

/// The way to transmit by `write` or `sendmmsg`. `S`: a non-blocking datagram socket.
pub(in super::super) struct FromSlots<S> {
    socket: S,
    outbox: MmsgOutbox,
    one_by_one: bool,
}

impl<S> FromSlots<S> {
    /// Makes the way, which uses `write` if `one_by_one`, else `sendmmsg`. `size`: the largest
    /// datagram to send.
    pub(in super::super) fn new(socket: S, queue: usize, size: usize, one_by_one: bool) -> Self {
        Self {
            socket,
            outbox: MmsgOutbox::new(queue, size),
            one_by_one,
        }
    }
}

impl<S: AsFd + AsRawFd + LoopbackControl + Send> TransmitWay for FromSlots<S> {
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

    fn owns_slots(&self) -> bool {
        true
    }

    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        if self.one_by_one {
            self.outbox.write_one(&self.socket, first)
        } else {
            self.outbox.send(&self.socket, first, count)
        }
    }
}

/// A socket that can show the frames sent on it to local listeners, or not.
pub(in super::super) trait LoopbackControl {
    fn set_loopback(&self, on: bool) -> Result<(), Errno>;
}

impl LoopbackControl for Arc<CanSocket> {
    fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        (**self).set_loopback(on)
    }
}
