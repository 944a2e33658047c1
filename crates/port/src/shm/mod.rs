//! Memory that is shared with another machine or process.
//!
//! * One port is one side of a memory; the other side is a port of another `cangate run`, or the
//!   CAN interface that the driver `kmod/shmcan` makes ([`::shm`]). This is the driver VM of
//!   Reinhardt's and Morgan's paper: the machine that owns the controller routes between it and one
//!   memory for each other machine.
//! * Between processes of one machine, and to virtual machines from their host: `socket`, at which
//!   `cangate shm` serves the memory. Inside a virtual machine: `device`, the PCI device
//!   (`ivshmem-doorbell`) that its monitor makes of it.
//! * `taken = sent + lost + held`: held frames are those that the other side has not read. They are
//!   lost when it leaves, or returns as another one. The other side's speed does not matter: a ring
//!   that is full refuses frames.
//! * Everything that the other side writes is checked.

mod attached;
mod halves;
mod pci;
mod settings;
mod socket;

pub use settings::{AttachMode, ShmPorts, ShmSettings};
