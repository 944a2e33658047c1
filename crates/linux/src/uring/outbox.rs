//! Buffers for datagrams to send.

use super::error::UringUnavailable;
use super::ring::SocketRing;
use crate::Errno;
use io_uring::types::Fixed;
use io_uring::{opcode, squeue};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The most datagrams of one call.
pub const MOST_A_CHAIN: usize = 64;

/// Buffers for datagrams that are sent by io_uring, allocated once.
///
/// Several datagrams in one call are a chain (`IOSQE_IO_LINK`): the kernel begins each when the one
/// before it was sent, and none after one that failed. Requests without a chain are begun in order,
/// too, but where the interface refuses one for lack of room and has room again a moment later, the
/// next would overtake it.
pub struct UringOutbox {
    ring: SocketRing,
    socket: OwnedFd,
    slot: usize,
    lens: Box<[usize]>,
}

impl UringOutbox {
    /// Creates room for `count` datagrams of at most `slot` bytes, both at least 1, to this socket.
    ///
    /// # Errors
    /// [`UringUnavailable`].
    pub fn open(socket: impl AsFd, count: usize, slot: usize) -> Result<Self, UringUnavailable> {
        let (count, slot) = (count.max(1), slot.max(1));
        let socket = socket.as_fd().try_clone_to_owned();
        let socket =
            socket.map_err(|e| UringUnavailable::step("keeping", super::ring::errno(&e)))?;
        Ok(Self {
            ring: ring(socket.as_fd(), count, slot)?,
            socket,
            slot,
            lens: vec![0; count].into_boxed_slice(),
        })
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
        let len = self.lens.get_mut(i)?;
        // SAFETY: requests read slots only within `send`, which borrows `self` mutably until all of
        // them have ended.
        let data = unsafe { self.ring.region_mut().bytes_mut(i * self.slot, self.slot) }?;
        Some((data, len))
    }

    /// Sends `count` datagrams from slot `first` on, up to the last slot and at most
    /// [`MOST_A_CHAIN`], in order, without waiting for room; returns the number that was sent, at
    /// least 1 where there is one to send.
    ///
    /// # Errors
    /// The error of send(2) for the first datagram.
    pub fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        let end = first.saturating_add(count.min(MOST_A_CHAIN));
        let end = end.min(self.capacity());
        let count = end.saturating_sub(first);
        for i in first..end {
            let request = self.request(i, i + 1 < end)?;
            // SAFETY: the slot lies in the ring's region, and this function does not end before
            // the request has, or replaces the ring and with it the region.
            if !unsafe { self.ring.push(&request) } {
                self.renew()?;
                return Err(Errno::NOBUFS);
            }
        }
        self.finish(first, count)
    }

    fn request(&self, i: usize, chained: bool) -> Result<squeue::Entry, Errno> {
        let len = self.lens.get(i).copied().unwrap_or(0).min(self.slot);
        let place = self.ring.region().place(i * self.slot, len);
        let place = place.ok_or(Errno::FAULT)?.as_ptr();
        let request = opcode::Send::new(Fixed(0), place, len as u32)
            .flags(libc::MSG_DONTWAIT)
            .build()
            .user_data(i as u64);
        Ok(if chained {
            request.flags(squeue::Flags::IO_LINK)
        } else {
            request
        })
    }

    /// Submits the requests of these slots and waits for their completions. None takes longer than
    /// a non-blocking send(2).
    fn finish(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        // A single one has been sent when the call returns.
        let handed = match self.ring.enter(if count > 1 { count } else { 0 }) {
            Ok(handed) => handed.min(count),
            Err(errno) => {
                self.renew()?;
                return Err(match errno {
                    Errno::INTR | Errno::AGAIN | Errno::BUSY => Errno::NOBUFS,
                    other => other,
                });
            }
        };
        let (mut ended, mut left, mut refused) = (0, 0, None);
        loop {
            while let Some(completion) = self.ring.next() {
                ended += 1;
                match completion.result {
                    Ok(_) if completion.mark == (first + left) as u64 => left += 1,
                    Ok(_) | Err(Errno::CANCELED) => {}
                    Err(errno) => refused = Some(errno),
                }
            }
            if ended >= handed {
                break;
            }
            // Only a signal ends it early: the ring exists, and has room for all completions.
            let _ = self.ring.wait();
        }
        if handed < count {
            // The kernel had no memory for all of the chain. The rest would not know how the first
            // part ended.
            self.renew()?;
        }
        match (left, refused) {
            (0, _) if count == 0 => Ok(0),
            (0, refused) => Err(refused.unwrap_or(Errno::NOBUFS)),
            (n, _) => Ok(n),
        }
    }

    /// Replaces the ring by a new one, without the requests that were not submitted. The datagrams
    /// stay where they are.
    fn renew(&mut self) -> Result<(), Errno> {
        let mut new =
            ring(self.socket.as_fd(), self.capacity(), self.slot).map_err(|e| e.source)?;
        let len = self.capacity() * self.slot;
        // SAFETY: no request of the new ring knows its memory, and those of the old one only read
        // theirs.
        unsafe {
            if let (Some(to), Some(from)) = (
                new.region_mut().bytes_mut(0, len),
                self.ring.region().bytes(0, len),
            ) {
                to.copy_from_slice(from);
            }
        }
        self.ring = new;
        Ok(())
    }
}

fn ring(socket: BorrowedFd<'_>, count: usize, slot: usize) -> Result<SocketRing, UringUnavailable> {
    let requests = count.min(MOST_A_CHAIN) as u32;
    // One more, for the request that cancels the others.
    SocketRing::new(
        socket,
        requests + 1,
        2 * requests,
        count.saturating_mul(slot),
    )
}
