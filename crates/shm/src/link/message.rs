//! Messages of the protocol: one number, perhaps with a file descriptor.

use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Sends a number. Never waits.
///
/// # Errors
/// EAGAIN if the peer does not read; errors of sendmsg(2).
pub(super) fn send(
    stream: impl AsFd,
    number: i64,
    fd: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let fds: Vec<_> = fd.into_iter().collect();
    if !fds.is_empty() {
        with.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let bytes = number.to_le_bytes();
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = sendmsg(stream, &[IoSlice::new(&bytes)], &mut with, flags)?;
    if sent == bytes.len() {
        Ok(())
    } else {
        Err(Errno::AGAIN)
    }
}

/// The part of a number that has been received so far.
#[derive(Debug, Default)]
pub(super) struct NumberInbox {
    bytes: [u8; 8],
    filled: usize,
    fd: Option<OwnedFd>,
}

impl NumberInbox {
    /// Returns the next number; `None` if it has not been received completely. Never waits.
    ///
    /// # Errors
    /// ECONNRESET if the server has ended; errors of recvmsg(2).
    pub(super) fn receive(
        &mut self,
        stream: impl AsFd,
    ) -> Result<Option<(i64, Option<OwnedFd>)>, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = RecvAncillaryBuffer::new(&mut space);
        let room = self.bytes.get_mut(self.filled..).unwrap_or_default();
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let got = match recvmsg(stream, &mut [IoSliceMut::new(room)], &mut with, flags) {
            Ok(got) => got.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        for message in with.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fd = fds.last().or(self.fd.take());
            }
        }
        if got == 0 {
            return Err(Errno::CONNRESET);
        }
        self.filled += got;
        if self.filled < self.bytes.len() {
            return Ok(None);
        }
        self.filled = 0;
        Ok(Some((i64::from_le_bytes(self.bytes), self.fd.take())))
    }
}
