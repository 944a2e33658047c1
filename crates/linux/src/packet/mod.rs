//! Packet sockets (`AF_PACKET`; `uapi/linux/if_packet.h`, packet(7)): they see the frames of
//! interfaces before the protocols do, and can share rings of memory with the kernel.
//!
//! [`Socket`] is the socket with its options and its interface. [`RxRing`] and [`TxRing`] are rings in
//! which each frame has a slot. A socket has one ring.

mod mapping;
mod rx_ring;
mod socket;
mod tx_ring;

pub use rx_ring::{RxRing, Slot};
pub use socket::{Protocol, Socket, Statistics, Version};
pub use tx_ring::TxRing;
