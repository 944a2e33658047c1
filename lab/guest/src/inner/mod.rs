//! Machines inside a guest: on the bench `vm`, a guest of the lab is a hypervisor. It runs KVM
//! (AMD's virtualization, which QEMU emulates) and, in it, the same QEMU as the monitor of inner
//! machines, or the project's own monitor. All of it is in the same virtual time.
//!
//! * `parts`: on the host, the parts of the guest's image for inner machines.
//! * [`InnerMachine`]: in the guest, an inner machine, which is started and gets programs to run.
//! * [`MonitorKind`]: the program that is the machine's monitor; `control`: the reset of a machine
//!   by QEMU.
//! * The agent in the inner machine is again the same program (`agent::inner`).

mod control;
mod machine;
mod monitor;
pub(crate) mod parts;
pub(crate) mod request;

pub use machine::{ExitCounts, InnerDevice, InnerError, InnerMachine, ProgramRun};
pub use monitor::MonitorKind;
