//! `read`: one datagram a call. Frames have the gateway's own stamps, and what the socket lost is
//! asked for when somebody looks at the counters.

use super::super::way::{Arrival, Brought, ReceiveWay};
use super::mmsg::Lost;
use linux::Errno;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// `S`: a datagram socket that does not wait.
pub(in super::super) struct ByRead<S> {
    socket: S,
    buffer: Box<[u8]>,
    busy: bool,
}

impl<S> ByRead<S> {
    /// `size`: the largest datagram to expect. `busy`: never to be waited for.
    pub(in super::super) fn new(socket: S, size: usize, busy: bool) -> Self {
        Self {
            socket,
            buffer: vec![0; size].into_boxed_slice(),
            busy,
        }
    }
}

impl<S: AsFd + AsRawFd + Lost + Send> ReceiveWay for ByRead<S> {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn receive(
        &mut self,
        _want: usize,
        take: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<Brought, Errno> {
        let len = linux::read(&self.socket, &mut self.buffer)?;
        take(Arrival {
            bytes: self.buffer.get(..len).unwrap_or_default(),
            ..Arrival::default()
        });
        // A call that finds nothing costs more than it brings: frames leave first, then the worker
        // looks whether there are more.
        Ok(Brought {
            count: 1,
            more: false,
        })
    }

    fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }

    fn is_busy(&self) -> bool {
        self.busy
    }
}
