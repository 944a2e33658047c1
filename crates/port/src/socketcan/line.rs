//! What the halves need of a socket, so that tests can put something else in its place.

use super::config::Io;
use crate::RawFilter;
use linux::Errno;
use linux::can::{Filter, InterfaceState, Socket};
use linux::mmsg::{Inbox, Outbox};
use std::os::fd::{AsRawFd, RawFd};

/// A raw CAN socket.
pub(super) trait Line: Send + Sync {
    /// For polling.
    fn fd(&self) -> RawFd;
    /// How the interface is; `NODEV` where there is none of this name.
    fn look(&self) -> Result<InterfaceState, Errno>;
    /// Binds to the interface of this number.
    fn attach(&self, index: u32) -> Result<(), Errno>;
    /// Replaces the kernel's filters.
    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno>;
    /// Are local listeners to see frames sent from now on?
    fn set_loopback(&self, on: bool) -> Result<(), Errno>;
    /// Receives at most `want` datagrams without waiting.
    fn receive(&self, inbox: &mut Inbox, want: usize) -> Result<usize, Errno>;
    /// Frames that the socket lost since it was opened, modulo 2^32; `None` where the kernel does not
    /// say. What is said beside a frame is of the time when that frame came.
    fn lost(&self) -> Option<u32> {
        None
    }
    /// Sends `count` datagrams from slot `first` on without waiting; how many left, at least 1.
    fn send(&self, outbox: &mut Outbox, first: usize, count: usize) -> Result<usize, Errno>;
}

/// A real socket, and by which system calls its frames are moved.
pub(super) struct RawLine {
    socket: Socket,
    io: Io,
}

impl RawLine {
    pub(super) const fn new(socket: Socket, io: Io) -> Self {
        Self { socket, io }
    }
}

impl Line for RawLine {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn look(&self) -> Result<InterfaceState, Errno> {
        self.socket.look()
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        self.socket.attach(index)
    }

    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno> {
        let filter = |f: &RawFilter| Filter {
            id: f.id,
            mask: f.mask,
        };
        let filters: Vec<Filter> = filters.iter().map(filter).collect();
        self.socket.set_filters(&filters)
    }

    fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        self.socket.set_loopback(on)
    }

    fn receive(&self, inbox: &mut Inbox, want: usize) -> Result<usize, Errno> {
        match self.io {
            Io::Mmsg => inbox.receive(&self.socket, want),
            Io::ReadWrite => inbox.read_one(&self.socket),
        }
    }

    fn send(&self, outbox: &mut Outbox, first: usize, count: usize) -> Result<usize, Errno> {
        match self.io {
            Io::Mmsg => outbox.send(&self.socket, first, count),
            Io::ReadWrite => outbox.write_one(&self.socket, first),
        }
    }

    fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }
}
