//! The virtio CAN device (virtio 1.4 §5.19, device 36) for virtual machines, over vhost-user.
//!
//! A virtual machine monitor such as QEMU hands the machine's memory and its queues over to this
//! process through a Unix socket; from then on frames pass in that memory, without the monitor.
//! Linux has the driver since 7.2.
//!
//! * [`VirtioDevice`]: one device on one socket, for one machine at a time. It never blocks;
//!   [`VirtioDevice::events`] indicate that there is something to do, and [`VirtioDevice::work`]
//!   does it.
//! * [`DeviceRings`]: the three queues in the machine's memory. Nothing in there is trusted: each
//!   value is read once, checked, and bounded; a machine whose queues are invalid loses its device
//!   until it resets it.
//! * [`message`]: the contents of the queues.
//!
//! # Frames
//! virtio CAN has neither BRS nor ESI. An FD frame from a machine gets BRS if
//! [`DeviceOptions::brs`] is set; neither flag is passed to a machine. Error frames and CAN XL are
//! not passed to machines.
//!
//! # Acknowledgement of frames
//! [`VirtioDevice::take`] hands over frames with a [`FrameTicket`]; the machine's driver is
//! notified of a frame's end by [`VirtioDevice::finish`]. If the feature `LATE_TX_ACK` is offered
//! ([`DeviceOptions::late_ack`]), the owner of the device guarantees that this is the end of frame
//! on the bus.
//!
//! # Failures
//! * The machine is reset, paused or killed, or the monitor dies: frames that it had handed over
//!   and that are not finished fail ([`DeviceCounters::abandoned`]); [`VirtioDevice::finish`] of
//!   one of them does nothing.
//! * This process dies and is restarted: a monitor that connects again hands the queues over as
//!   they are (QEMU 11.1 cannot: `docs/decisions/0018-virtio.md`). The last message of the
//!   machine's control queue, which is still there, shows whether the machine had started its
//!   controller ([`DeviceRings`]).
//! * A monitor can shrink the memory that it shares; this process would then be terminated by
//!   SIGBUS. A machine cannot.
//!
//! # Supported processors
//! Those with 64 bits, like vm-memory, through which the machine's memory is accessed. On others
//! this crate is empty.

#![forbid(unsafe_code)]
#![cfg(target_pointer_width = "64")]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod counters;
mod device;
mod guest;
pub mod message;
mod rings;
mod session;

pub use counters::DeviceCounters;
pub use device::{DeviceLink, FIRST_OTHER, VirtioDevice};
pub use guest::DeviceOptions;
pub use linux::listener::ListenError;
pub use rings::{ArmedQueues, BrokenQueue, DeviceRings, FrameTicket, TakenFrame};
