//! Datagrams whose buffers and headers are set up beforehand, so that only the calls take time.
#![allow(
    unsafe_code,
    reason = "recvmmsg(2) and sendmmsg(2) on buffers made before"
)]

use super::header::{DONT_WAIT, header};
use super::send::sendmmsg;
use crate::errno::last_errno;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// The most datagrams of one call (`UIO_MAXIOV`).
pub const MOST_A_CALL: u32 = 1_024;

/// [`MOST_A_CALL`] datagrams of `N` bytes, all with the same content initially.
pub struct PreparedDatagrams<const N: usize> {
    /// One buffer for each datagram of a call.
    frames: Vec<[u8; N]>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl<const N: usize> PreparedDatagrams<N> {
    /// Creates datagrams with this content.
    #[must_use]
    pub fn new(content: [u8; N]) -> Self {
        let mut frames = vec![content; MOST_A_CALL as usize];
        let mut vectors: Vec<libc::iovec> = frames
            .iter_mut()
            .map(|frame| libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            })
            .collect();
        let headers = vectors
            .iter_mut()
            .map(|vector| header(vector, std::ptr::null_mut(), 0))
            .collect();
        Self {
            frames,
            vectors,
            headers,
        }
    }

    /// Sends `n` datagrams by `n` calls of write(2).
    ///
    /// # Errors
    /// The error of write(2).
    pub fn write(&self, socket: impl AsFd, n: u32) -> Result<(), Errno> {
        let Some(frame) = self.frames.first() else {
            return Ok(());
        };
        let socket = socket.as_fd();
        for _ in 0..n {
            rustix::io::write(socket, frame)?;
        }
        Ok(())
    }

    /// Receives `n` datagrams by `n` calls of read(2).
    ///
    /// # Errors
    /// The error of read(2); EAGAIN where there are fewer and the socket is non-blocking.
    pub fn read(&mut self, socket: impl AsFd, n: u32) -> Result<(), Errno> {
        let Some(frame) = self.frames.first_mut() else {
            return Ok(());
        };
        let socket = socket.as_fd();
        for _ in 0..n {
            rustix::io::read(socket, &mut frame[..])?;
        }
        Ok(())
    }

    /// Sends `n` datagrams by non-blocking sendmmsg(2), as many per call as it accepts.
    ///
    /// # Errors
    /// The error of sendmmsg(2).
    pub fn sendmmsg(&mut self, socket: impl AsFd, n: u32) -> Result<(), Errno> {
        self.many(socket.as_fd(), n, true)
    }

    /// Receives `n` datagrams by non-blocking recvmmsg(2), as many per call as it returns.
    ///
    /// # Errors
    /// The error of recvmmsg(2); EAGAIN where there are fewer.
    pub fn recvmmsg(&mut self, socket: impl AsFd, n: u32) -> Result<(), Errno> {
        self.many(socket.as_fd(), n, false)
    }

    fn many(&mut self, socket: BorrowedFd<'_>, n: u32, send: bool) -> Result<(), Errno> {
        debug_assert_eq!(self.vectors.len(), self.headers.len());
        let mut left = n;
        while left > 0 {
            let want = left.min(self.headers.len() as u32);
            // SAFETY: `headers` has at least `want` elements, each with one iovec of `vectors` over
            // its own element of `frames`, with its true length. None of the three vectors was
            // changed in length since `new`, so all are where they were; `self` is borrowed
            // mutably: no other code reads them during the call. No name, no ancillary data, no
            // timeout is requested. The descriptor is borrowed, so it is open.
            let done = unsafe {
                if send {
                    sendmmsg(socket, self.headers.as_mut_ptr(), want)
                } else {
                    libc::c_long::from(libc::recvmmsg(
                        socket.as_raw_fd(),
                        self.headers.as_mut_ptr(),
                        want,
                        DONT_WAIT,
                        std::ptr::null_mut(),
                    ))
                }
            };
            match u32::try_from(done) {
                Ok(done) if done > 0 => left = left.saturating_sub(done),
                Ok(_) => return Err(Errno::AGAIN),
                Err(_) => return Err(last_errno()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    const CONTENT: [u8; 16] = *b"one of many same";

    fn pair() -> (PreparedDatagrams<16>, UnixDatagram, UnixDatagram) {
        let (a, b) = UnixDatagram::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        b.set_nonblocking(true).unwrap();
        (PreparedDatagrams::new(CONTENT), a, b)
    }

    #[test]
    fn what_is_sent_by_one_call_is_received_by_another() {
        let (mut burst, a, b) = pair();
        burst.write(&a, 3).unwrap();
        burst.recvmmsg(&b, 3).unwrap();
        burst.sendmmsg(&a, 5).unwrap();
        burst.read(&b, 5).unwrap();
        assert_eq!(burst.read(&b, 1), Err(Errno::AGAIN));
        assert_eq!(burst.recvmmsg(&b, 1), Err(Errno::AGAIN));
        burst.sendmmsg(&a, 2).unwrap();
        assert_eq!(burst.read(&b, 3), Err(Errno::AGAIN), "two were there");
        assert_eq!(burst.read(&b, 1), Err(Errno::AGAIN));
    }

    /// Also after it was moved elsewhere.
    #[test]
    fn received_are_the_frames_that_were_sent() {
        let (burst, a, b) = pair();
        let mut burst = Box::new(burst);
        burst.sendmmsg(&a, 2).unwrap();
        for frame in &mut burst.frames {
            frame.fill(0);
        }
        burst.recvmmsg(&b, 2).unwrap();
        assert_eq!(burst.frames[..2], [CONTENT; 2]);
        assert!(burst.headers[..2].iter().all(|h| h.msg_len == 16));
    }
}
