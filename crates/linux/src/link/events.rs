//! Notification that interfaces appear, disappear, or change.

use crate::Errno;
use crate::netlink::{Error, bound};
use rustix::net::{RecvFlags, SocketFlags, recv};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `RTMGRP_LINK`
const GROUP: u32 = 1;

/// A socket that indicates that interfaces appear, disappear, or change.
pub struct LinkEvents(OwnedFd);

impl LinkEvents {
    /// Subscribes to the events.
    ///
    /// # Errors
    /// [`Error::Socket`]
    pub fn open() -> Result<Self, Error> {
        bound(GROUP, SocketFlags::NONBLOCK).map(Self)
    }

    /// Returns the descriptor to wait for: it is readable when something has changed.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes the waiting events, without their details, which no caller needs: the kernel is
    /// queried anew. Returns true if there was any.
    pub fn drain(&self) -> bool {
        let (mut any, mut buffer) = (false, [0; 4096]);
        loop {
            match recv(&self.0, buffer.as_mut_slice(), RecvFlags::empty()) {
                // Some events were lost, because there were too many.
                Ok(_) | Err(Errno::NOBUFS) => any = true,
                Err(Errno::INTR) => {}
                Err(_) => return any,
            }
        }
    }
}
