//! Memory that requests under way may read or write at any time.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// A mapping of this process alone, zeroed, beginning at a page. Others see it as pieces of which
/// either the kernel or this process is in possession; who hands out a piece says which.
pub(super) struct Region {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped; the
// methods that read or write it say who must not do so meanwhile.
unsafe impl Send for Region {}

impl Region {
    /// Maps so many bytes, at least one.
    pub(super) fn new(len: usize) -> Result<Self, Errno> {
        let len = len.max(1);
        // SAFETY: the kernel chooses a place where nothing is (a null hint without MAP_FIXED), so
        // that no memory of this process changes; nobody else gets the address.
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

    /// Where byte `at` is; `None` where `len` bytes from there do not all lie within.
    pub(super) fn place(&self, at: usize, len: usize) -> Option<NonNull<u8>> {
        if at.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: `at` is at most the mapping's length, so that the sum stays within it (or just
        // behind), in one allocation.
        Some(unsafe { self.start.add(at) })
    }

    /// `len` bytes from byte `at` on.
    ///
    /// # Safety
    /// The kernel does not write them as long as what is returned lives.
    pub(super) unsafe fn bytes(&self, at: usize, len: usize) -> Option<&[u8]> {
        let place = self.place(at, len)?;
        // SAFETY: `place` checked that all bytes lie within the mapping, which lives as long as
        // `self`; they are initialized, because the kernel maps zeros; the caller promises that the
        // kernel does not write them, and this process writes with `self` borrowed mutably only.
        Some(unsafe { std::slice::from_raw_parts(place.as_ptr(), len) })
    }

    /// `len` bytes from byte `at` on, to be written.
    ///
    /// # Safety
    /// The kernel neither reads nor writes them as long as what is returned lives.
    pub(super) unsafe fn bytes_mut(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        let place = self.place(at, len)?;
        // SAFETY: as in `bytes`; `self` is borrowed mutably, so that nobody else in this process
        // has a reference into the mapping.
        Some(unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), len) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, made by `new` with this start and length. Nobody has
        // a reference into it any more, because they borrow from `self`. Requests that could touch
        // it have ended: `Ring` forgets the region instead of dropping it where that is not
        // certain.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_beyond_the_end() {
        let mut region = Region::new(4096).unwrap();
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
