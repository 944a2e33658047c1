//! Ports and a routing table at run time.
//!
//! * [`Engine`] receives from every port, lets the table decide and hands the copies to their
//!   ports, and counts each frame to exactly one [`Fate`]. It runs in whatever time is passed in:
//!   the demo and the tests use bus time.
//! * [`Snapshot`] is what was counted, and [`Snapshot::check`] proves that it adds up.
//! * [`run()`](run::run) and [`run::supervise`] are the run time: a worker thread, signals, the
//!   [`control`] socket, reloads.
//! * [`config`] is `gateway.toml` as a whole.
//! * [`Change`] takes an engine from one table to the next without losing a frame.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod change;
pub mod config;
pub mod control;
mod counters;
mod engine;
mod fate;
pub mod interest;
mod lane;
pub mod run;
mod snapshot;

pub use change::{Change, Layout, Leaving, Place, Removed};
pub use counters::{Copies, Counts, Fates, PortCount, PortState, RouteCount, RxCount, TxCount};
pub use engine::{BUDGET, Engine, EngineError, Settled, Step};
pub use fate::Fate;
pub use lane::NamedPort;
pub use snapshot::{Imbalance, KernelPart, KernelRow, PortRow, RouteRow, Snapshot};
