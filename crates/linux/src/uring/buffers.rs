//! The ring of buffers from which the kernel takes one for each received datagram, and the layout
//! of the data that the kernel writes into them.

use super::error::UringUnavailable;
use super::region::RingRegion;
use super::ring::{SocketRing, errno};
use crate::Errno;
use crate::mmsg::CONTROL_SIZE;
use io_uring::types::{BufRingEntry, RecvMsgOut};
use std::mem::zeroed;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// The group of the buffers: there is only one.
pub(super) const GROUP: u16 = 0;
/// Size of the header that the kernel writes before the ancillary data and the datagram (`struct
/// io_uring_recvmsg_out` of `uapi/linux/io_uring.h`).
const HEADER: usize = 16;
/// The largest number of buffers that the kernel's ring accepts.
const MOST: usize = 1 << 15;
/// The largest size of a datagram in bytes: far above that of a frame.
const MOST_BYTES: usize = 1 << 16;
/// Size of an entry of the ring (`struct io_uring_buf`) in bytes.
const ENTRY: usize = size_of::<BufRingEntry>();
/// Position of the ring's tail: in the last two bytes of its first entry (`struct
/// io_uring_buf_ring`).
const TAIL: usize = 14;

const _: () = assert!(ENTRY == TAIL + 2);

/// The positions of the ring of buffers, of the message and of the buffers in a region.
pub(super) struct RingBuffers {
    count: u16,
    /// Size of a buffer that the kernel may write, in bytes.
    size: usize,
    /// Distance from one buffer to the next, in bytes.
    stride: usize,
    /// Position of the message that specifies the data to receive.
    message_at: usize,
    /// Position of the first buffer.
    data: usize,
    tail: u16,
    /// A copy of the message, for parsing received data.
    message: libc::msghdr,
}

// SAFETY: the null pointers in `message` are the reason why it is not Send automatically; no code
// dereferences them.
unsafe impl Send for RingBuffers {}

impl RingBuffers {
    /// Computes the layout of `count` buffers (rounded up to a power of two, at most 32768) for
    /// datagrams of `slot` bytes.
    pub(super) fn new(count: usize, slot: usize) -> Self {
        let count = count.clamp(1, MOST).next_power_of_two();
        let size = HEADER + CONTROL_SIZE + slot.clamp(1, MOST_BYTES);
        // The ring begins at a page, as the kernel requires; nothing shares a cache line.
        let message_at = (count * ENTRY).next_multiple_of(64);
        // SAFETY: integers and pointers, for which zero is valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_controllen = CONTROL_SIZE as _;
        Self {
            count: count as u16,
            size,
            stride: size.next_multiple_of(64),
            message_at,
            data: (message_at + size_of::<libc::msghdr>()).next_multiple_of(64),
            tail: 0,
            message,
        }
    }

    pub(super) const fn count(&self) -> u16 {
        self.count
    }

    /// Returns the size of the region that they need, in bytes.
    pub(super) const fn memory(&self) -> usize {
        self.data + self.count as usize * self.stride
    }

    /// Writes the message and the ring into the ring's region, and registers them with the kernel.
    pub(super) fn register(&mut self, ring: &mut SocketRing) -> Result<(), UringUnavailable> {
        let short = || UringUnavailable::step("getting memory", Errno::NOMEM);
        let entries = usize::from(self.count) * ENTRY;
        let entries = ring.region().place(0, entries).ok_or_else(short)?;
        let place = self.message(ring.region()).ok_or_else(short)?;
        // SAFETY: the place has the size of a message and is aligned for it (a multiple of 64 from
        // the start of a page); no request knows of it yet.
        unsafe { place.write(self.message) };
        // SAFETY: the ring of buffers lies in the region, from its first byte on, with as many
        // entries as the call is given; the region is freed when no request is under way, or never.
        unsafe {
            ring.kernels().submitter().register_buf_ring_with_flags(
                entries.as_ptr() as u64,
                self.count,
                GROUP,
                0,
            )
        }
        .map_err(|e| match errno(&e) {
            Errno::INVAL => UringUnavailable::old(),
            other => UringUnavailable::step("registering buffers", other),
        })?;
        for buffer in 0..self.count {
            self.provide(ring.region_mut(), buffer);
        }
        self.publish(ring.region());
        Ok(())
    }

    /// Returns the address of the message.
    pub(super) fn message(&self, region: &RingRegion) -> Option<NonNull<libc::msghdr>> {
        let place = region.place(self.message_at, size_of::<libc::msghdr>())?;
        Some(place.cast())
    }

    /// Puts a buffer into the ring; [`RingBuffers::publish`] makes it visible to the kernel. The
    /// kernel must not already have this buffer.
    pub(super) fn provide(&mut self, region: &mut RingRegion, buffer: u16) {
        let index = usize::from(self.tail & (self.count - 1));
        let at = self.data + usize::from(buffer) * self.stride;
        let Some(address) = region.place(at, self.size) else {
            return;
        };
        let address = address.as_ptr() as u64;
        // SAFETY: entries between the tail and the next one that the kernel reads are this
        // process's: there are as many entries as buffers, and this buffer is in none of them. The
        // kernel does not write to the ring. Only the first 14 bytes are written, so that the tail,
        // which is in the first entry, stays.
        let entry = unsafe { region.bytes_mut(index * ENTRY, TAIL) };
        if let Some((place, rest)) = entry.and_then(<[u8]>::split_first_chunk_mut::<8>)
            && let Some((len, id)) = rest.split_first_chunk_mut::<4>()
        {
            *place = address.to_ne_bytes();
            *len = (self.size as u32).to_ne_bytes();
            id.copy_from_slice(&buffer.to_ne_bytes());
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Makes the provided buffers the kernel's from now on.
    pub(super) fn publish(&self, region: &RingRegion) {
        if let Some(tail) = region.place(TAIL, size_of::<u16>()) {
            // SAFETY: two bytes of the region at a multiple of two, which live as long as `region`
            // is borrowed; this process writes them only here, and the kernel only reads them.
            let tail = unsafe { AtomicU16::from_ptr(tail.as_ptr().cast()) };
            // The entries that were written are visible before the tail.
            tail.store(self.tail, Ordering::Release);
        }
    }

    /// Returns flags, bytes and ancillary data of the datagram for which the kernel wrote `len`
    /// bytes into a buffer.
    ///
    /// # Safety
    /// The kernel gave the buffer back, and it is not provided as long as the returned slices live.
    #[inline]
    pub(super) unsafe fn read<'a>(
        &self,
        region: &'a RingRegion,
        buffer: u16,
        len: usize,
    ) -> Option<(u32, &'a [u8], &'a [u8])> {
        let at = self.data + usize::from(buffer) * self.stride;
        // SAFETY: the caller guarantees that the kernel does not write it.
        let bytes = unsafe { region.bytes(at, len.min(self.size)) }?;
        let out = RecvMsgOut::parse(bytes, &self.message).ok()?;
        // Slice `bytes` again, because the slices that `out` returns live no longer than `out`.
        let (control, data) = bytes.get(HEADER..)?.split_at_checked(CONTROL_SIZE)?;
        let control = control.get(..out.control_data().len())?;
        let data = data.get(..out.payload_data().len())?;
        Some((out.flags(), data, control))
    }
}
