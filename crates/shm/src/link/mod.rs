//! How two peers get the memory and each other's doorbells: the protocol of QEMU's ivshmem server
//! (QEMU, `docs/specs/ivshmem-spec.rst`, version 0).
//!
//! * [`Server`] has the memory and waits at a socket. It lets two peers in, gives them the numbers
//!   0 and 1, and tells each of the other. Frames do not pass through it: when it ends, its peers
//!   go on.
//! * [`Client`] is a peer: this process. A virtual machine's monitor is one, too (`-device
//!   ivshmem-doorbell`).
//!
//! The server says numbers of 64 bits, little-endian, each perhaps with a file descriptor: the
//! version; the peer's own number; -1 with the memory; then a peer's number with its doorbell (an
//! eventfd) for each peer that is there or comes, its own among them, and a number without one for
//! a peer that goes. A peer says nothing.

mod client;
mod message;
mod server;

pub use client::{Client, LinkError};
pub use server::{Happened, ServeError, Server};

/// The protocol's version.
const VERSION: i64 = 0;
/// The number that comes with the memory.
const MEMORY: i64 = -1;
/// Peers that share the memory.
const PEERS: usize = 2;
