//! I/O ports of x86.

#![allow(unsafe_code, reason = "ioperm(2), and the instructions in and out")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A range of ports that this process may use, if the kernel lets it.
///
/// The permission belongs to a thread. A thread without it asks the kernel at its first access; a
/// thread-local word of bits records the permissions that it has.
#[derive(Debug)]
pub(super) struct PortRange {
    first: u16,
    count: u16,
    /// The bit of this range in [`GRANTED`].
    bit: u64,
}

/// Number of ranges that have got a bit so far. Bits are never reused, because threads other than
/// the one that drops a range keep their permission.
static RANGES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static GRANTED: Cell<u64> = const { Cell::new(0) };
}

impl PortRange {
    /// Opens a range; `None` where these ports cannot be used in this way: on another processor,
    /// without the permission, or after 64 ranges in the life of a process.
    pub(super) fn open(first: u16, count: u16) -> Option<Self> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) || count == 0 {
            return None;
        }
        first.checked_add(count - 1)?;
        let index = RANGES
            .fetch_update(Relaxed, Relaxed, |n| (n < u64::BITS).then_some(n + 1))
            .ok()?;
        let ports = Self {
            first,
            count,
            bit: 1 << index,
        };
        ports.is_granted().then_some(ports)
    }

    pub(super) const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether this thread may use the ports.
    #[inline]
    fn is_granted(&self) -> bool {
        GRANTED.get() & self.bit != 0 || self.ask()
    }

    #[cold]
    fn ask(&self) -> bool {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            // SAFETY: ioperm(2) reads no memory of this process; it changes which ports this thread
            // may use, and the range lies within 16 bits (`open`).
            let answer = unsafe { libc::ioperm(self.first.into(), self.count.into(), 1) };
            if answer == 0 {
                GRANTED.set(GRANTED.get() | self.bit);
            }
            answer == 0
        }
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        {
            false
        }
    }

    /// Returns the port `offset` bytes after the first, for an access of `size` bytes by this
    /// thread.
    #[inline]
    fn port(&self, offset: usize, size: usize) -> Option<u16> {
        let fits = offset.checked_add(size)? <= self.len();
        (fits && self.is_granted()).then(|| self.first + offset as u16)
    }

    pub(super) fn read8(&self, offset: usize) -> Option<u8> {
        self.port(offset, 1).map(in8)
    }

    pub(super) fn write8(&self, offset: usize, value: u8) {
        if let Some(port) = self.port(offset, 1) {
            out8(port, value);
        }
    }

    pub(super) fn read32(&self, offset: usize) -> Option<u32> {
        self.port(offset, 4).map(in32)
    }

    pub(super) fn write32(&self, offset: usize, value: u32) {
        if let Some(port) = self.port(offset, 4) {
            out32(port, value);
        }
    }
}

/// The four instructions. Each is called by [`PortRange`] only, with a port that
/// [`PortRange::port`] returned: within a range for which ioperm(2) gave this thread the
/// permission, which nothing takes away again. Without it, the processor would raise a general
/// protection fault, which ends the process; memory is never accessed.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod instructions {
    use std::arch::asm;

    pub(super) fn in8(port: u16) -> u8 {
        let value;
        // SAFETY: the permission as described above; the instruction writes one register and no
        // memory.
        unsafe {
            asm!("in al, dx", out("al") value, in("dx") port, options(nostack, preserves_flags));
        };
        value
    }

    pub(super) fn out8(port: u16, value: u8) {
        // SAFETY: the permission as described above; the instruction writes no register and no
        // memory.
        unsafe {
            asm!("out dx, al", in("al") value, in("dx") port, options(nostack, preserves_flags));
        };
    }

    pub(super) fn in32(port: u16) -> u32 {
        let value;
        // SAFETY: as for `in8`.
        unsafe {
            asm!("in eax, dx", out("eax") value, in("dx") port, options(nostack, preserves_flags));
        };
        value
    }

    pub(super) fn out32(port: u16, value: u32) {
        // SAFETY: as for `out8`.
        unsafe {
            asm!("out dx, eax", in("eax") value, in("dx") port, options(nostack, preserves_flags));
        };
    }
}

/// Never called: without ports there is no [`PortRange`].
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
mod instructions {
    pub(super) fn in8(_: u16) -> u8 {
        u8::MAX
    }

    pub(super) fn out8(_: u16, _: u8) {}

    pub(super) fn in32(_: u16) -> u32 {
        u32::MAX
    }

    pub(super) fn out32(_: u16, _: u32) {}
}

use instructions::{in8, in32, out8, out32};
