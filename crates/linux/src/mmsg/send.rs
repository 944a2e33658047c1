//! sendmmsg(2) itself: one system call for all messages, independent of the C library.
#![allow(unsafe_code, reason = "sendmmsg(2)")]

use super::header::DONT_WAIT;
use rustix::fd::{AsRawFd, BorrowedFd};

/// Sends `n` messages by a non-blocking sendmmsg(2); returns the number that was sent, or -1 with
/// errno set.
///
/// On 64-bit processors musl's function of this name calls sendmsg(2) for each message (its
/// `src/network/sendmmsg.c`): a batch would cost as many system calls as it has frames. musl does
/// so because its `msghdr` has `int` and a padding where the kernel has `size_t`, and its callers
/// need not clear the padding. [`super::header::header`] clears it, so that the kernel reads the
/// same number, and no control message, which would have such a padding too, is sent here.
///
/// # Safety
///
/// `headers` points to at least `n` headers, made by [`super::header::header`] without ancillary
/// data, whose parts the kernel may read until the call returns.
pub(super) unsafe fn sendmmsg(
    socket: BorrowedFd<'_>,
    headers: *mut libc::mmsghdr,
    n: libc::c_uint,
) -> libc::c_long {
    let socket = socket.as_raw_fd();
    #[cfg(target_env = "musl")]
    // SAFETY: the caller's guarantee; the four arguments are those of the call.
    return unsafe { libc::syscall(libc::SYS_sendmmsg, socket, headers, n, DONT_WAIT) };
    #[cfg(not(target_env = "musl"))]
    // SAFETY: the caller's guarantee.
    return unsafe { libc::sendmmsg(socket, headers, n, DONT_WAIT) }.into();
}
