//! Many frames through a virtual interface by each of the calls that can carry them, to time
//! nothing but the calls (syscalls-2014 §3.1): all that a call needs is made before.
#![allow(
    unsafe_code,
    reason = "recvmmsg(2) and sendmmsg(2) on buffers made before"
)]

use super::layout::{CLASSIC_SIZE, encode};
use super::line::Line;
use super::sys::{self, Socket};
use super::{can_interfaces, no_interface, no_socket};
use crate::{PortError, RawFilter};
use frame::{CanId, Frame};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;

/// The most datagrams of one call (`UIO_MAXIOV`).
pub const MOST_A_CALL: u32 = 1_024;

/// What the kernel charges the receiving socket for a frame, at most, bytes (`truesize` of an
/// `sk_buff` with 16 bytes: below 1 KiB on all kernels since 2.6).
const CHARGE: u32 = 1_024;

/// Two raw sockets on one virtual interface: what one sends waits at the other.
pub struct Burst {
    sender: Socket,
    receiver: Socket,
    /// One frame's room for each datagram of a call.
    frames: Box<[[u8; CLASSIC_SIZE]]>,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
}

impl Burst {
    /// Opens the sockets, the receiving one with room for so many frames (CAP_NET_ADMIN for more
    /// than `net.core.rmem_max` allows).
    ///
    /// # Errors
    /// [`PortError`] that says what is missing and what to do.
    pub fn open(interface: &str, frames: u32) -> Result<Self, PortError> {
        let fail = |what: String, errno: Errno| PortError {
            port: interface.to_owned(),
            what,
            source: Some(errno.into()),
        };
        let opened = |filters: &[RawFilter]| {
            let socket = Socket::open(interface).map_err(|e| fail(no_socket(e), e))?;
            socket
                .set_filters(filters)
                .map_err(|e| fail("cannot set up a raw CAN socket".to_owned(), e))?;
            let index = socket.look().map(|link| link.index);
            index
                .and_then(|index| socket.attach(index))
                .map_err(|e| fail(no_interface(e, interface, &can_interfaces()), e))?;
            Ok(socket)
        };
        let receiver: Socket = opened(&[RawFilter { id: 0, mask: 0 }])?;
        let room = frames.saturating_mul(CHARGE).max(1 << 16);
        let got = receiver
            .set_receive_buffer(room)
            .and_then(|()| receiver.receive_buffer());
        // The kernel doubles what it is given, for its own use.
        if got.is_ok_and(|bytes| bytes / 2 < room) {
            return Err(PortError {
                port: interface.to_owned(),
                what: format!(
                    "the receiving socket may not have room for {frames} frames: run as root, \
                     raise net.core.rmem_max to {room}, or take fewer frames"
                ),
                source: None,
            });
        }
        Ok(Self::with(opened(&[])?, receiver))
    }

    fn with(sender: Socket, receiver: Socket) -> Self {
        let mut bytes = [0; CLASSIC_SIZE];
        let frame = Frame::classic(CanId::from_raw(0x123), &[0xA5; 8]).ok();
        let _ = frame.and_then(|frame| encode(frame.view(), &mut bytes));
        let mut frames = vec![bytes; MOST_A_CALL as usize].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = frames
            .iter_mut()
            .map(|frame| libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            })
            .collect();
        let headers = vectors
            .iter_mut()
            .map(|vector| sys::header(vector, std::ptr::null_mut(), 0))
            .collect();
        Self {
            sender,
            receiver,
            frames,
            vectors,
            headers,
        }
    }

    /// Sends `n` frames by as many write(2).
    ///
    /// # Errors
    /// What the call says.
    pub fn write(&mut self, n: u32) -> Result<(), Errno> {
        let Some(frame) = self.frames.first() else {
            return Ok(());
        };
        for _ in 0..n {
            self.sender.write(frame)?;
        }
        Ok(())
    }

    /// Receives `n` frames by as many read(2).
    ///
    /// # Errors
    /// What the call says; EAGAIN where there are fewer.
    pub fn read(&mut self, n: u32) -> Result<(), Errno> {
        let Some(frame) = self.frames.first_mut() else {
            return Ok(());
        };
        for _ in 0..n {
            self.receiver.read(frame)?;
        }
        Ok(())
    }

    /// Sends `n` frames by sendmmsg(2), as many a call as it takes.
    ///
    /// # Errors
    /// What the call says.
    pub fn sendmmsg(&mut self, n: u32) -> Result<(), Errno> {
        self.many(n, true)
    }

    /// Receives `n` frames by recvmmsg(2), as many a call as it takes.
    ///
    /// # Errors
    /// What the call says; EAGAIN where there are fewer.
    pub fn recvmmsg(&mut self, n: u32) -> Result<(), Errno> {
        self.many(n, false)
    }

    fn many(&mut self, n: u32, send: bool) -> Result<(), Errno> {
        debug_assert_eq!(self.vectors.len(), self.headers.len());
        let mut left = n;
        while left > 0 {
            let want = left.min(self.headers.len() as u32);
            // SAFETY: `headers` has at least `want` elements, each with one iovec of `vectors`
            // over its own frame of `frames`, with its true length. All three are boxes of this
            // value, which is borrowed mutably: nobody moves or reads them during the call.
            // No name, no control data, no timeout is asked for.
            let done = unsafe {
                if send {
                    libc::sendmmsg(
                        self.sender.as_fd().as_raw_fd(),
                        self.headers.as_mut_ptr(),
                        want,
                        libc::MSG_DONTWAIT,
                    )
                } else {
                    libc::recvmmsg(
                        self.receiver.as_fd().as_raw_fd(),
                        self.headers.as_mut_ptr(),
                        want,
                        libc::MSG_DONTWAIT,
                        std::ptr::null_mut(),
                    )
                }
            };
            match u32::try_from(done) {
                Ok(done) if done > 0 => left = left.saturating_sub(done),
                Ok(_) => return Err(Errno::AGAIN),
                Err(_) => return Err(sys::errno()),
            }
        }
        Ok(())
    }

    /// Throws away what waits at the receiver; says how much.
    pub fn empty(&mut self) -> u32 {
        let mut thrown = 0;
        while self.read(1).is_ok() {
            thrown += 1;
        }
        thrown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    /// Over a pair of sockets of another family: the calls and buffers are the same.
    fn pair() -> Burst {
        let (a, b) = UnixDatagram::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        b.set_nonblocking(true).unwrap();
        Burst::with(Socket::of(a.into()), Socket::of(b.into()))
    }

    #[test]
    fn what_is_sent_by_one_call_is_received_by_another() {
        let mut burst = pair();
        burst.write(3).unwrap();
        burst.recvmmsg(3).unwrap();
        burst.sendmmsg(5).unwrap();
        burst.read(5).unwrap();
        assert_eq!(burst.read(1), Err(Errno::AGAIN));
        assert_eq!(burst.recvmmsg(1), Err(Errno::AGAIN));
        burst.sendmmsg(2).unwrap();
        assert_eq!(burst.empty(), 2);
    }

    #[test]
    fn received_are_the_frames_that_were_sent() {
        let mut burst = pair();
        burst.sendmmsg(2).unwrap();
        let sent = burst.frames[0];
        for frame in &mut burst.frames {
            frame.fill(0);
        }
        burst.recvmmsg(2).unwrap();
        assert_eq!(burst.frames[..2], [sent; 2]);
        assert!(burst.headers[..2].iter().all(|h| h.msg_len == 16));
    }
}
