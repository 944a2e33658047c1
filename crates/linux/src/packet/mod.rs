//! Packet sockets (`AF_PACKET`; `uapi/linux/if_packet.h`, packet(7)): they see the frames of
//! interfaces before the protocols do, and can share rings of memory with the kernel.
//!
//! [`PacketSocket`] is the socket with its options and its interface. [`RxRing`] and [`TxRing`] are
//! rings in which each frame has a slot, for ports; [`BlockRing`] has many frames in a block, for
//! recording many interfaces, with [`PassedCounts`], which counts frames by interface, and
//! [`SentRing`], which contains the frames that this machine sent. A socket has one ring.

pub mod block;
mod blocks;
mod kernel;
mod mapping;
mod passed;
mod program;
mod rx_ring;
mod sent;
mod socket;
mod tx_ring;

pub use blocks::{BlockRing, RingError, RingOptions, TakenBlock};
pub use passed::PassedCounts;
pub use program::{CaptureRule, FilterProgram, TooLong};
pub use rx_ring::{RingSlot, RxRing};
pub use sent::{SENT_BYTES, SentRing};
pub use socket::{FrameProtocol, PacketSocket, PacketStatistics, RingVersion};
pub use tx_ring::TxRing;
