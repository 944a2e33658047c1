//! Linux CAN interfaces, by raw sockets (`AF_CAN`, `CAN_RAW`).
//!
//! * The ways to receive and to transmit are chosen freely ([`ReceiveBy`], [`TransmitBy`]): a file
//!   each in `receive` and `transmit`, behind the two small traits of `way`. By default frames are
//!   received by `recvmmsg` into buffers that are allocated once, and handed over there; they are
//!   sent by `sendmmsg` from a circular buffer of slots in the kernel's own layout.
//! * The kernel leaves out frames that no route can use, as far as its 512 filters reach.
//! * Stamps are the kernel's (Unix time, in or shortly after the receive interrupt), or the
//!   controller's own if they are requested and the driver has them. The kernel begins to stamp a
//!   moment after the first socket requests it; frames from before have the gateway's stamp.
//! * A port outlives its interface: down, bus-off and unplugged are counted, frames for it are
//!   refused meanwhile, and it is used again when an interface of that name (or of that
//!   device, with `match`) is back.
//! * Both halves share one raw socket, because the socket that sends a frame is the only one on the
//!   interface that does not receive it. The port receives frames that *other* programs on this
//!   machine send on the interface.
//! * Local listeners (candump) see sent frames only if their route has `echo`, as with can-gw. An
//!   interface that does not echo on its own, such as a vcan, is the exception: there the kernel's
//!   loopback is the only way for frames to reach any other socket.

mod choose;
mod config;
mod filter;
mod kind;
mod line;
mod matched;
mod open;
mod own;
mod packet_filter;
mod receive;
mod settings;
mod shared;
mod transmit;
mod way;
mod words;

pub use choose::OptimiseFor;
pub use config::{ReceiveBy, TransmitBy};
pub use kind::SocketCan;
pub use matched::InterfaceMatch;
pub use open::open;
pub use settings::SocketCanSettings;
#[cfg(all(feature = "virtio", target_pointer_width = "64"))]
pub(crate) use settings::keys;

#[cfg(test)]
mod tests;
