//! Packet sockets (`AF_PACKET`; `uapi/linux/if_packet.h`, packet(7)): they see the frames of
//! interfaces before the protocols do, and can share rings of memory with the kernel.
//!
//! [`Socket`] is the socket with its options and its interface. The rings are files of their own: [`BlockRing`]
//! for recording many interfaces.

pub mod block;
mod blocks;
mod program;
mod socket;

pub use blocks::{BlockRing, RingError, RingOptions, Taken};
pub use program::{Program, Rule, TooLong};
pub use socket::{Protocol, Socket, Statistics, Version};
