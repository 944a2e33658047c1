//! Memory that is shared with the kernel.
#![allow(unsafe_code, reason = "mmap(2), and reading what the kernel writes")]

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a word in bytes. Everything in the mapping begins at a multiple of it.
pub(crate) const WORD: usize = size_of::<u64>();

/// A mapping. It is read and written in words and atomically, because the kernel may write to it at
/// any time.
pub(crate) struct MappedMemory {
    start: NonNull<u64>,
    words: usize,
    /// Number of bytes that were mapped.
    mapped: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped; every
// access to it is atomic.
unsafe impl Send for MappedMemory {}
// SAFETY: as for `Send`: through a shared reference there are only atomic accesses, which threads
// may make at the same time.
unsafe impl Sync for MappedMemory {}

impl MappedMemory {
    /// Maps `len` bytes of a device, rounded down to whole words.
    pub(crate) fn map(device: impl AsFd, len: usize) -> Result<Self, Errno> {
        // SAFETY: the kernel chooses an unused address range (a null hint without MAP_FIXED), so
        // that no memory of this process changes; no other code gets the address.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                device,
                0,
            )
        }?;
        Self::from_raw(start.cast(), len)
    }

    /// Maps memory of no device, zeroed.
    #[cfg(test)]
    pub(crate) fn anonymous(len: usize) -> Self {
        // SAFETY: as in `map`.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        Self::from_raw(start.unwrap().cast(), len).unwrap()
    }

    fn from_raw(start: *mut u64, len: usize) -> Result<Self, Errno> {
        let start = NonNull::new(start).ok_or(Errno::NOMEM)?;
        Ok(Self {
            start,
            words: len / WORD,
            mapped: len,
        })
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.words * WORD
    }

    #[inline]
    fn word(&self, at: usize) -> Option<&AtomicU64> {
        if !at.is_multiple_of(WORD) || at / WORD >= self.words {
            return None;
        }
        // SAFETY: `at / WORD` is below `words`, so that the word lies within the mapping, which
        // lives as long as `self`; mappings begin at a page, so that a whole number of words after
        // it is aligned; this process reads and writes the mapping through such atomics only, and a
        // write by the kernel is like a store by another thread.
        Some(unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at / WORD)) })
    }

    /// Returns the word at byte `at`; with acquire ordering, so that earlier writes are visible.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u64> {
        Some(self.word(at)?.load(Ordering::Acquire))
    }

    /// Writes the word at byte `at`, with release ordering: a reader of the word sees earlier
    /// writes; false where the mapping has no such word.
    #[inline]
    pub(crate) fn set(&self, at: usize, value: u64) -> bool {
        self.word(at)
            .map(|word| word.store(value, Ordering::Release))
            .is_some()
    }

    /// Copies whole words out of the mapping; false where the mapping is too short.
    pub(crate) fn read(&self, at: usize, into: &mut [u64]) -> bool {
        let end = into.len().checked_mul(WORD).and_then(|n| n.checked_add(at));
        if end.is_none_or(|end| end > self.len()) {
            return false;
        }
        into.iter_mut().enumerate().all(|(i, to)| {
            let word = self.word(at + i * WORD);
            word.map(|word| *to = word.load(Ordering::Relaxed))
                .is_some()
        })
    }

    /// Copies whole words into the mapping; false where the mapping is too short.
    pub(crate) fn write(&self, at: usize, from: &[u64]) -> bool {
        let end = from.len().checked_mul(WORD).and_then(|n| n.checked_add(at));
        if end.is_none_or(|end| end > self.len()) {
            return false;
        }
        from.iter().enumerate().all(|(i, from)| {
            let word = self.word(at + i * WORD);
            word.map(|word| word.store(*from, Ordering::Relaxed))
                .is_some()
        })
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, created by `map` with this start and this length,
        // which the kernel rounds up to pages as it did for mmap(2). No reference into it is left,
        // because references borrow from `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// A mapping of `WORDS` words. Because their number is known at compile time, most of the bounds
/// checks are left out, on a path where each instruction counts.
pub(crate) struct MappedPage<const WORDS: usize>(MappedMemory);

impl<const WORDS: usize> MappedPage<WORDS> {
    /// Maps a device's first words.
    pub(crate) fn map(device: impl AsFd) -> Result<Self, Errno> {
        Self::from_memory(MappedMemory::map(device, WORDS * WORD)?)
    }

    fn from_memory(memory: MappedMemory) -> Result<Self, Errno> {
        if memory.words < WORDS {
            return Err(Errno::INVAL);
        }
        Ok(Self(memory))
    }

    #[inline]
    fn word(&self, at: usize) -> Option<&AtomicU64> {
        if !at.is_multiple_of(WORD) || at / WORD >= WORDS {
            return None;
        }
        // SAFETY: `at / WORD` is below `WORDS`, and `of` refuses a mapping that has fewer words;
        // the rest as in `MappedMemory::word`.
        Some(unsafe { AtomicU64::from_ptr(self.0.start.as_ptr().add(at / WORD)) })
    }

    /// Does the same as [`MappedMemory::get`].
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u64> {
        Some(self.word(at)?.load(Ordering::Acquire))
    }

    /// Writes the word at byte `at`, with release ordering: a reader of the word sees earlier
    /// writes; false where the mapping has no such word.
    #[inline]
    pub(crate) fn set(&self, at: usize, value: u64) -> bool {
        self.word(at)
            .map(|word| word.store(value, Ordering::Release))
            .is_some()
    }
}

/// A device's registers, mapped. Each access happens once, with its size, in program order.
pub(crate) struct Registers32 {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is until it is dropped; it is
// the device's memory, which no reference of this process points to.
unsafe impl Send for Registers32 {}

impl Registers32 {
    /// Maps `len` bytes of a device from its start.
    pub(crate) fn map(device: impl AsFd, len: usize) -> Result<Self, Errno> {
        // SAFETY: as in `MappedMemory::map`.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                device,
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, len })
    }

    /// Returns the length in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the address of a register of type `T`, if it lies within the mapping at a multiple
    /// of its size.
    fn at<T>(&self, offset: usize) -> Option<*mut T> {
        let size = size_of::<T>();
        let end = offset.checked_add(size)?;
        let inside = end <= self.len && offset.is_multiple_of(size);
        // The mapping begins at a page, so that the pointer is aligned.
        inside.then(|| self.start.as_ptr().wrapping_add(offset).cast())
    }

    pub(crate) fn read8(&self, offset: usize) -> Option<u8> {
        // SAFETY: `at` returns pointers into the mapping only, which lives as long as `self`; any
        // bits are a `u8`. Volatile: the device sees each access.
        self.at(offset)
            .map(|at| unsafe { std::ptr::read_volatile(at) })
    }

    pub(crate) fn write8(&self, offset: usize, value: u8) {
        if let Some(at) = self.at(offset) {
            // SAFETY: as in `read8`; the memory is the device's and no reference to it exists.
            unsafe { std::ptr::write_volatile(at, value) };
        }
    }

    /// Reads 32 bits. PCI is little-endian.
    pub(crate) fn read32(&self, offset: usize) -> Option<u32> {
        // SAFETY: as in `read8`; `at` returns aligned pointers only, and any bits are a `u32`.
        let value = self
            .at(offset)
            .map(|at| unsafe { std::ptr::read_volatile(at) });
        value.map(u32::from_le)
    }

    pub(crate) fn write32(&self, offset: usize, value: u32) {
        if let Some(at) = self.at(offset) {
            // SAFETY: as in `write8`; `at` returns aligned pointers only.
            unsafe { std::ptr::write_volatile(at, value.to_le()) };
        }
    }
}

impl std::fmt::Debug for Registers32 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of registers", self.len)
    }
}

impl Drop for Registers32 {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, created by `map` with this start and this length;
        // pointers into it do not outlive the calls above.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_beyond_the_end() {
        let memory = MappedMemory::anonymous(4096);
        assert_eq!(memory.len(), 4096);
        assert!(memory.write(4080, &[1, 2]));
        assert_eq!((memory.get(4080), memory.get(4088)), (Some(1), Some(2)));
        let mut out = [0; 2];
        assert!(memory.read(4080, &mut out));
        assert_eq!(out, [1, 2]);
        assert!(!memory.read(4088, &mut out));
        assert!(!memory.write(4088, &[3, 4]));
        assert!(!memory.write(usize::MAX - 7, &[3]));
        assert_eq!(memory.get(4096), None);
        assert_eq!(memory.get(3), None, "not at a word");
    }

    #[test]
    fn a_page_has_as_many_words_as_it_states() {
        let page = MappedPage::<4>::from_memory(MappedMemory::anonymous(32)).unwrap();
        assert!(page.set(24, 7));
        assert_eq!((page.get(24), page.get(0)), (Some(7), Some(0)));
        assert!(!page.set(32, 7));
        assert_eq!((page.get(32), page.get(3)), (None, None));
        assert!(MappedPage::<5>::from_memory(MappedMemory::anonymous(32)).is_err());
    }
}
