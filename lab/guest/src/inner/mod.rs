//! Machines inside a guest: on the bench `vm`, a guest of the lab is a hypervisor. It runs KVM
//! (AMD's virtualization, which QEMU emulates) and, in it, the same QEMU as monitor of inner
//! machines, or one of our own. All of it is in the same virtual time.
//!
//! * `parts`: on the host, what the guest's image has for that.
//! * [`Machine`]: in the guest, an inner machine, which is started and told what to run.
//! * [`Monitor`]: which program its monitor is; `control`: how QEMU is told to reset a machine.
//! * The agent in the inner machine is the same program once more (`agent::inner`).

mod control;
mod machine;
mod monitor;
pub(crate) mod parts;
pub(crate) mod request;

pub use machine::{Device, Exits, InnerError, Machine, Ran};
pub use monitor::Monitor;
