//! `io_uring`: the kernel puts each datagram into a buffer that was provided before, with its
//! stamps. When the worker wakes up, the datagram is already there: no call is needed to fetch it.

use super::super::way::{CallResult, DatagramArrival, ReceiveWay};
use super::mmsg::LossCount;
use linux::Errno;
use linux::mmsg::DatagramControl;
use linux::uring::{UringInbox, UringUnavailable};
use std::os::fd::{AsFd, RawFd};

/// Number of buffers, each for one datagram. Further datagrams wait in the socket.
const BUFFERS: usize = 64;

/// The way to receive by io_uring. `S`: a datagram socket.
pub(in super::super) struct ByUring<S> {
    socket: S,
    inbox: UringInbox,
}

impl<S: AsFd> ByUring<S> {
    /// Makes the way. `size`: the largest datagram to expect.
    ///
    /// # Errors
    /// [`UringUnavailable`], if this kernel has no io_uring.
    pub(in super::super) fn new(socket: S, size: usize) -> Result<Self, UringUnavailable> {
        let inbox = UringInbox::open(&socket, BUFFERS, size)?;
        Ok(Self { socket, inbox })
    }
}

impl<S: AsFd + LossCount + Send> ReceiveWay for ByUring<S> {
    fn fd(&self) -> RawFd {
        self.inbox.fd()
    }

    fn is_due(&self) -> bool {
        !self.inbox.is_armed()
    }

    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno> {
        let count = self.inbox.receive(want)?;
        for i in 0..count {
            // A datagram that cannot be parsed has no bytes: it is counted as malformed.
            let (bytes, control) = self.inbox.get(i).unwrap_or_default();
            let control = DatagramControl::parse(control);
            take(DatagramArrival {
                bytes,
                software: control.software,
                hardware: control.hardware,
                lost: control.lost,
                local: self.inbox.is_local(i),
            });
        }
        let more = count == want.min(self.inbox.capacity());
        Ok(CallResult { count, more })
    }

    fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }
}
