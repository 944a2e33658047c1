//! Buffers for datagrams to send.
#![allow(unsafe_code, reason = "sendmmsg(2)")]

use super::header::header;
use super::send::sendmmsg;
use crate::errno::last_errno;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;

/// Buffers for datagrams to send, allocated once.
pub struct MmsgOutbox {
    slot: usize,
    data: Box<[u8]>,
    lens: Box<[usize]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: the raw pointers in `headers` and `vectors` are the reason why it is not Send
// automatically. They are written by `send_to` before each system call and used only by that call,
// within the same borrow of the whole; their targets are irrelevant afterwards.
unsafe impl Send for MmsgOutbox {}

impl MmsgOutbox {
    /// Creates room for `count` datagrams of at most `slot` bytes; both at least 1.
    #[must_use]
    pub fn new(count: usize, slot: usize) -> Self {
        let (count, slot) = (count.max(1), slot.max(1));
        Self {
            slot,
            data: vec![0; count.saturating_mul(slot)].into_boxed_slice(),
            lens: vec![0; count].into_boxed_slice(),
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    /// Returns the number of datagrams for which there is room.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lens.len()
    }

    /// Returns a slot's bytes and the length of its datagram, for writing.
    #[inline]
    pub fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        // There are as many lengths as slots, so that nothing below overflows.
        let len = self.lens.get_mut(i)?;
        let data = self.data.get_mut(i * self.slot..)?.get_mut(..self.slot)?;
        Some((data, len))
    }

    /// Sends `count` datagrams from slot `first` on, up to the last slot, by a non-blocking
    /// sendmmsg(2); returns the number that was sent, at least 1 where there is one to send.
    ///
    /// # Errors
    /// The error of sendmmsg(2).
    pub fn send(&mut self, socket: impl AsFd, first: usize, count: usize) -> Result<usize, Errno> {
        self.send_to(socket.as_fd(), first, count)
    }

    fn send_to(
        &mut self,
        socket: BorrowedFd<'_>,
        first: usize,
        count: usize,
    ) -> Result<usize, Errno> {
        self.headers.clear();
        self.vectors.clear();
        let slots = self.data.chunks_exact_mut(self.slot);
        let slots = slots.zip(&self.lens).skip(first).take(count);
        self.vectors.extend(slots.map(|(slot, len)| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: (*len).min(slot.len()),
        }));
        let vectors = self.vectors.iter_mut();
        let headers = vectors.map(|vector| header(vector, std::ptr::null_mut(), 0));
        self.headers.extend(headers);
        // SAFETY: `headers` has as many elements as the call is given, each with one iovec over the
        // first bytes of its own slot of `data`, no more than the slot has, which the kernel reads.
        // All of them live in a box and vectors that `self` borrows mutably for longer than the
        // call and that no code moves in between: both vectors hold at most as many elements as
        // there are slots, and were allocated for that number. There is no name and no ancillary
        // data. The descriptor is borrowed, so it is open.
        let n = unsafe {
            sendmmsg(
                socket,
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
            )
        };
        usize::try_from(n).map_err(|_| last_errno())
    }

    /// Sends the datagram of slot `first` by write(2); returns 1. Blocks on a blocking socket.
    ///
    /// # Errors
    /// The error of write(2); EINVAL where there is no such slot.
    pub fn write_one(&mut self, socket: impl AsFd, first: usize) -> Result<usize, Errno> {
        let (slot, len) = self.slot(first).ok_or(Errno::INVAL)?;
        let datagram = slot.get(..*len).ok_or(Errno::INVAL)?;
        rustix::io::write(socket, datagram)?;
        Ok(1)
    }
}
