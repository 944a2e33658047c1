//! Socket options.
#![allow(unsafe_code, reason = "setsockopt(2) and getsockopt(2)")]

use crate::Errno;
use crate::errno::last_errno;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};

/// Values whose bytes the kernel may read or write.
///
/// # Safety
/// The type consists of integers, has no gaps between them, and is valid with any bytes in it.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for u8 {}
// SAFETY: an integer.
unsafe impl Plain for libc::c_int {}
// SAFETY: an integer.
unsafe impl Plain for u32 {}
// SAFETY: an array has no gaps between its elements, which are `Plain`.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Calls setsockopt(2) with one value.
pub(crate) fn set<T: Plain>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> Result<(), Errno> {
    set_slice(socket, level, option, std::slice::from_ref(value))
}

/// Calls setsockopt(2) with a list of values, which may be empty.
pub(crate) fn set_slice<T: Plain>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    values: &[T],
) -> Result<(), Errno> {
    // SAFETY: the pointer and the length in bytes are those of one live slice of values without
    // gaps (`Plain`), which the kernel only reads during the call; an empty slice's pointer is not
    // read, its length is 0. The descriptor is borrowed, so it is open. The kernel writes nothing
    // and keeps no address: options whose value has an address inside do not come here, since no
    // pointer is `Plain`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            values.as_ptr().cast(),
            size_of_val(values) as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Calls getsockopt(2) into `value`; returns the number of bytes that the kernel wrote. Other bytes
/// of `value` stay as they are.
pub(crate) fn get<T: Plain>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut T,
) -> Result<usize, Errno> {
    let mut len = size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointer and `len` are those of one live value, of which any bytes are valid
    // (`Plain`) and into which the kernel writes at most `len` bytes; the descriptor is borrowed,
    // so it is open.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            std::ptr::from_mut(value).cast(),
            &raw mut len,
        )
    };
    if result == 0 {
        Ok(len as usize)
    } else {
        Err(last_errno())
    }
}
