//! The calls of a character device.
#![allow(unsafe_code, reason = "ioctl(2)")]
#![allow(clippy::cast_lossless, reason = "musl's ioctl takes a signed number")]

use super::layout::{RawControl, RawFilters, RawInfo, RawStats};
use crate::errno::last_errno;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::ioctl::opcode;

fn result(code: libc::c_int) -> Result<(), Errno> {
    if code >= 0 {
        return Ok(());
    }
    Err(last_errno())
}

pub(super) fn start(device: &OwnedFd, control: &RawControl) -> Result<(), Errno> {
    let code = opcode::write::<RawControl>(b'c', 0x80);
    // SAFETY: the device is open; CANCHAR_START reads one `struct canchar_control`, as which
    // `RawControl` is laid out (`repr(C)`, 32 bytes, which is part of the ioctl number, so that
    // another device or version refuses it); `control` is live.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(control)) })
}

pub(super) fn filter(device: &OwnedFd, filters: &RawFilters) -> Result<(), Errno> {
    let code = opcode::write::<RawFilters>(b'c', 0x83);
    // SAFETY: as for `start`: CANCHAR_FILTER reads one `struct canchar_filters`, 528 bytes.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(filters)) })
}

pub(super) fn info(device: &OwnedFd) -> Result<RawInfo, Errno> {
    let code = opcode::read::<RawInfo>(b'c', 0x85);
    let mut info = RawInfo::default();
    // SAFETY: the device is open; CANCHAR_INFO writes one `struct canchar_info`, 120 bytes, as
    // which `RawInfo` is laid out: any bytes are valid; `info` is live and not shared.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_mut(&mut info)) })?;
    Ok(info)
}

pub(super) fn stats(device: &OwnedFd) -> Result<RawStats, Errno> {
    let code = opcode::read::<RawStats>(b'c', 0x86);
    let mut stats = RawStats::default();
    // SAFETY: as for `info`: CANCHAR_STATS writes one `struct canchar_stats`, 144 bytes.
    result(unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            code as _,
            std::ptr::from_mut(&mut stats),
        )
    })?;
    Ok(stats)
}

/// CANCHAR_STOP (0x81), CANCHAR_RECOVER (0x82).
pub(super) fn plain(device: &OwnedFd, call: u8) -> Result<(), Errno> {
    let code = opcode::none(b'c', call);
    // SAFETY: the device is open; these calls have no argument.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `_IOW('c', 0x80, struct canchar_control)` and the others are on x86 and ARM.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn numbers_are_the_headers() {
        assert_eq!(opcode::write::<RawControl>(b'c', 0x80), 0x4020_6380);
        assert_eq!(opcode::none(b'c', 0x81), 0x6381);
        assert_eq!(opcode::write::<RawFilters>(b'c', 0x83), 0x4210_6383);
        assert_eq!(opcode::read::<RawInfo>(b'c', 0x85), 0x8078_6385);
        assert_eq!(opcode::read::<RawStats>(b'c', 0x86), 0x8090_6386);
    }
}
