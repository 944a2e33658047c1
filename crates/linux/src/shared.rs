//! Memory that other processes or other machines also write.

use crate::memory::MappedMemory;
use rustix::fd::AsFd;
use rustix::fs::{FileType, SealFlags, fcntl_get_seals, fstat};
use rustix::io::Errno;
use std::sync::atomic::{Ordering, fence};

/// A mapping of such memory, read and written in words of the processor's byte order.
pub struct SharedMapping(MappedMemory);

impl SharedMapping {
    /// Maps the whole of a memory file that no process can shrink (`F_SEAL_SHRINK`,
    /// memfd_create(2)).
    ///
    /// # Errors
    /// EPERM for a file that can shrink: SIGBUS would then end this process. The error of mmap(2).
    pub fn map(fd: impl AsFd) -> Result<Self, Errno> {
        let fd = fd.as_fd();
        let seals = fcntl_get_seals(fd)?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(Errno::PERM);
        }
        let len = usize::try_from(fstat(fd)?.st_size).map_err(|_| Errno::FBIG)?;
        Ok(Self(MappedMemory::map(fd, len)?))
    }

    /// Maps a file of sysfs or of a device, which cannot shrink, from its start.
    ///
    /// # Errors
    /// EPERM for a file of another filesystem, which can shrink; the error of mmap(2).
    pub fn map_device(fd: impl AsFd, len: usize) -> Result<Self, Errno> {
        let fd = fd.as_fd();
        let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
        let of_sysfs = rustix::fs::fstatfs(fd)?.f_type == SYSFS_MAGIC;
        if !of_sysfs && kind != FileType::CharacterDevice {
            return Err(Errno::PERM);
        }
        Ok(Self(MappedMemory::map(fd, len)?))
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the word at byte `at`, with acquire ordering; 0 where the mapping has no such word.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> u64 {
        self.0.get(at).unwrap_or(0)
    }

    /// Writes the word at byte `at`, with release ordering; does nothing where the mapping has no
    /// such word.
    #[inline]
    pub fn set(&self, at: usize, word: u64) {
        self.0.set(at, word);
    }

    /// Executes a full barrier between the accesses before it and those after it.
    #[inline]
    pub fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// `SYSFS_MAGIC` of `linux/magic.h`.
const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    #[test]
    fn two_mappings_are_the_same_memory() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("shared", flags).unwrap();
        ftruncate(&file, 8192).unwrap();
        assert_eq!(
            SharedMapping::map(&file).err(),
            Some(Errno::PERM),
            "it can shrink"
        );
        assert_eq!(
            SharedMapping::map_device(&file, 8192).err(),
            Some(Errno::PERM)
        );
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        let (one, two) = (
            SharedMapping::map(&file).unwrap(),
            SharedMapping::map(&file).unwrap(),
        );
        one.set(8184, 7);
        one.set(8192, 8);
        one.fence();
        assert_eq!((two.get(8184), two.get(8192), two.get(1)), (7, 0, 0));
        assert_eq!((two.len(), two.is_empty()), (8192, false));
    }
}
