//! A small virtual machine monitor for the lab's inner machines: one processor, memory that others
//! may map, a serial console, a serial line to the agent, and virtio CAN devices whose other end is
//! a port of kind `virtio` of a `cangate run` (vhost-user).
//!
//! Its purpose is a comparison with QEMU, whose generic vhost-user device has an interrupt line
//! only (`docs/decisions/0024-monitor.md`). Here each queue has an interrupt of its own (MSI-X),
//! which KVM injects as soon as the gateway writes its event descriptor (irqfd), and a queue is
//! kicked through a port that KVM turns into an event descriptor (ioeventfd). So no frame passes
//! through this process.
//!
//! * [`run`]: runs a machine until it ends.
//! * `boot`: memory, the kernel's PVH entry, the table of processors and interrupts.
//! * `cpu`: the initial state of the processor.
//! * `pci`: configuration space, MSI-X; `virtio`: the transport of virtio 1.4 §4.1, and vhost-user
//!   behind it.
//! * `model` (a feature): the devices alone, for fuzzing.
//! * `serial`: the console and the agent's line; `bus`: the devices at each port and address.
//!
//! All values that the machine writes to registers are bounded and checked; values that make no
//! sense are ignored, as in hardware. The machine has neither ACPI nor a firmware, and only the
//! devices that are needed here.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![cfg_attr(
    not(feature = "model"),
    allow(unreachable_pub, reason = "`model` shows it to others")
)]

mod boot;
mod bus;
mod cpu;
mod end;
mod error;
mod interrupts;
mod machine;
#[cfg(feature = "model")]
pub mod model;
mod pci;
mod serial;
mod virtio;

pub use end::MachineEnd;
pub use error::VmmError;
pub use machine::{MachineSettings, run};
