//! When interfaces come, go, or change.

use crate::Errno;
use crate::netlink::{Error, bound};
use rustix::net::{RecvFlags, SocketFlags, recv};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `RTMGRP_LINK`
const GROUP: u32 = 1;

/// Says when interfaces come, go, or change.
pub struct Events(OwnedFd);

impl Events {
    /// Begins to listen.
    ///
    /// # Errors
    /// [`Error::Socket`]
    pub fn open() -> Result<Self, Error> {
        bound(GROUP, SocketFlags::NONBLOCK).map(Self)
    }

    /// To wait for: it is readable when something has changed.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes what is there; what it was in detail, nobody needs: the kernel is asked anew. True if
    /// there was anything.
    pub fn drain(&self) -> bool {
        let (mut any, mut buffer) = (false, [0; 4096]);
        loop {
            match recv(&self.0, buffer.as_mut_slice(), RecvFlags::empty()) {
                // Some were lost, because there were too many.
                Ok(_) | Err(Errno::NOBUFS) => any = true,
                Err(Errno::INTR) => {}
                Err(_) => return any,
            }
        }
    }
}
