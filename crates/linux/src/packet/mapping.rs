//! Slots of memory that are shared with the kernel, and the owner of each.
#![allow(unsafe_code, reason = "mmap(2), and memory that the kernel writes")]

use crate::Errno;
use crate::errno::last_errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel owns the slot, or it is free (`TP_STATUS_KERNEL`, `TP_STATUS_AVAILABLE`).
pub(super) const KERNEL: u32 = 0;
/// Alignment of each `struct tpacket_hdr` (`TPACKET_ALIGNMENT`).
const ALIGNMENT: usize = 16;
/// Size of a block in bytes: some contiguous pages. A slot does not extend beyond the end of its
/// block, so that slots whose size is a power of two, up to this size, follow one another without a
/// gap.
const BLOCK: usize = 16 * 1024;

/// Slots of equal size, one after the other.
pub(super) struct SlotMapping {
    start: NonNull<u8>,
    slots: usize,
    slot: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped.
// Through a shared reference, status words are read and written atomically; bytes are lent for as
// long as the value is borrowed mutably.
unsafe impl Send for SlotMapping {}

impl SlotMapping {
    /// Creates the socket's ring (`PACKET_RX_RING` or `PACKET_TX_RING`) with at least `slots`
    /// slots, which begin with `header` bytes of the kernel's and have room for `payload` bytes,
    /// and maps it. The socket must have no other ring, because both would share one mapping.
    ///
    /// # Errors
    /// The kernel's error: EBUSY where there is a ring, ENOMEM, EINVAL for a payload larger than a
    /// block.
    pub(super) fn new(
        socket: impl AsFd,
        option: libc::c_int,
        slots: usize,
        header: usize,
        payload: usize,
    ) -> Result<Self, Errno> {
        let slot = payload.checked_add(header).ok_or(Errno::INVAL)?;
        let slot = slot.max(ALIGNMENT).next_power_of_two();
        if slot > BLOCK {
            return Err(Errno::INVAL);
        }
        let blocks = slots.max(1).div_ceil(BLOCK / slot);
        let slots = blocks * (BLOCK / slot);
        let number = |n: usize| libc::c_uint::try_from(n).map_err(|_| Errno::INVAL);
        let request = libc::tpacket_req {
            tp_block_size: number(BLOCK)?,
            tp_block_nr: number(blocks)?,
            tp_frame_size: number(slot)?,
            tp_frame_nr: number(slots)?,
        };
        // SAFETY: the option's value is one live `tpacket_req`, which the kernel reads during the
        // call; the descriptor is borrowed, so it is open.
        let result = unsafe {
            libc::setsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_PACKET,
                option,
                (&raw const request).cast(),
                size_of::<libc::tpacket_req>() as libc::socklen_t,
            )
        };
        if result != 0 {
            return Err(last_errno());
        }
        // SAFETY: the kernel chooses an unused address range (a null hint without MAP_FIXED), so
        // that no memory of this process changes; no other code gets the address.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                slots * slot,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                socket,
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, slots, slot })
    }

    /// Maps memory of no socket, zeroed.
    #[cfg(test)]
    pub(super) fn anonymous(slots: usize, slot: usize) -> Self {
        assert!(slot.is_power_of_two() && slot >= ALIGNMENT);
        // SAFETY: as in `new`.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                slots * slot,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let start = NonNull::new(start.unwrap().cast()).unwrap();
        Self { start, slots, slot }
    }

    /// Returns the number of slots; at least 1.
    pub(super) const fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the size of each slot in bytes.
    pub(super) const fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the first word of a slot, which identifies its owner. An `i` beyond the last slot is
    /// taken as the first.
    #[inline]
    fn word(&self, i: usize) -> &AtomicU32 {
        let i = if i < self.slots { i } else { 0 };
        // SAFETY: slot `i` lies within the mapping, which has `slots` of `slot` bytes, at least 1,
        // and lives as long as `self`; a slot has at least 16 bytes and begins at a multiple of 16
        // after the start of a page, so that a word at its start is within it and aligned. This
        // process reads and writes that word through such atomics only: the bytes that `bytes` and
        // `bytes_mut` lend begin after it. A write by the kernel is like a store by another thread.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(i * self.slot).cast()) }
    }

    /// Returns the status that the kernel or this process wrote last; with acquire ordering, so
    /// that earlier writes to the slot are visible.
    #[inline]
    pub(super) fn status(&self, i: usize) -> u32 {
        self.word(i).load(Ordering::Acquire)
    }

    /// Sets the status with release ordering: a reader of the new status sees earlier writes to the
    /// slot.
    #[inline]
    pub(super) fn set_status(&self, i: usize, status: u32) {
        self.word(i).store(status, Ordering::Release);
    }

    /// Returns bytes of a slot, `None` where they do not lie between its first word and its end.
    /// The caller knows by the status that the kernel does not write there before the status
    /// changes: the kernel guarantees this (packet(7), Documentation/networking/packet_mmap.rst).
    #[inline]
    pub(super) fn bytes(&self, i: usize, at: usize, len: usize) -> Option<&[u8]> {
        self.check(i, at, len)?;
        // SAFETY: `check` found that `len` bytes from `at` on lie within slot `i` and after its
        // first word, so that no atomic of `word` overlaps them. The slice borrows `self`: this
        // process writes to a slot only through `bytes_mut`, which borrows `self` mutably. The
        // kernel does not write while this process owns the slot, which the callers in this folder
        // ensure: they give a slot back with `set_status` when the slice is gone.
        Some(unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().add(i * self.slot + at), len)
        })
    }

    /// Does the same as [`SlotMapping::bytes`], for writing.
    #[inline]
    pub(super) fn bytes_mut(&mut self, i: usize, at: usize, len: usize) -> Option<&mut [u8]> {
        self.check(i, at, len)?;
        // SAFETY: as in `bytes`; and the slice borrows `self` mutably, so that it is the only one.
        Some(unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr().add(i * self.slot + at), len)
        })
    }

    #[inline]
    fn check(&self, i: usize, at: usize, len: usize) -> Option<()> {
        let fits = at.checked_add(len).is_some_and(|end| end <= self.slot);
        (i < self.slots && at >= size_of::<u32>() && fits).then_some(())
    }
}

impl Drop for SlotMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, created with this start and this length. No
        // reference into it is left, because references borrow from `self`. The kernel's own hold
        // on the pages belongs to the socket.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.slots * self.slot) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_before_a_slots_payload_or_beyond_its_end() {
        let mut map = SlotMapping::anonymous(4, 64);
        map.bytes_mut(3, 60, 4).unwrap().fill(7);
        map.set_status(3, 5);
        assert_eq!(map.bytes(3, 60, 4), Some(&[7; 4][..]));
        assert_eq!((map.status(3), map.status(0)), (5, KERNEL));
        assert_eq!(map.bytes(3, 60, 5), None);
        assert_eq!(map.bytes(3, 3, 1), None, "the status");
        assert_eq!(map.bytes(4, 8, 1), None);
        assert_eq!(map.bytes(0, usize::MAX, 2), None);
        assert_eq!(map.bytes(0, 4, 60), Some(&[0; 60][..]));
    }
}
