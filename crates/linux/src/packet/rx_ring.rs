//! Reception of frames in a ring of slots (`PACKET_RX_RING`, `TPACKET_V2`).
//!
//! Version 2 and not 3, because version 3 hands over blocks: a single frame waits until its block's
//! time has passed, which is milliseconds (`tp_retire_blk_tov`, at least one tick). Version 2 hands
//! over each frame at once and wakes the waiting reader. Version 3 is for captures, which need few
//! wake-ups.

use super::PacketSocket;
use super::mapping::{KERNEL, SlotMapping};
use super::socket::RingVersion;
use crate::Errno;
use frame::Nanos;
use std::mem::{offset_of, size_of};

/// Stamped by the controller (`TP_STATUS_TS_RAW_HARDWARE`).
const HARDWARE: u32 = 1 << 31;
/// This process owns the slot (`TP_STATUS_USER`).
const USER: u32 = 1;
/// Frames were lost since the last query of the statistics (`TP_STATUS_LOSING`).
const LOSING: u32 = 1 << 2;
/// Number of bytes in a slot before the frame: `struct tpacket2_hdr`, `struct sockaddr_ll` and 16
/// bytes that the kernel reserves for a link-level header, each rounded up to 16 (`tpacket_rcv` in
/// net/packet/af_packet.c).
const HEADER: usize = 80;

/// Position of `sll_ifindex` in the address, which follows `struct tpacket2_hdr`.
const INTERFACE_AT: usize =
    size_of::<Head>().next_multiple_of(16) + offset_of!(libc::sockaddr_ll, sll_ifindex);

type Head = libc::tpacket2_hdr;

/// A ring of received frames.
pub struct RxRing {
    map: SlotMapping,
    next: usize,
}

/// A frame in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingSlot<'a> {
    /// The frame as it came from the device, in place.
    pub bytes: &'a [u8],
    /// Time of reception, ns: Unix time, or the controller's own.
    pub stamp: Nanos,
    /// Whether the stamp is the controller's.
    pub hardware: bool,
    /// Whether the socket has lost frames since the last call of [`PacketSocket::take_statistics`].
    pub losing: bool,
}

impl RxRing {
    /// Creates a ring of at least `slots` slots, for frames of at most `payload` bytes. Longer
    /// frames are cut off. Must be created before the socket is attached.
    ///
    /// # Errors
    /// The kernel's error: EBUSY where the socket has a ring, ENOMEM, EINVAL for more than about 16
    /// KB a frame.
    pub fn new(socket: &PacketSocket, slots: usize, payload: usize) -> Result<Self, Errno> {
        socket.set_version(RingVersion::V2)?;
        let map = SlotMapping::new(socket, libc::PACKET_RX_RING, slots, HEADER, payload)?;
        Ok(Self { map, next: 0 })
    }

    /// Returns the number of frames for which the ring has room.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.map.slots()
    }

    /// Returns whether no frame has come.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.status(self.next) & USER == 0
    }

    /// Hands over at most `want` frames in place, and gives their slots back to the kernel; returns
    /// the number of frames. Makes no system call.
    #[inline]
    pub fn receive(&mut self, want: usize, take: &mut dyn FnMut(RingSlot<'_>)) -> usize {
        for done in 0..want {
            let status = self.map.status(self.next);
            if status & USER == 0 {
                return done;
            }
            take(self.slot(status));
            self.map.set_status(self.next, KERNEL);
            self.next += 1;
            if self.next == self.map.slots() {
                self.next = 0;
            }
        }
        want
    }

    /// Does the same as [`RxRing::receive`], with the index of each frame's interface.
    pub fn receive_of(&mut self, want: usize, take: &mut dyn FnMut(u32, RingSlot<'_>)) -> usize {
        for done in 0..want {
            let status = self.map.status(self.next);
            if status & USER == 0 {
                return done;
            }
            let interface = number(self.map.bytes(self.next, INTERFACE_AT, size_of::<u32>()));
            take(interface, self.slot(status));
            self.map.set_status(self.next, KERNEL);
            self.next += 1;
            if self.next == self.map.slots() {
                self.next = 0;
            }
        }
        want
    }

    /// Returns the next slot. Its offset and length are the kernel's and are accepted as far as the
    /// slot reaches.
    #[inline]
    fn slot(&self, status: u32) -> RingSlot<'_> {
        let word = |at| number(self.map.bytes(self.next, at, size_of::<u32>()));
        let len = word(offset_of!(Head, tp_snaplen)) as usize;
        // The offset is not fixed: a device with link-level headers would have another one.
        let at = self.map.bytes(self.next, offset_of!(Head, tp_mac), 2);
        let at = at.and_then(|b| b.first_chunk());
        let at = at.map_or(0, |b| usize::from(u16::from_ne_bytes(*b)));
        let room = self.map.slot().saturating_sub(at);
        let seconds = Nanos::from(word(offset_of!(Head, tp_sec)));
        let ns = Nanos::from(word(offset_of!(Head, tp_nsec)));
        RingSlot {
            bytes: self
                .map
                .bytes(self.next, at, len.min(room))
                .unwrap_or_default(),
            stamp: seconds * 1_000_000_000 + ns,
            hardware: status & HARDWARE != 0,
            losing: status & LOSING != 0,
        }
    }
}

#[inline]
fn number(bytes: Option<&[u8]>) -> u32 {
    let bytes = bytes.and_then(|b| b.first_chunk());
    bytes.map_or(0, |b| u32::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOT: usize = 128;

    /// Fills a slot as the kernel does.
    fn fill(ring: &mut RxRing, i: usize, head: &Head, payload: &[u8]) {
        let mut put = |at: usize, bytes: &[u8]| {
            let room = ring.map.bytes_mut(i, at, bytes.len()).unwrap();
            room.copy_from_slice(bytes);
        };
        put(offset_of!(Head, tp_snaplen), &head.tp_snaplen.to_ne_bytes());
        put(offset_of!(Head, tp_mac), &head.tp_mac.to_ne_bytes());
        put(offset_of!(Head, tp_sec), &head.tp_sec.to_ne_bytes());
        put(offset_of!(Head, tp_nsec), &head.tp_nsec.to_ne_bytes());
        put(HEADER, payload);
        ring.map.set_status(i, head.tp_status);
    }

    fn head(status: u32, at: u16, len: u32) -> Head {
        Head {
            tp_status: status,
            tp_len: len,
            tp_snaplen: len,
            tp_mac: at,
            tp_net: at,
            tp_sec: 5,
            tp_nsec: 6,
            tp_vlan_tci: 0,
            tp_vlan_tpid: 0,
            tp_padding: [0; 4],
        }
    }

    fn ring() -> RxRing {
        let map = SlotMapping::anonymous(4, SLOT);
        RxRing { map, next: 0 }
    }

    #[test]
    fn frames_come_in_order_and_slots_go_back() {
        let mut ring = ring();
        for round in 0..3u8 {
            for i in 0..3 {
                let slot = (usize::from(round) * 3 + i) % 4;
                let status = USER + LOSING * u32::from(i == 2) + HARDWARE * u32::from(i == 1);
                fill(&mut ring, slot, &head(status, 80, 3), &[round, i as u8, 9]);
            }
            let mut got = Vec::new();
            let mut take = |s: RingSlot<'_>| got.push((s.bytes.to_vec(), s.hardware, s.losing));
            assert_eq!(ring.receive(2, &mut take), 2);
            assert_eq!(ring.receive(9, &mut take), 1);
            assert_eq!(ring.receive(9, &mut take), 0);
            let expected = [
                (vec![round, 0, 9], false, false),
                (vec![round, 1, 9], true, false),
                (vec![round, 2, 9], false, true),
            ];
            assert_eq!(got, expected);
        }
        assert!((0..4).all(|i| ring.map.status(i) == KERNEL));
    }

    #[test]
    fn the_stamp_is_in_nanoseconds() {
        let mut ring = ring();
        fill(&mut ring, 0, &head(USER, 80, 1), &[0]);
        let mut stamp = 0;
        ring.receive(1, &mut |slot| stamp = slot.stamp);
        assert_eq!(stamp, 5_000_000_006);
    }

    proptest! {
        /// Wrong offsets and lengths bring fewer bytes or none.
        #[test]
        fn no_offset_is_believed_beyond_the_slot(
            status in any::<u32>(), at in any::<u16>(), len in any::<u32>(), small in 0u32..200,
        ) {
            for len in [len, small] {
                let mut ring = ring();
                fill(&mut ring, 0, &head(status | USER, at, len), &[1; 40]);
                let mut most = 0;
                prop_assert_eq!(ring.receive(1, &mut |slot| most = slot.bytes.len()), 1);
                prop_assert!(most <= SLOT && most <= len as usize);
            }
        }
    }
}
