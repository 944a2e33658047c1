//! Datagrams by io_uring: an inbox for received datagrams and an outbox for datagrams to send, as
//! in [`crate::mmsg`], each with a ring of its own, both on the same socket.
//!
//! * [`UringInbox`]: one receiving request that stays (a multishot `recvmsg`) and a ring of buffers
//!   from which the kernel takes one for each datagram. Received datagrams are read from shared
//!   memory, without a system call.
//! * [`UringOutbox`]: one call for a chain of datagrams. Each is sent after the one before it, and
//!   none after one that failed: they are sent in order.
//!
//! Both need Linux 6.0, which has the multishot `recvmsg`. [`UringUnavailable`] states the
//! obstacle.
//!
//! # The rings' settings
//! * `IORING_SETUP_COOP_TASKRUN` with `IORING_SETUP_TASKRUN_FLAG` (Linux 5.19): the work for a
//!   datagram is done when the thread that submitted the request next enters the kernel. The thread
//!   wakes up from poll(2) with the datagram already in its buffer, so that no call fetches it; a
//!   thread that computes is not interrupted, and the flag indicates that a call is worthwhile.
//! * Not `IORING_SETUP_DEFER_TASKRUN` (6.1): then only io_uring_enter(2) does the work, which is
//!   one additional system call for each wake-up.
//! * Not `IORING_SETUP_SINGLE_ISSUER`: a port is opened by one thread, used by another and closed
//!   by the first. Only the last step cancels the requests under way, for which the closing thread
//!   must be allowed to submit.
//! * Not `IORING_SETUP_SQPOLL`: a kernel thread that polls takes a processor of its own, and on a
//!   machine with one, the gateway's.
//! * The socket is registered (`IORING_REGISTER_FILES`), so that no request looks it up. Buffers
//!   are not: only zero-copy sending takes registered ones, and copying 16 bytes is cheaper.

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

pub use error::UringUnavailable;
pub use inbox::UringInbox;
pub use outbox::{MOST_A_CHAIN, UringOutbox};

/// Returns the reason why this build has no io_uring; `None` where it has, as here. A kernel can
/// still refuse: [`UringUnavailable`].
#[must_use]
pub const fn left_out() -> Option<String> {
    None
}
