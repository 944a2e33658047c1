//! The lab: real kernels in virtual machines, experiments in them, and what they say.
//!
//! Two halves that meet in [`machine`]:
//!
//! * **Machines** ([`Lab`]): what is fetched and unpacked, the kernel's modules that are built,
//!   the image a guest boots, the process that runs it. They know nothing of experiments.
//! * **Experiments**: [`experiment::Experiment`] (one row: kernel × gateway × traffic × load ×
//!   payload × seed), matrices of them, the store that keeps results, and the papers' claims.
//!
//! Inside a guest the same program runs as an agent: it brings the bench up, starts the gateway
//! under test and the load, and calls the tester.

#![forbid(unsafe_code)]

pub mod agent;
pub mod bursts;
mod cache;
pub mod claims;
mod error;
pub mod experiment;
#[cfg(test)]
mod fake;
mod fetch;
pub mod figures;
pub mod gateway;
mod image;
mod kernels;
mod kmod;
mod lab;
pub mod machine;
pub mod matrix;
pub mod measure;
mod own;
mod progress;
mod qemu;
pub mod rate;
pub mod registers;
pub mod reproduce;
pub mod schedule;
pub mod settings;
mod snapshot;
pub mod store;
mod trees;
pub mod trial;
mod wire;
pub mod words;

pub use error::Error;
pub use kernels::{Kernel, Release};
pub use lab::{Lab, Place};
pub use progress::{Discard, Progress, Silent, Sink};
