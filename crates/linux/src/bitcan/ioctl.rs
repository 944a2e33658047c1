//! The three calls of the device.
#![allow(unsafe_code, reason = "ioctl(2)")]
#![allow(clippy::cast_lossless, reason = "musl's ioctl takes a signed number")]

use super::layout::{Setup, Start};
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

pub(super) fn set_up(device: &OwnedFd, setup: &mut Setup) -> Result<(), Errno> {
    let code = opcode::read_write::<Setup>(b'b', 1);
    // SAFETY: the device is open; BITCAN_SETUP reads and writes one `struct bitcan_setup`,
    // as which `Setup` is laid out (`repr(C)`, 40 bytes, which the number of the call has in
    // it, so that another device or version refuses it), and `setup` is live and not shared.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_mut(setup)) })
}

pub(super) fn start(device: &OwnedFd, start: &Start) -> Result<(), Errno> {
    let code = opcode::write::<Start>(b'b', 2);
    // SAFETY: the device is open; BITCAN_START reads one `struct bitcan_start`, as which `Start` is
    // laid out (`repr(C)`, 24 bytes, in the number of the call too); `start` is live.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(start)) })
}

pub(super) fn stop(device: &OwnedFd) -> Result<(), Errno> {
    let code = opcode::none(b'b', 3);
    // SAFETY: the device is open; BITCAN_STOP has no argument.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `_IOWR('b', 1, struct bitcan_setup)` and the others are on x86 and ARM.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn numbers_are_the_headers() {
        assert_eq!(opcode::read_write::<Setup>(b'b', 1), 0xC028_6201);
        assert_eq!(opcode::write::<Start>(b'b', 2), 0x4018_6202);
        assert_eq!(opcode::none(b'b', 3), 0x6203);
    }
}
