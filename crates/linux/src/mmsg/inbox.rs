//! Buffers for received datagrams.
#![allow(unsafe_code, reason = "recvmmsg(2)")]

use super::control::CONTROL_SIZE;
use super::header::{DONT_WAIT, header};
use crate::errno::last_errno;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// Buffers for received datagrams, and the headers over them, set up once: a call for one datagram
/// costs no more because there could be many.
pub struct MmsgInbox {
    slot: usize,
    data: Box<[u8]>,
    control: Box<[u8]>,
    headers: Vec<libc::mmsghdr>,
    /// Only the kernel reads these, through `headers`.
    _vectors: Vec<libc::iovec>,
    /// Number of datagrams of the last call.
    count: usize,
}

// SAFETY: the raw pointers in `headers` and `_vectors` are the reason why it is not Send
// automatically. They lead into boxes and vectors that belong to the same value, do not move with
// it and are never given another length; they are used by `receive_from` only, which borrows the
// whole mutably.
unsafe impl Send for MmsgInbox {}

impl MmsgInbox {
    /// Creates room for `count` datagrams of at most `slot` bytes; both at least 1.
    #[must_use]
    pub fn new(count: usize, slot: usize) -> Self {
        let (count, slot) = (count.max(1), slot.max(1));
        let mut data = vec![0; count.saturating_mul(slot)].into_boxed_slice();
        let mut control = vec![0; count.saturating_mul(CONTROL_SIZE)].into_boxed_slice();
        let vector = |slot: &mut [u8]| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        };
        let mut vectors: Vec<_> = data.chunks_exact_mut(slot).map(vector).collect();
        let parts = vectors
            .iter_mut()
            .zip(control.chunks_exact_mut(CONTROL_SIZE));
        let headers = parts
            .map(|(vector, control)| header(vector, control.as_mut_ptr().cast(), CONTROL_SIZE))
            .collect();
        Self {
            slot,
            data,
            control,
            headers,
            _vectors: vectors,
            count: 0,
        }
    }

    /// Returns the number of datagrams for which there is room.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.control.len() / CONTROL_SIZE
    }

    /// Returns the bytes and the ancillary data of a datagram of the last call.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<(&[u8], &[u8])> {
        // There are as many headers as slots, so that nothing below overflows.
        let header = self.headers.get(..self.count)?.get(i)?;
        let data = self.data.get(i * self.slot..)?.get(..self.slot)?;
        let control = self.control.get(i * CONTROL_SIZE..)?.get(..CONTROL_SIZE)?;
        let len = (header.msg_len as usize).min(data.len());
        #[allow(clippy::unnecessary_cast)] // 32 bits wide with musl
        let control_len = (header.msg_hdr.msg_controllen as usize).min(control.len());
        Some((&data[..len], &control[..control_len]))
    }

    /// Returns whether a datagram of the last call was sent on this machine (raw(7):
    /// MSG_DONTROUTE).
    #[inline]
    #[must_use]
    pub fn is_local(&self, i: usize) -> bool {
        self.has_flag(i, libc::MSG_DONTROUTE)
    }

    /// Returns whether it was sent by the very socket that received it (MSG_CONFIRM).
    #[inline]
    #[must_use]
    pub fn is_own(&self, i: usize) -> bool {
        self.has_flag(i, libc::MSG_CONFIRM)
    }

    #[inline]
    fn has_flag(&self, i: usize, flag: libc::c_int) -> bool {
        let header = self.headers.get(..self.count).and_then(|all| all.get(i));
        header.is_some_and(|h| h.msg_hdr.msg_flags & flag != 0)
    }

    /// Receives at most `want` datagrams by a non-blocking recvmmsg(2); returns their number.
    ///
    /// # Errors
    /// The error of recvmmsg(2).
    pub fn receive(&mut self, socket: impl AsFd, want: usize) -> Result<usize, Errno> {
        self.receive_from(socket.as_fd(), want)
    }

    fn receive_from(&mut self, socket: BorrowedFd<'_>, want: usize) -> Result<usize, Errno> {
        let want = want.min(self.headers.len());
        // Reset the fields that the kernel wrote in the headers of the last call; the others are
        // unchanged.
        for header in self.headers.iter_mut().take(self.count) {
            header.msg_hdr.msg_controllen = CONTROL_SIZE as _;
            header.msg_hdr.msg_flags = 0;
        }
        self.count = 0;
        // SAFETY: `headers` has at least `want` elements, each with one iovec over its own slot of
        // `data` and its own slot of `control`, with their true lengths: `new` made them so, the
        // length of `control`, which the kernel changes, is set again above for all headers that it
        // wrote to, and no other code writes to any. Boxes and vectors were not given another
        // length since `new`, so all are where they were; `self` is borrowed mutably: no other code
        // reads them during the call. No name and no timeout is requested. The descriptor is
        // borrowed, so it is open.
        let n = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                want as libc::c_uint,
                DONT_WAIT,
                std::ptr::null_mut(),
            )
        };
        self.count = usize::try_from(n).map_err(|_| last_errno())?;
        Ok(self.count)
    }
}
