//! The engine in real time: one worker thread for frames, the calling thread for everything else.
//!
//! The worker receives, decides and transmits, and waits in the kernel when there is nothing to do.
//! The control thread waits for signals and for clients of the control socket; it also reads and
//! compiles a new configuration, opens and closes ports, and writes JSON. The worker's part in this
//! (copying counters, taking over a table) is done between two batches. See
//! docs/decisions/0003-one-worker.md.

mod beside;
mod changes;
mod client_frames;
mod clients;
mod control;
mod error;
mod files;
mod interfaces;
mod kernel;
mod kernel_plan;
mod lines;
mod link;
mod manager;
mod offloaded;
mod options;
mod port_watches;
mod readiness;
mod realtime;
mod running;
mod signals;
#[cfg(feature = "simulate")]
mod simulated;
mod site;
mod stdout;
mod supervise;

pub use beside::files_beside;
pub use changes::RouteChanges;
pub use error::{
    KernelError, LoadError, OpenErrors, OverwrittenFile, ReloadError, RoutesError, RunError,
    StartError,
};
pub use files::{RunOptions, control_path, control_path_to_ask, run};
pub use kernel_plan::KernelPlan;
pub use lines::{PathObjection, RouteLine};
pub use offloaded::{absent_interfaces, data_paths, objections};
pub use options::{EndReason, RunSettings, RunSummary};
pub use running::ReloadSummary;
#[cfg(feature = "simulate")]
pub use simulated::run_simulated;
pub use site::{PlanSource, RunPlan};
pub use stdout::standard_output_is_closed;
pub use supervise::supervise;
pub use worker::Port;
