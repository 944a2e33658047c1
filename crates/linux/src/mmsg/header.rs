//! The structure that recvmmsg(2) and sendmmsg(2) take.
#![allow(unsafe_code, reason = "a structure of C that begins as zeros")]

use std::mem::zeroed;

/// Flag that makes the calls non-blocking. It is an `unsigned int` in musl's headers, an `int` in
/// glibc's.
#[cfg(target_env = "musl")]
pub(super) const DONT_WAIT: libc::c_uint = libc::MSG_DONTWAIT as libc::c_uint;
#[cfg(not(target_env = "musl"))]
pub(super) const DONT_WAIT: libc::c_int = libc::MSG_DONTWAIT;

/// Returns a message of one part, with room for ancillary data or none.
pub(super) fn header(
    vector: *mut libc::iovec,
    control: *mut libc::c_void,
    control_len: usize,
) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers, for which zero is valid.
    let mut header: libc::mmsghdr = unsafe { zeroed() };
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_control = control;
    header.msg_hdr.msg_controllen = control_len as _;
    header
}
