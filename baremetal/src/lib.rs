//! The gateway without an operating system: the parts that do not depend on the machine.
//!
//! * [`ImagePlan`] is the content of an image: ports and routes of a `gateway.toml`, made and
//!   checked by `cangate image`. The image compiles it again, and does not rely on these checks.
//! * [`Gateway`] combines `engine`, `route` and `controller::driven` unchanged: it is opened from a
//!   plan, stepped with the time, and returns the same JSON as `cangate stats --json`.
//! * [`mod@bench`] is the timed bench inside an image: buses in bit time (the `bus` crate),
//!   controllers on them with the registers of `kmod/bitcan`'s mapped ones, and a tester.
//! * The parts that depend on the machine (addresses of controllers, waiting for an interrupt,
//!   time) are behind [`TargetMachine`]. The program of this crate implements them for PCs; on
//!   other targets it is an ordinary program that reports this.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bench;
mod gateway;
mod plan;

pub use gateway::{Gateway, OpenError, TargetMachine, open};
pub use plan::{ControllerPlace, DriveMode, ImagePlan, PlanError, PlanSlot, PortPlan, SLOT};
