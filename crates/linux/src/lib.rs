//! Linux interfaces that CAN needs. All code that is `unsafe` toward the kernel is in this crate,
//! and its interface is safe to use.
//!
//! | module | contents |
//! |---|---|
//! | [`can`] | raw CAN sockets: options, filters, the kernel's frame layout |
//! | [`packet`] | packet sockets, which see the frames of interfaces before the protocols do |
//! | [`classic_bpf`] | programs that decide which datagrams a socket gets |
//! | [`mmsg`] | many datagrams a call: buffers for `recvmmsg` and `sendmmsg`; stamps, drop counts |
//! | [`netlink`] | the one netlink socket: messages, attributes, acknowledgements, lists |
//! | [`link`] | network interfaces: list, watch, bit rate, controller state |
//! | [`socket`] | options that any socket has |
//! | [`listener`] | Unix sockets at a path: listening and connecting |
//! | [`shared`] | memory that other processes or machines also write |
//! | [`kernel`] | the version of the running kernel |
//! | [`clock`] | the state of the system clock |
//! | [`mod@poll`], [`mod@epoll`] | waiting for any of a few descriptors, and of many |
//! | [`events`] | one epoll for the descriptors of several owners |
//! | [`schedule`] | scheduling and locked memory |
//! | [`uring`] | datagrams by io_uring (feature `io-uring`; without it nothing can be opened) |
//! | [`signals`] | signals of this process |
//! | [`pci`] | PCI devices without a kernel driver: regions, interrupts |
//! | [`bitcan`] | the tester of the bit-timed buses of `kmod/bitcan` |
//!
//! The crate reports what was tried and the error that the kernel returned. Its users decide on the
//! consequences (queues, retries, recovery after an interface was unplugged).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod bitcan;
pub mod can;
mod causes;
pub mod chardev;
pub mod classic_bpf;
pub mod clock;
pub mod epoll;
mod errno;
pub mod events;
pub mod kernel;
pub mod link;
pub mod listener;
mod memory;
pub mod mmsg;
pub mod netlink;
mod option;
pub mod packet;
pub mod pci;
pub mod poll;
pub mod schedule;
pub mod shared;
pub mod signals;
pub mod socket;
mod tsc;
// The processors are those of the dependency `io-uring` in Cargo.toml.
#[cfg(all(
    feature = "io-uring",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
))]
pub mod uring;
#[cfg(not(all(
    feature = "io-uring",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
)))]
#[path = "uring_left_out.rs"]
pub mod uring;

pub use causes::with_causes;
pub use epoll::Epoll;
pub use events::EventSet;
pub use poll::PollSet;
/// The error that the kernel returns when it refuses a call.
pub use rustix::io::Errno;
