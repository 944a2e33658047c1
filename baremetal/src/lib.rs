//! The gateway without an operating system: what of it needs no machine.
//!
//! * [`Plan`] is what an image gets: ports and routes of a `gateway.toml`, made and checked by
//!   `cangate image`. It is compiled again in the image, which trusts nothing.
//! * [`Gateway`] is `engine`, `route` and `controller::driven` as they are: opened from a plan,
//!   stepped with the time, and it answers with the same JSON as `cangate stats --json`.
//! * [`mod@bench`] is the timed bench inside an image: buses in bit time (the `bus` crate),
//!   controllers on them with the registers of `kmod/bitcan`'s mapped ones, and a tester.
//! * What a machine adds (where controllers are, how an interrupt is waited for, time) is behind
//!   [`Machine`]. The program of this crate has it for PCs; on other targets it is an ordinary
//!   program that says so.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bench;
mod gateway;
mod plan;

pub use gateway::{Gateway, Machine, OpenError, open};
pub use plan::{Drive, Place, Plan, PlanError, PortPlan, SLOT, Slot};
