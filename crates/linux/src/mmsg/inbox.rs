//! Datagrams that come in.
#![allow(unsafe_code, reason = "recvmmsg(2)")]

use super::control::CONTROL_SIZE;
use super::header::header;
use crate::errno::last_errno;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// Buffers for datagrams that come in, allocated once.
pub struct Inbox {
    slot: usize,
    data: Box<[u8]>,
    control: Box<[u8]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: what keeps it from being Send are the raw pointers in `headers` and `vectors`. They are
// written by `receive_from` before each system call and used in no other way than by that call, within
// the same borrow of the whole; to whom they point is of no meaning afterwards.
unsafe impl Send for Inbox {}

impl Inbox {
    /// Room for `count` datagrams of at most `slot` bytes; both at least 1.
    #[must_use]
    pub fn new(count: usize, slot: usize) -> Self {
        let (count, slot) = (count.max(1), slot.max(1));
        Self {
            slot,
            data: vec![0; count.saturating_mul(slot)].into_boxed_slice(),
            control: vec![0; count.saturating_mul(CONTROL_SIZE)].into_boxed_slice(),
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    /// Datagrams that it has room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.control.len() / CONTROL_SIZE
    }

    /// The bytes and the ancillary data of a datagram of the last call.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<(&[u8], &[u8])> {
        // No more headers than slots, so that nothing below overflows.
        let header = self.headers.get(i)?;
        let data = self.data.get(i * self.slot..)?.get(..self.slot)?;
        let control = self.control.get(i * CONTROL_SIZE..)?.get(..CONTROL_SIZE)?;
        let len = (header.msg_len as usize).min(data.len());
        #[allow(clippy::unnecessary_cast)] // 32 bits wide with musl
        let control_len = (header.msg_hdr.msg_controllen as usize).min(control.len());
        Some((&data[..len], &control[..control_len]))
    }

    /// Was a datagram of the last call sent on this machine (raw(7): MSG_DONTROUTE)?
    #[inline]
    #[must_use]
    pub fn is_local(&self, i: usize) -> bool {
        let header = self.headers.get(i);
        header.is_some_and(|h| h.msg_hdr.msg_flags & libc::MSG_DONTROUTE != 0)
    }

    /// recvmmsg(2) of at most `want` datagrams, without waiting; how many came.
    ///
    /// # Errors
    /// What the call says.
    pub fn receive(&mut self, socket: impl AsFd, want: usize) -> Result<usize, Errno> {
        self.receive_from(socket.as_fd(), want)
    }

    fn receive_from(&mut self, socket: BorrowedFd<'_>, want: usize) -> Result<usize, Errno> {
        let want = want.min(self.capacity());
        self.headers.clear();
        self.vectors.clear();
        let data = self.data.chunks_exact_mut(self.slot);
        self.vectors.extend(data.take(want).map(|slot| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        }));
        let control = self.control.chunks_exact_mut(CONTROL_SIZE);
        let parts = self.vectors.iter_mut().zip(control);
        let headers = parts
            .map(|(vector, control)| header(vector, control.as_mut_ptr().cast(), CONTROL_SIZE));
        self.headers.extend(headers);
        // SAFETY: `headers` has as many elements as are said, each with one iovec over its own slot
        // of `data` and its own slot of `control`, with their true lengths. All of them live in
        // boxes and vectors that `self` borrows mutably for longer than the call and that nobody
        // moves in between: both vectors were allocated for as many elements as there are slots,
        // so that extending them moved nothing. No name and no timeout is asked for. The descriptor is borrowed, so it is open.
        let n = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(n).map_err(|_| last_errno())
    }

    /// One datagram by read(2) into the first slot; 1. A socket that waits, waits.
    ///
    /// # Errors
    /// What the call says.
    pub fn read_one(&mut self, socket: impl AsFd) -> Result<usize, Errno> {
        let slot = self.data.get_mut(..self.slot).ok_or(Errno::INVAL)?;
        let n = rustix::io::read(socket, slot)?;
        let mut header = header(std::ptr::null_mut(), std::ptr::null_mut(), 0);
        header.msg_len = n as libc::c_uint;
        self.headers.clear();
        self.headers.push(header);
        Ok(1)
    }
}
