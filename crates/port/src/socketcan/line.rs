//! What the halves need of a socket, so that tests can put something else in its place.

use super::sys::{Inbox, Outbox};
use crate::RawFilter;
use rustix::fd::RawFd;
use rustix::io::Errno;

/// The state of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Link {
    /// Its number, another one each time it is plugged in.
    pub(super) index: u32,
    /// Its largest frame in bytes, which says what kinds it carries.
    pub(super) mtu: usize,
    /// Switched on (`IFF_UP`).
    pub(super) up: bool,
    /// Has a carrier (`IFF_RUNNING`): not bus-off.
    pub(super) running: bool,
    /// The driver echoes sent frames to local listeners.
    pub(super) echo: bool,
}

/// A raw CAN socket.
pub(super) trait Line: Send + Sync {
    /// For polling.
    fn fd(&self) -> RawFd;
    /// How the interface is; `NODEV` where there is none of this name.
    fn look(&self) -> Result<Link, Errno>;
    /// Binds to the interface of this number.
    fn attach(&self, index: u32) -> Result<(), Errno>;
    /// Replaces the kernel's filters.
    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno>;
    /// Are local listeners to see frames sent from now on?
    fn set_loopback(&self, on: bool) -> Result<(), Errno>;
    /// Receives at most `want` datagrams without waiting.
    fn receive(&self, inbox: &mut Inbox, want: usize) -> Result<usize, Errno>;
    /// Frames that the socket lost since it was opened, modulo 2^32, where they are not said
    /// beside the frames.
    fn lost(&self) -> Option<u32> {
        None
    }
    /// Sends `count` datagrams from slot `first` on without waiting; how many left, at least 1.
    fn send(&self, outbox: &mut Outbox, first: usize, count: usize) -> Result<usize, Errno>;
}
