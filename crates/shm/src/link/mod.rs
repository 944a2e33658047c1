//! The exchange of the memory and the doorbells between two peers: the protocol of QEMU's ivshmem
//! server (QEMU, `docs/specs/ivshmem-spec.rst`, version 0).
//!
//! * [`ShmServer`] has the memory and listens at a socket. It accepts two peers, assigns them the
//!   numbers 0 and 1, and announces each to the other. Frames do not pass through it: when it ends,
//!   its peers go on.
//! * [`ShmClient`] is a peer: this process. A virtual machine's monitor is one, too (`-device
//!   ivshmem-doorbell`).
//!
//! The server sends numbers of 64 bits, little-endian, each perhaps with a file descriptor: the
//! version; the peer's own number; -1 with the memory; then a peer's number with its doorbell (an
//! eventfd) for each peer that is connected or connects, including its own; and a number without a
//! descriptor for a peer that disconnects. A peer sends nothing.

mod client;
mod message;
mod server;

pub use client::{LinkError, ShmClient};
pub use server::{ServeError, ServerEvent, ShmServer};

/// The protocol's version.
const VERSION: i64 = 0;
/// The number that is sent with the memory.
const MEMORY: i64 = -1;
/// Number of peers that share the memory.
const PEERS: usize = 2;
