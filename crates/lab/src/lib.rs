//! The lab: real kernels in virtual machines, experiments in them, and what they say.
//!
//! Two halves that meet in [`machine`]:
//!
//! * **Machines**: what is fetched , the kernel's modules that are built,
//!   the image a guest boots, the process that runs it. They know nothing of experiments.
//! * **Experiments**: [`experiment::Experiment`] (one row: kernel × gateway × traffic × load ×
//!   payload × seed), matrices of them, the store that keeps results, and the papers' claims.
//!
//! Inside a guest the same program runs as an agent: it brings the bench up, starts the gateway
//! under test and the load, and calls the tester.

#![forbid(unsafe_code)]

pub mod claims;
pub mod experiment;
#[cfg(test)]
mod fake;
pub mod figures;
pub mod gateway;
pub mod machine;
pub mod matrix;
pub mod registers;
pub mod reproduce;
pub mod schedule;
pub mod settings;
pub mod store;
pub mod trial;
pub mod words;
