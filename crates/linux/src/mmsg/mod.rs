//! Many datagrams a call: buffers that are allocated once, for recvmmsg(2) and sendmmsg(2), and
//! for read(2) and write(2) of one.
//!
//! They work on any datagram socket: what matters is in the buffers, not in the descriptor.
#![allow(unsafe_code, reason = "recvmmsg(2) and sendmmsg(2)")]

mod prepared;

pub use prepared::{MOST_A_CALL, Prepared};

use crate::can::CONTROL_SIZE;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::mem::zeroed;

/// Buffers for datagrams that come in, allocated once.
pub struct Inbox {
    slot: usize,
    data: Box<[u8]>,
    control: Box<[u8]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

/// Buffers for datagrams that go out, allocated once.
pub struct Outbox {
    slot: usize,
    data: Box<[u8]>,
    lens: Box<[usize]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: what keeps these from being Send are the raw pointers in `headers` and `vectors`. They
// are written by `receive` and `send` before each system call and used in no other way than by
// that call, within the same borrow of the whole; to whom they point is of no meaning afterwards.
unsafe impl Send for Inbox {}
// SAFETY: as for Inbox.
unsafe impl Send for Outbox {}

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

impl Outbox {
    /// Room for `count` datagrams of at most `slot` bytes; both at least 1.
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

    /// Datagrams that it has room for.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lens.len()
    }

    /// A slot's bytes and the length of its datagram, to be written.
    #[inline]
    pub fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        // As many lengths as slots, so that nothing below overflows.
        let len = self.lens.get_mut(i)?;
        let data = self.data.get_mut(i * self.slot..)?.get_mut(..self.slot)?;
        Some((data, len))
    }

    /// sendmmsg(2) of `count` datagrams from slot `first` on, without waiting; the number that
    /// left, at least 1 where there is one to send. No further than to the last slot.
    ///
    /// # Errors
    /// What the call says.
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
        // SAFETY: as in `receive_from`, with slots whose first bytes the kernel reads; the vectors
        // hold at most as many as there are slots, and were allocated for so many.
        let n = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(n).map_err(|_| last_errno())
    }

    /// The datagram of slot `first` by write(2); 1. A socket that waits, waits.
    ///
    /// # Errors
    /// What the call says; EINVAL where there is no such slot.
    pub fn write_one(&mut self, socket: impl AsFd, first: usize) -> Result<usize, Errno> {
        let (slot, len) = self.slot(first).ok_or(Errno::INVAL)?;
        let datagram = slot.get(..*len).ok_or(Errno::INVAL)?;
        rustix::io::write(socket, datagram)?;
        Ok(1)
    }
}

/// A message of one part, with room for ancillary data or none.
fn header(
    vector: *mut libc::iovec,
    control: *mut libc::c_void,
    control_len: usize,
) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers, for which zero is valid.
    let mut header: libc::mmsghdr = unsafe { zeroed() };
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_control = control;
    header.msg_hdr.msg_controllen = control_len as _;
    header
}

/// What the last system call of this thread through libc said.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    fn pair() -> (UnixDatagram, UnixDatagram) {
        let (a, b) = UnixDatagram::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        b.set_nonblocking(true).unwrap();
        (a, b)
    }

    fn put(outbox: &mut Outbox, i: usize, bytes: &[u8]) {
        let (slot, len) = outbox.slot(i).unwrap();
        slot[..bytes.len()].copy_from_slice(bytes);
        *len = bytes.len();
    }

    fn all(inbox: &Inbox, n: usize) -> Vec<Vec<u8>> {
        (0..n).map(|i| inbox.get(i).unwrap().0.to_vec()).collect()
    }

    #[test]
    fn slots_go_out_and_come_in_as_they_were() {
        let (a, b) = pair();
        let (mut outbox, mut inbox) = (Outbox::new(3, 4), Inbox::new(2, 4));
        put(&mut outbox, 0, b"zero");
        put(&mut outbox, 1, b"one");
        put(&mut outbox, 2, b"2");
        assert_eq!(outbox.send(&a, 1, 2), Ok(2));
        assert_eq!(outbox.write_one(&a, 0), Ok(1));
        assert_eq!(inbox.receive(&b, 100), Ok(2), "as many as there are slots");
        assert_eq!(all(&inbox, 2), [&b"one"[..], b"2"]);
        assert!(inbox.get(2).is_none() && inbox.get(usize::MAX).is_none());
        assert_eq!(inbox.read_one(&b), Ok(1));
        assert_eq!(all(&inbox, 1), [b"zero"]);
        assert!(inbox.get(1).is_none(), "of the call before");
        assert_eq!(inbox.receive(&b, 2), Err(Errno::AGAIN));
        assert!(inbox.get(0).is_some_and(|(bytes, _)| bytes.is_empty()));
    }

    /// What is asked for beyond the slots is left out, and a length that lies reads no foreign
    /// byte.
    #[test]
    fn nothing_beyond_the_last_slot() {
        let (a, b) = pair();
        let (mut outbox, mut inbox) = (Outbox::new(2, 4), Inbox::new(4, 8));
        put(&mut outbox, 0, b"aaaa");
        put(&mut outbox, 1, b"bbbb");
        *outbox.slot(1).unwrap().1 = 100;
        assert!(outbox.slot(2).is_none() && outbox.slot(usize::MAX).is_none());
        assert_eq!(outbox.send(&a, 1, 100), Ok(1));
        assert_eq!(outbox.send(&a, 2, 1), Ok(0));
        assert_eq!(outbox.write_one(&a, 1), Err(Errno::INVAL));
        assert_eq!(outbox.write_one(&a, 2), Err(Errno::INVAL));
        assert_eq!(inbox.receive(&b, 4), Ok(1));
        assert_eq!(all(&inbox, 1), [b"bbbb"]);
    }

    #[test]
    fn a_datagram_that_is_too_long_is_cut_off() {
        let (a, b) = pair();
        let mut inbox = Inbox::new(1, 4);
        a.send(b"long one").unwrap();
        assert_eq!(inbox.receive(&b, 1), Ok(1));
        assert_eq!(all(&inbox, 1), [b"long"]);
    }
}
