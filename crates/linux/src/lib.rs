//! Linux, as far as CAN needs it: everything that is `unsafe` toward the kernel is in this crate,
//! and what it offers is safe to use.
//!
//! | where | what |
//! |---|---|
//! | [`can`] | raw CAN sockets: options, filters, the kernel's frame layout |
//! | [`packet`] | packet sockets, which see the frames of interfaces before the protocols do |
//! | [`classic_bpf`] | programs that decide which datagrams a socket gets |
//! | [`mmsg`] | many datagrams a call: buffers for `recvmmsg` and `sendmmsg`; stamps, drop counts |
//! | [`netlink`] | the one netlink socket: messages, attributes, acknowledgements, lists |
//! | [`link`] | network interfaces: list, watch, bit rate, controller state |
//! | [`mod@poll`] | waiting for any of many descriptors |
//! | [`schedule`] | real-time scheduling and locked memory |
//! | [`signals`] | signals of this process |
//! | [`pci`] | PCI devices without a driver of the kernel's: regions, interrupts |
//! | [`bitcan`] | the tester of the bit-timed buses of `kmod/bitcan` |
//!
//! It says what was tried and what the kernel answered. What follows from that (queues, trying
//! again, coming back after an interface was unplugged) is decided by those who use it.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod bitcan;
pub mod can;
pub mod classic_bpf;
mod errno;
pub mod link;
mod memory;
pub mod mmsg;
pub mod netlink;
mod option;
pub mod packet;
pub mod pci;
pub mod poll;
pub mod schedule;
pub mod signals;
mod tsc;

pub use poll::Poll;
/// What the kernel answers when it refuses.
pub use rustix::io::Errno;

/// One datagram, or what there is, by read(2). A descriptor that waits, waits.
///
/// # Errors
/// What the call says.
#[inline]
pub fn read(from: impl std::os::fd::AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::read(from, into)
}
