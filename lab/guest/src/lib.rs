//! Machines that run real kernels: the files that are fetched and built for them, the process that
//! runs them, and the agent inside.
//!
//! * [`Lab`]: sets up ([`Kernel`]s, packages, images) and runs a guest that a
//!   [`machine::GuestSpec`] describes, to its [`GuestOutcome`].
//! * [`agent`]: the same program as a guest's first process. It brings up the hardware, does the
//!   [`machine::GuestJob`] and hands out the results. The meaning of jobs other than commands is
//!   defined by the caller ([`agent::AgentTasks`]): this crate knows no experiment.
//! * [`Arm64Guest`]: a guest with another processor, which tests the arm64 package; its job is a
//!   script of the caller.
//! * [`program`]: programs of the guest, run from inside.

#![forbid(unsafe_code)]

pub mod agent;
mod architecture;
mod arm64;
mod bare;
mod cache;
mod debian;
mod devices;
mod error;
mod fetch;
mod image;
pub mod inner;
mod kernels;
mod keyboard;
mod kmod;
mod lab;
pub mod linked;
pub mod lockstep;
pub mod machine;
mod outcome;
mod own;
pub mod program;
mod progress;
mod qemu;
mod run;
mod snapshot;
mod spec;
mod trees;
mod vmlinux;
mod wire;

pub use arm64::{Arm64Guest, Arm64Outcome};
pub use bare::{BareMachine, BareOutcome, BareProcessor};
pub use error::Error;
pub use kernels::{DebianRelease, Kernel, UnknownKernel};
pub use keyboard::GuestKeyboard;
pub use kmod::Module;
pub use lab::{Lab, Locations};
pub use linux::with_causes;
pub use outcome::{GuestFailure, GuestOutcome};
pub use progress::{DiscardOutput, OutputSink, ProgressReport, SilentProgress};
pub use qemu::monitor::MonitorError;
pub use spec::SpecError;
pub use wire::WireError;
