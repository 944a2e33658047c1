//! The virtio CAN device (virtio 1.4 §5.19, device 36) for virtual machines, over vhost-user.
//!
//! A virtual machine monitor such as QEMU hands the machine's memory and its queues to this process
//! through a Unix socket; from then on frames pass in that memory, and the monitor has no part in
//! it. Linux has the driver since 7.2.
//!
//! * [`Device`]: one device on one socket, for one machine at a time. It never blocks;
//!   [`Device::events`] say when there is something to do, and [`Device::work`] does it.
//! * [`Rings`]: the three queues in the machine's memory. Nothing in there is trusted: what is read
//!   is read once, checked, and bounded; a machine whose queues make no sense loses its device
//!   until it resets it.
//! * [`message`]: what is in the queues.
//!
//! # Frames
//! virtio CAN knows neither BRS nor ESI. An FD frame of a machine has BRS where [`Options::brs`]
//! says so; a machine is not told of either. Error frames and CAN XL are not for machines.
//!
//! # When a frame is acknowledged
//! [`Device::take`] hands over frames with a [`Ticket`]; the machine's driver hears of a frame's
//! end at [`Device::finish`]. Where the feature `LATE_TX_ACK` is offered ([`Options::late_ack`]),
//! whoever holds the device promises that this is the end of frame on the bus.
//!
//! # Which way things go wrong
//! * The machine is reset, paused or killed, or the monitor dies: frames that it had handed over
//!   and that are not finished fail ([`Counters::abandoned`]); [`Device::finish`] of one of them
//!   does nothing.
//! * This process dies and comes back: a monitor that connects again hands the queues over as they
//!   are (QEMU 11.1 cannot: `docs/decisions/0018-virtio.md`). Whether the machine had started its
//!   controller stands in the last message of its control queue, which is still there ([`Rings`]).
//! * A monitor can shrink the memory that it shares; this process would then be ended by SIGBUS. A
//!   machine cannot.
//!
//! # Which processors
//! Those with 64 bits, as vm-memory, through which the machine's memory is reached. For others this
//! crate is empty.

#![forbid(unsafe_code)]
#![cfg(target_pointer_width = "64")]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod counters;
mod device;
mod guest;
pub mod message;
mod rings;
mod session;

pub use counters::Counters;
pub use device::{Device, FIRST_OTHER, Link, Options};
pub use linux::listener::ListenError;
pub use rings::{Armed, Broken, Rings, Taken, Ticket};
