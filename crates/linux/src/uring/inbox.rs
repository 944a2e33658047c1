//! Buffers for received datagrams.

use super::buffers::{GROUP, RingBuffers};
use super::error::UringUnavailable;
use super::ring::SocketRing;
use crate::Errno;
use io_uring::opcode;
use io_uring::types::Fixed;
use std::os::fd::{AsFd, RawFd};

/// The mark of the receiving request.
const RECEIVE: u64 = 1;

/// A datagram that was taken out of the ring; its buffer is not given back yet.
#[derive(Clone, Copy)]
struct TakenDatagram {
    buffer: u16,
    /// Number of bytes that the kernel wrote.
    len: usize,
}

/// Buffers for datagrams that are received by io_uring, allocated once.
///
/// One request receives all of them. It ends where the buffers are all in use, and with each error;
/// [`UringInbox::receive`] submits it anew. Datagrams that arrive meanwhile wait in the socket, so
/// that only those are lost for which the socket itself has no room. The kernel does its work in
/// the thread that called [`UringInbox::receive`] when the request was submitted.
pub struct UringInbox {
    ring: SocketRing,
    buffers: RingBuffers,
    /// The receiving request is under way.
    armed: bool,
    /// The error that ended the request; it is reported after the datagrams before it.
    failure: Option<Errno>,
    taken: Vec<TakenDatagram>,
    /// How often all buffers were in use.
    starved: u64,
}

impl UringInbox {
    /// Creates room for `count` datagrams (rounded up to a power of two, at most 32768) of at most
    /// `slot` bytes, from this socket. Nothing is received before the first
    /// [`UringInbox::receive`].
    ///
    /// # Errors
    /// [`UringUnavailable`].
    pub fn open(socket: impl AsFd, count: usize, slot: usize) -> Result<Self, UringUnavailable> {
        let mut buffers = RingBuffers::new(count, slot);
        // A completion for each buffer, one for each end of the request, and some to spare.
        let completions = 2 * u32::from(buffers.count()) + 4;
        let mut ring = SocketRing::new(socket, 4, completions, buffers.memory())?;
        buffers.register(&mut ring)?;
        Ok(Self {
            taken: Vec::with_capacity(usize::from(buffers.count())),
            ring,
            buffers,
            armed: false,
            failure: None,
            starved: 0,
        })
    }

    /// Returns the descriptor for polling: it is readable when a datagram has arrived. Valid only
    /// as long as [`UringInbox::is_armed`].
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.ring.fd()
    }

    /// Returns whether the kernel receives. Where it does not, the caller must call
    /// [`UringInbox::receive`], even if nothing has arrived.
    #[inline]
    #[must_use]
    pub const fn is_armed(&self) -> bool {
        self.armed && self.failure.is_none()
    }

    /// Returns the number of datagrams for which there is room.
    #[must_use]
    pub fn capacity(&self) -> usize {
        usize::from(self.buffers.count())
    }

    /// Returns how often all buffers were in use, so that receiving had to begin anew.
    #[must_use]
    pub const fn starved(&self) -> u64 {
        self.starved
    }

    /// Returns the bytes and the ancillary data of a datagram of the last call.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<(&[u8], &[u8])> {
        let (_, data, control) = self.read(i)?;
        Some((data, control))
    }

    /// Returns whether a datagram of the last call was sent on this machine (raw(7):
    /// MSG_DONTROUTE).
    #[inline]
    #[must_use]
    pub fn is_local(&self, i: usize) -> bool {
        let read = self.read(i);
        read.is_some_and(|(flags, ..)| flags & libc::MSG_DONTROUTE as u32 != 0)
    }

    #[inline]
    fn read(&self, i: usize) -> Option<(u32, &[u8], &[u8])> {
        let taken = self.taken.get(i)?;
        // SAFETY: the completion of this buffer was taken, and it is provided again only when
        // `taken` is emptied, which needs `self` mutably.
        unsafe {
            self.buffers
                .read(self.ring.region(), taken.buffer, taken.len)
        }
    }

    /// Takes at most `want` datagrams out of the ring, without waiting; returns their number. The
    /// buffers of the last call are given back first.
    ///
    /// # Errors
    /// The error of recvmsg(2), after the datagrams before it; EAGAIN where no datagram has
    /// arrived.
    pub fn receive(&mut self, want: usize) -> Result<usize, Errno> {
        let want = want.min(self.capacity());
        self.give_back();
        if self.ring.wants_a_call() {
            self.call()?;
        }
        self.take(want);
        if !self.armed && self.failure.is_none() && self.taken.len() < want {
            self.arm()?;
            self.take(want);
        }
        match self.taken.len() {
            0 => Err(self.failure.take().unwrap_or(Errno::AGAIN)),
            n => Ok(n),
        }
    }

    /// Submits the request, and lets the kernel do its pending work.
    fn call(&mut self) -> Result<(), Errno> {
        match self.ring.enter(0) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            Err(other) => Err(other),
        }
    }

    fn arm(&mut self) -> Result<(), Errno> {
        if !self.ring.has_unsent() {
            self.put()?;
        }
        self.call()?;
        self.armed = !self.ring.has_unsent();
        Ok(())
    }

    /// Queues the receiving request.
    fn put(&mut self) -> Result<(), Errno> {
        let message = self.buffers.message(self.ring.region());
        let message = message.ok_or(Errno::FAULT)?.as_ptr();
        let request = opcode::RecvMsgMulti::new(Fixed(0), message, GROUP).build();
        // SAFETY: the message and the buffers are in the region. No code writes the message; of the
        // buffers the kernel writes only those that it took from their ring, which contains no
        // buffer that this process still reads.
        if unsafe { self.ring.push(&request.user_data(RECEIVE)) } {
            Ok(())
        } else {
            Err(Errno::NOBUFS)
        }
    }

    fn take(&mut self, want: usize) {
        while self.taken.len() < want && self.failure.is_none() {
            let Some(completion) = self.ring.next() else {
                return;
            };
            self.armed &= completion.mark != RECEIVE || completion.more;
            if let (Err(_), Some(buffer)) = (completion.result, completion.buffer)
                && buffer < self.buffers.count()
            {
                // The buffer is empty.
                self.buffers.provide(self.ring.region_mut(), buffer);
                self.buffers.publish(self.ring.region());
            }
            match (completion.result, completion.buffer) {
                (Ok(len), Some(buffer)) if buffer < self.buffers.count() => {
                    let len = len as usize;
                    self.taken.push(TakenDatagram { buffer, len });
                }
                (Err(Errno::NOBUFS), _) => self.starved += 1,
                (Ok(_) | Err(Errno::CANCELED | Errno::INTR | Errno::AGAIN), _) => {}
                (Err(other), _) => self.failure = Some(other),
            }
        }
    }

    /// Gives the buffers of the last call back to the kernel.
    fn give_back(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        while let Some(taken) = self.taken.pop() {
            self.buffers.provide(self.ring.region_mut(), taken.buffer);
        }
        self.buffers.publish(self.ring.region());
    }
}
