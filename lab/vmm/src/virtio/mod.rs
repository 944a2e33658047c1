//! Virtio over PCI (virtio 1.4, §4.1) with the device's implementation in another process
//! (vhost-user).
//!
//! * `transport`: the registers by which the driver sets the device up.
//! * `queue`: the driver's settings of a queue, and the check that the queue is in the machine's
//!   memory.
//! * `access`: access to the registers by configuration space.
//! * `device`: the PCI device around them: their addresses, its interrupts, the ports by which
//!   queues are kicked.
//! * `backend`: the other process.
//! * `wiring`: work that KVM does without this process: interrupts and kicks by event descriptors.

mod access;
mod backend;
mod device;
mod queue;
mod transport;
mod wiring;

pub(crate) use backend::VhostBackendDevice;
pub(crate) use device::{CanDevice, InitialPlace};
pub(crate) use wiring::{DeviceEvents, KvmWiring};
#[cfg(feature = "model")]
pub(crate) use {
    queue::{DriverQueue, all_parts},
    transport::DeviceBackend,
    wiring::KickSink,
};

/// Queues of a virtio CAN device: of frames to the bus, of frames from the bus, of commands.
pub const QUEUES: usize = 3;
/// Interrupts: one for the configuration, one per queue.
pub const VECTORS: usize = 1 + QUEUES;
/// Distance between the ports of two queues' kicks.
const STEP: u16 = 4;
