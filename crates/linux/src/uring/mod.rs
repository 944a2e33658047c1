//! Datagrams by io_uring: a box for those that come in and one for those that go out, as in
//! [`crate::mmsg`], each with a ring of its own, both on the one socket.
//!
//! * [`Inbox`]: one receiving request that stays (a multishot `recvmsg`) and a ring of buffers
//!   from which the kernel takes one for each datagram. What came is read from shared memory,
//!   without a system call.
//! * [`Outbox`]: one call for a chain of datagrams. Each is sent after the one before it, and none
//!   after one that failed: they leave in order.
//!
//! Both need Linux 6.0, whose `recvmsg` can stay. [`Unavailable`] says what is in the way.
//!
//! # The rings' settings
//! * `IORING_SETUP_COOP_TASKRUN` with `IORING_SETUP_TASKRUN_FLAG` (Linux 5.19): what is to be done
//!   for a datagram is done when the thread that made the request is in the kernel next. It
//!   wakes up from poll(2) with the datagram already in its buffer, so that no call fetches
//!   it; a thread that computes is not interrupted, and the flag says that a call is worth while.
//! * Not `IORING_SETUP_DEFER_TASKRUN` (6.1): then only io_uring_enter(2) does the work, which is
//!   one system call more for each time somebody wakes up.
//! * Not `IORING_SETUP_SINGLE_ISSUER`: a port is opened by one thread, used by another and closed
//!   by the first. Only the last cancels what is under way, for which it must be allowed to submit.
//! * Not `IORING_SETUP_SQPOLL`: a thread of the kernel that polls takes a processor of its own, and
//!   on a machine with one, the gateway's.
//! * The socket is registered (`IORING_REGISTER_FILES`), so that no request looks it up. Buffers
//!   are not: only zero-copy sending takes registered ones, and to copy 16 bytes is cheaper.

#![allow(
    unsafe_code,
    reason = "io_uring reads and writes memory while requests are under way"
)]

mod buffers;
mod error;
mod inbox;
mod outbox;
mod region;
mod ring;
#[cfg(test)]
mod tests;

pub use error::Unavailable;
pub use inbox::Inbox;
pub use outbox::{MOST_A_CHAIN, Outbox};

/// Why this build has no io_uring; `None` where it has, as here. A kernel can still refuse:
/// [`Unavailable`].
#[must_use]
pub const fn left_out() -> Option<String> {
    None
}
