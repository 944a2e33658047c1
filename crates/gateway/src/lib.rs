//! An engine, supervised on an operating system.
//!
//! * [`run()`](run::run) and [`run::supervise`] are the run time: a worker thread that drives an
//!   [`engine::Engine`], and a control thread for signals, the [`control`] socket and reloads.
//! * [`notice`] defines the messages of a running gateway; the caller chooses where they go.
//! * [`metrics`] exports its counters for Prometheus.
//! * [`service`] notifies the service manager (systemd) of the gateway's state.
//! * [`config`] is `gateway.toml` as a whole.
//! * `simulate` (a feature) puts embedded buses in place of interfaces.
//! * [`GatewayStats`] are the counters of a running gateway, in this process and in the kernel.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod config;
pub mod control;
pub mod metrics;
pub mod notice;
pub mod run;
pub mod service;
#[cfg(feature = "simulate")]
pub mod simulate;
mod stats;

pub use stats::{
    ControllerRow, GatewayStats, InterfaceRow, KernelPart, KernelRow, NOT_ASKED_FOR, RouteMessages,
    UncountedReason,
};
