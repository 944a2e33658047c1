//! Transmission of frames from a ring of slots (`PACKET_TX_RING`, `TPACKET_V2`).
//!
//! `PACKET_LOSS` is not used: a frame for which the interface has no room stays in its slot, and so
//! does one that the interface cannot carry; with this option the kernel would silently drop the
//! latter.
#![allow(
    unsafe_code,
    reason = "sendto(2) with an address that rustix does not have"
)]

use super::mapping::{KERNEL as AVAILABLE, SlotMapping};
use super::socket::{FrameProtocol, PacketSocket, RingVersion, address};
use crate::Errno;
use crate::errno::last_errno;
use std::mem::{offset_of, size_of};
use std::os::fd::AsRawFd;

/// Request to send the frame (`TP_STATUS_SEND_REQUEST`).
const REQUEST: u32 = 1;
/// The interface cannot carry the frame (`TP_STATUS_WRONG_FORMAT`).
const WRONG: u32 = 1 << 2;
/// Number of bytes in a slot before the frame: `struct tpacket2_hdr` (`tpacket_parse_header` in
/// net/packet/af_packet.c).
const HEADER: usize = size_of::<libc::tpacket2_hdr>();

/// A ring of frames to send. The kernel takes them in the order of the slots, and begins at slot 0:
/// the caller must continue writing after the last frame that the kernel took.
pub struct TxRing {
    map: SlotMapping,
    lens: Box<[usize]>,
}

impl TxRing {
    /// Creates a ring of at least `slots` slots, for frames of at most `payload` bytes.
    ///
    /// # Errors
    /// The kernel's error: EBUSY where the socket has a ring, ENOMEM, EINVAL for more than about 16
    /// KB a frame.
    pub fn new(socket: &PacketSocket, slots: usize, payload: usize) -> Result<Self, Errno> {
        socket.set_version(RingVersion::V2)?;
        let map = SlotMapping::new(socket, libc::PACKET_TX_RING, slots, HEADER, payload)?;
        Ok(Self::over(map))
    }

    fn over(map: SlotMapping) -> Self {
        let lens = vec![0; map.slots()].into_boxed_slice();
        Self { map, lens }
    }

    /// Returns the number of slots; at least 1.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.map.slots()
    }

    /// Returns a slot's bytes and the length of its frame, for writing; `None` where the kernel
    /// still has the slot's previous frame: in the queue of the interface, or with its driver.
    #[inline]
    pub fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        if self.map.status(i) != AVAILABLE {
            return None;
        }
        let payload = self.map.slot() - HEADER;
        let len = self.lens.get_mut(i)?;
        Some((self.map.bytes_mut(i, HEADER, payload)?, len))
    }

    /// Returns the frame in a slot that was written and not sent.
    #[inline]
    #[must_use]
    pub fn frame(&self, i: usize) -> Option<&[u8]> {
        self.map.bytes(i, HEADER, *self.lens.get(i)?)
    }

    /// Sends the frames of `count` slots from `first` on, all of one protocol, to an interface, by
    /// one non-blocking sendto(2); returns the number of frames that the kernel took. The others
    /// stay as they are.
    ///
    /// # Errors
    /// The error of sendto(2) where the kernel took no frame: ENOBUFS (no room in the interface's
    /// queue), EAGAIN (the socket's buffer is full), ENETDOWN, ENXIO or ENODEV (there is no such
    /// interface), EMSGSIZE (the first frame is too long for the interface).
    pub fn send(
        &mut self,
        socket: &PacketSocket,
        to: (u32, FrameProtocol),
        first: usize,
        count: usize,
    ) -> Result<usize, Errno> {
        let end = first.saturating_add(count).min(self.map.slots());
        for i in first..end {
            let len = self.lens.get(i).copied().unwrap_or(0);
            let len = u32::try_from(len).map_err(|_| Errno::INVAL)?;
            let at = offset_of!(libc::tpacket2_hdr, tp_len);
            if let Some(room) = self.map.bytes_mut(i, at, size_of::<u32>()) {
                room.copy_from_slice(&len.to_ne_bytes());
            }
            self.map.set_status(i, REQUEST);
        }
        let result = request(socket, to);
        let taken = self.taken(first, end);
        match result {
            Err(why) if taken == 0 => Err(why),
            _ => Ok(taken),
        }
    }

    /// Returns how many of these slots, from the first on, no longer wait to be sent.
    fn taken(&self, first: usize, end: usize) -> usize {
        let left = |i: &usize| !matches!(self.map.status(*i), REQUEST | WRONG);
        (first..end).take_while(left).count()
    }

    /// Cancels these slots, which will not be sent and can be written again.
    pub fn forget(&mut self, first: usize, count: usize) {
        for i in self.circle(first, count) {
            self.map.set_status(i, AVAILABLE);
        }
    }

    /// Leaves out the first of these slots, which cannot be sent: the frames of the others move up
    /// by one, since the kernel skips no slot.
    pub fn leave_out(&mut self, first: usize, count: usize) {
        let mut to = first;
        for from in self.circle(first, count).skip(1) {
            let len = self.lens.get(from).copied().unwrap_or(0);
            // One frame at a time, in a buffer of its own: this happens only when an interface has
            // changed.
            let frame = self.map.bytes(from, HEADER, len).map(<[u8]>::to_vec);
            if let (Some(frame), Some(room)) = (frame, self.map.bytes_mut(to, HEADER, len)) {
                room.copy_from_slice(&frame);
            }
            if let Some(to) = self.lens.get_mut(to) {
                *to = len;
            }
            to = from;
        }
        self.forget(first, count);
    }

    /// Returns the numbers of `count` slots from `first` on; after the last slot it continues with
    /// the first one.
    fn circle(&self, first: usize, count: usize) -> impl Iterator<Item = usize> + use<> {
        let slots = self.map.slots();
        (first..first.saturating_add(count.min(slots))).map(move |i| i % slots)
    }
}

/// Asks the kernel to send the requested slots.
fn request(socket: &PacketSocket, (index, protocol): (u32, FrameProtocol)) -> Result<(), Errno> {
    let address = address(index, protocol)?;
    // SAFETY: no data is given (null, 0), which is how the owner of a ring requests the
    // transmission; pointer and length of the address are those of one live `sockaddr_ll`, which
    // the kernel reads during the call. The descriptor is open: `socket` owns it.
    let result = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            std::ptr::null(),
            0,
            libc::MSG_DONTWAIT,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if result >= 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> TxRing {
        TxRing::over(SlotMapping::anonymous(4, 64))
    }

    fn put(ring: &mut TxRing, i: usize, bytes: &[u8]) {
        let (room, len) = ring.slot(i).unwrap();
        room[..bytes.len()].copy_from_slice(bytes);
        *len = bytes.len();
    }

    #[test]
    fn a_slot_that_the_kernel_has_is_not_written() {
        let mut ring = ring();
        put(&mut ring, 1, b"one");
        assert_eq!(ring.frame(1), Some(&b"one"[..]));
        ring.map.set_status(1, 2);
        assert!(ring.slot(1).is_none() && ring.slot(4).is_none());
        assert!(ring.slot(2).is_some());
    }

    /// As the kernel leaves the slots when the third of four has no room.
    #[test]
    fn what_is_left_is_counted_from_the_first() {
        let ring = ring();
        for (i, status) in [AVAILABLE, 2, REQUEST, REQUEST].into_iter().enumerate() {
            ring.map.set_status(i, status);
        }
        assert_eq!(ring.taken(0, 4), 2);
        assert_eq!(ring.taken(2, 4), 0);
        ring.map.set_status(2, WRONG);
        assert_eq!(ring.taken(1, 4), 1);
    }

    #[test]
    fn one_that_is_left_out_makes_the_others_move_up() {
        let mut ring = ring();
        for (i, frame) in [(2, &b"bad"[..]), (3, b"three"), (0, b"four"), (1, b"5")] {
            put(&mut ring, i, frame);
        }
        ring.map.set_status(2, WRONG);
        ring.leave_out(2, 4);
        let frames: Vec<_> = [2, 3, 0].map(|i| ring.frame(i).unwrap().to_vec()).into();
        assert_eq!(frames, [&b"three"[..], b"four", b"5"]);
        assert!((0..4).all(|i| ring.slot(i).is_some()));
    }
}
