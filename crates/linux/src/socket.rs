//! What any socket can be asked for.

use crate::Errno;
use crate::option::set;
use std::os::fd::AsFd;

/// `SO_PREFER_BUSY_POLL` (`uapi/asm-generic/socket.h`, Linux 5.11).
const PREFER_BUSY_POLL: libc::c_int = 69;

/// One datagram, or what there is, by read(2). A descriptor that waits, waits.
///
/// # Errors
/// What the call says.
#[inline]
pub fn read(from: impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::read(from, into)
}

/// The error that a socket has to say besides an answer to a call (`SO_ERROR`), once.
///
/// # Errors
/// That error, or what getsockopt(2) says.
pub fn take_error(socket: impl AsFd) -> Result<(), Errno> {
    rustix::net::sockopt::socket_error(socket)?
}

/// What is sent from now on has this mark (`SO_MARK`), by which classic BPF programs know it
/// ([`crate::classic_bpf::MARK`]). Packet sockets mark their frames since long, raw CAN sockets
/// since Linux 6.3.
///
/// # Errors
/// What setsockopt(2) says: EPERM without CAP_NET_ADMIN (or CAP_NET_RAW, since Linux 5.17).
pub fn set_mark(socket: impl AsFd, mark: u32) -> Result<(), Errno> {
    set(socket, libc::SOL_SOCKET, libc::SO_MARK, &mark)
}

/// Receiving polls the device itself for at most so many microseconds, where nothing is there
/// (`SO_BUSY_POLL`). The socket must know the device's NAPI instance.
///
/// # Errors
/// What setsockopt(2) says: ENOPROTOOPT for a kernel without busy polling, EPERM without
/// CAP_NET_ADMIN.
pub fn set_busy_poll(socket: impl AsFd, microseconds: u32) -> Result<(), Errno> {
    let time = libc::c_int::try_from(microseconds).unwrap_or(libc::c_int::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &time)
}

/// Whoever polls busily comes before the interrupt, where the interface defers interrupts
/// (`SO_PREFER_BUSY_POLL`; `napi_defer_hard_irqs` and `gro_flush_timeout` of the interface).
///
/// # Errors
/// What setsockopt(2) says: ENOPROTOOPT before Linux 5.11, EPERM without CAP_NET_ADMIN.
pub fn prefer_busy_poll(socket: impl AsFd) -> Result<(), Errno> {
    set(socket, libc::SOL_SOCKET, PREFER_BUSY_POLL, &1)
}
