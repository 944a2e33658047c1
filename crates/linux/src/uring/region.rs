//! Memory that requests under way may read or write at any time.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// A mapping of this process alone, zeroed, that begins at a page. Its users divide it into pieces,
/// each of which belongs either to the kernel or to this process; the code that hands out a piece
/// specifies which.
pub(super) struct RingRegion {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped; the
// methods that read or write it state who must not do so meanwhile.
unsafe impl Send for RingRegion {}

impl RingRegion {
    /// Maps `len` bytes, at least one.
    pub(super) fn new(len: usize) -> Result<Self, Errno> {
        let len = len.max(1);
        // SAFETY: the kernel chooses an unused address range (a null hint without MAP_FIXED), so
        // that no memory of this process changes; no other code gets the address.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, len })
    }

    /// Returns the address of byte `at`; `None` where `len` bytes from there do not all lie within.
    pub(super) fn place(&self, at: usize, len: usize) -> Option<NonNull<u8>> {
        if at.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: `at` is at most the mapping's length, so that the sum stays within it (or just
        // behind), in one allocation.
        Some(unsafe { self.start.add(at) })
    }

    /// Returns `len` bytes from byte `at` on.
    ///
    /// # Safety
    /// The kernel does not write them as long as the returned slice lives.
    pub(super) unsafe fn bytes(&self, at: usize, len: usize) -> Option<&[u8]> {
        let place = self.place(at, len)?;
        // SAFETY: `place` checked that all bytes lie within the mapping, which lives as long as
        // `self`; they are initialized, because the kernel maps zeros; the caller guarantees that
        // the kernel does not write them, and this process writes only with `self` borrowed
        // mutably.
        Some(unsafe { std::slice::from_raw_parts(place.as_ptr(), len) })
    }

    /// Returns `len` bytes from byte `at` on, for writing.
    ///
    /// # Safety
    /// The kernel neither reads nor writes them as long as the returned slice lives.
    pub(super) unsafe fn bytes_mut(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        let place = self.place(at, len)?;
        // SAFETY: as in `bytes`; `self` is borrowed mutably, so that no other code in this process
        // has a reference into the mapping.
        Some(unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), len) })
    }
}

impl Drop for RingRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, created by `new` with this start and length. No
        // reference into it is left, because references borrow from `self`. Requests that could
        // access it have ended: `Ring` forgets the region instead of dropping it where that is not
        // certain.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_beyond_the_end() {
        let mut region = RingRegion::new(4096).unwrap();
        // SAFETY: no request knows this memory.
        unsafe {
            region.bytes_mut(4090, 6).unwrap().fill(7);
            assert_eq!(region.bytes(4089, 7), Some(&[0, 7, 7, 7, 7, 7, 7][..]));
            assert_eq!(region.bytes(4090, 7), None);
            assert_eq!(region.bytes(usize::MAX, 2), None);
            assert_eq!(region.bytes_mut(1, usize::MAX), None);
            assert_eq!(region.bytes(4096, 0), Some(&[][..]));
        }
    }
}
