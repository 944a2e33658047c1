//! The calls of the module's devices.
#![allow(unsafe_code, reason = "ioctl(2)")]
#![allow(clippy::cast_lossless, reason = "musl's ioctl takes a signed number")]

use super::layout::{BitcanControl, BitcanNapi, BitcanSetup, BitcanStart};
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

pub(super) fn set_up(device: &OwnedFd, setup: &mut BitcanSetup) -> Result<(), Errno> {
    let code = opcode::read_write::<BitcanSetup>(b'b', 1);
    // SAFETY: the device is open; BITCAN_SETUP reads and writes one `struct bitcan_setup`, as which
    // `BitcanSetup` is laid out (`repr(C)`, 40 bytes, which is part of the ioctl number, so that
    // another device or version refuses it), and `setup` is live and not shared.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_mut(setup)) })
}

pub(super) fn start(device: &OwnedFd, start: &BitcanStart) -> Result<(), Errno> {
    let code = opcode::write::<BitcanStart>(b'b', 2);
    // SAFETY: the device is open; BITCAN_START reads one `struct bitcan_start`, as which
    // `BitcanStart` is laid out (`repr(C)`, 24 bytes, also part of the ioctl number); `start` is
    // live.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(start)) })
}

pub(super) fn stop(device: &OwnedFd) -> Result<(), Errno> {
    let code = opcode::none(b'b', 3);
    // SAFETY: the device is open; BITCAN_STOP has no argument.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _) })
}

pub(super) fn control(device: &OwnedFd, control: &BitcanControl) -> Result<(), Errno> {
    let code = opcode::write::<BitcanControl>(b'b', 16);
    // SAFETY: the device is open; BITCAN_CONTROL reads one `struct bitcan_control`, as which
    // `BitcanControl` is laid out (`repr(C)`, 152 bytes, also part of the ioctl number); `control`
    // is live.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(control)) })
}

pub(super) fn napi(device: &OwnedFd, napi: &BitcanNapi) -> Result<(), Errno> {
    let code = opcode::write::<BitcanNapi>(b'b', 8);
    // SAFETY: the device is open; BITCAN_NAPI reads one `struct bitcan_napi`, as which `BitcanNapi`
    // is laid out (`repr(C)`, 8 bytes, also part of the ioctl number); `napi` is live.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, std::ptr::from_ref(napi)) })
}

pub(super) fn leave(device: &OwnedFd) -> Result<(), Errno> {
    number(device, 17, 0)
}

pub(super) fn abort(device: &OwnedFd, buffers: u32) -> Result<(), Errno> {
    number(device, 19, buffers)
}

pub(super) fn recover(device: &OwnedFd) -> Result<(), Errno> {
    number(device, 20, 0)
}

/// Makes a call whose argument is a number or nothing.
fn number(device: &OwnedFd, call: u8, argument: u32) -> Result<(), Errno> {
    let code = opcode::none(b'b', call);
    // SAFETY: the device is open; these calls take their argument as a number (BITCAN_LEAVE,
    // BITCAN_ABORT, BITCAN_RECOVER of bitcan.h), and read or write no memory of this process.
    result(unsafe { libc::ioctl(device.as_raw_fd(), code as _, libc::c_ulong::from(argument)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `_IOWR('b', 1, struct bitcan_setup)` and the others are on x86 and ARM.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn numbers_are_the_headers() {
        assert_eq!(opcode::read_write::<BitcanSetup>(b'b', 1), 0xC028_6201);
        assert_eq!(opcode::write::<BitcanStart>(b'b', 2), 0x4018_6202);
        assert_eq!(opcode::none(b'b', 3), 0x6203);
        assert_eq!(opcode::write::<BitcanControl>(b'b', 16), 0x4098_6210);
        assert_eq!(opcode::write::<BitcanNapi>(b'b', 8), 0x4008_6208);
    }
}
