//! `recvmmsg`: many datagrams per call, into buffers that are allocated once, with the kernel's
//! stamps.

use super::super::way::{CallResult, DatagramArrival, ReceiveWay};
use linux::Errno;
use linux::can::CanSocket;
use linux::mmsg::{DatagramControl, MmsgInbox};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

/// Maximum number of datagrams in one call.
const BATCH: usize = 64;

/// The way to receive by `recvmmsg`. `S`: a datagram socket.
pub(in super::super) struct ByRecvmmsg<S> {
    socket: S,
    inbox: MmsgInbox,
}

impl<S> ByRecvmmsg<S> {
    /// Makes the way. `size`: the largest datagram to expect.
    pub(in super::super) fn new(socket: S, size: usize) -> Self {
        Self {
            socket,
            inbox: MmsgInbox::new(BATCH, size),
        }
    }
}

impl<S: AsFd + AsRawFd + LossCount + Send> ReceiveWay for ByRecvmmsg<S> {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno> {
        let want = want.min(self.inbox.capacity());
        let count = self.inbox.receive(&self.socket, want)?;
        for i in 0..count {
            let Some((bytes, control)) = self.inbox.get(i) else {
                continue;
            };
            let control = DatagramControl::parse(control);
            take(DatagramArrival {
                bytes,
                software: control.software,
                hardware: control.hardware,
                lost: control.lost,
                local: self.inbox.is_local(i),
            });
        }
        let more = count == want;
        Ok(CallResult { count, more })
    }

    fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }
}

/// A socket that may report how many frames it lost.
pub(in super::super) trait LossCount {
    fn lost(&self) -> Option<u32>;
}

impl LossCount for Arc<CanSocket> {
    fn lost(&self) -> Option<u32> {
        (**self).lost()
    }
}
