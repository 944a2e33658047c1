//! An engine, supervised on an operating system.
//!
//! * [`run()`](run::run) and [`run::supervise`] are the run time: a worker thread that drives an
//!   [`engine::Engine`], and a control thread for signals, the [`control`] socket and reloads.
//! * [`notice`] is what it says while it runs, to whom the caller likes.
//! * [`metrics`] are its counters, for Prometheus.
//! * [`service`] is the service manager (systemd), which is told what the gateway does.
//! * [`config`] is `gateway.toml` as a whole.
//! * [`Stats`] is what a running gateway has counted, in this process and in the kernel.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod config;
pub mod control;
pub mod metrics;
pub mod notice;
pub mod run;
pub mod service;
mod stats;

pub use stats::{
    ControllerRow, InterfaceRow, KernelPart, KernelRow, NOT_ASKED_FOR, Stats, Uncounted,
};
