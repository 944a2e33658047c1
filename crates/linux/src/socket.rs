//! Options and operations that any socket has.

use crate::Errno;
use crate::option::{get, set};
use std::os::fd::AsFd;

/// `SO_PREFER_BUSY_POLL` (`uapi/asm-generic/socket.h`, Linux 5.11).
const PREFER_BUSY_POLL: libc::c_int = 69;

/// Reads one datagram, or the bytes that are available, by read(2). Blocks on a blocking
/// descriptor.
///
/// # Errors
/// The error of read(2).
#[inline]
pub fn read(from: impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::read(from, into)
}

/// Takes the socket's pending error (`SO_ERROR`), which is reported once and is not the result of a
/// call.
///
/// # Errors
/// The pending error, or the error of getsockopt(2).
pub fn take_error(socket: impl AsFd) -> Result<(), Errno> {
    rustix::net::sockopt::socket_error(socket)?
}

/// Returns the number of datagrams that found no room in the socket's receive buffer, modulo 2^32
/// (`SO_MEMINFO`, `SK_MEMINFO_DROPS` of `uapi/linux/sock_diag.h`; Linux 4.12).
///
/// # Errors
/// The error of getsockopt(2).
pub fn dropped(socket: impl AsFd) -> Result<u32, Errno> {
    const DROPS: usize = 8;
    let mut all = [0_u32; DROPS + 1];
    get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut all)?;
    Ok(all[DROPS])
}

/// Sets the mark (`SO_MARK`) of everything that is sent from now on; classic BPF programs recognize
/// it ([`crate::classic_bpf::MARK`]). Packet sockets have marked their frames for a long time, raw
/// CAN sockets since Linux 6.3.
///
/// # Errors
/// The error of setsockopt(2): EPERM without CAP_NET_ADMIN (or CAP_NET_RAW, since Linux 5.17).
pub fn set_mark(socket: impl AsFd, mark: u32) -> Result<(), Errno> {
    set(socket, libc::SOL_SOCKET, libc::SO_MARK, &mark)
}

/// Sets the priority of what is sent from now on in the queues of this machine (`SO_PRIORITY`).
///
/// # Errors
/// The error of setsockopt(2): EPERM for more than 6 without CAP_NET_ADMIN.
pub fn set_priority(socket: impl AsFd, priority: u32) -> Result<(), Errno> {
    set(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &priority)
}

/// Returns the priority of what is sent ([`set_priority`]).
///
/// # Errors
/// The error of getsockopt(2).
pub fn priority(socket: impl AsFd) -> Result<u32, Errno> {
    let mut priority = 0_u32;
    get(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &mut priority)?;
    Ok(priority)
}

/// Limits the bytes of a TCP connection that wait in the kernel and were not sent yet
/// (`TCP_NOTSENT_LOWAT`): the socket has no room while there are more.
///
/// # Errors
/// The error of setsockopt(2).
pub fn set_notsent_limit(socket: impl AsFd, bytes: u32) -> Result<(), Errno> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes)
}

/// Makes receiving poll the device itself for at most this many microseconds where nothing has
/// arrived (`SO_BUSY_POLL`). The socket must know the device's NAPI instance.
///
/// # Errors
/// The error of setsockopt(2): ENOPROTOOPT for a kernel without busy polling, EPERM without
/// CAP_NET_ADMIN.
pub fn set_busy_poll(socket: impl AsFd, microseconds: u32) -> Result<(), Errno> {
    let time = libc::c_int::try_from(microseconds).unwrap_or(libc::c_int::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &time)
}

/// Gives busy polling precedence over the interrupt where the interface defers interrupts
/// (`SO_PREFER_BUSY_POLL`; `napi_defer_hard_irqs` and `gro_flush_timeout` of the interface).
///
/// # Errors
/// The error of setsockopt(2): ENOPROTOOPT before Linux 5.11, EPERM without CAP_NET_ADMIN.
pub fn prefer_busy_poll(socket: impl AsFd) -> Result<(), Errno> {
    set(socket, libc::SOL_SOCKET, PREFER_BUSY_POLL, &1)
}
