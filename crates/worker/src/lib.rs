//! The thread through which all frames pass.
//!
//! [`Worker::work`] receives, decides and transmits, and waits in the kernel when there is nothing
//! to do. Its caller, the control thread, does everything else: it opens ports, compiles tables,
//! and sends requests ([`WorkerMessage`]) to the worker's [`WorkerMailbox`], which the worker reads
//! between two batches. It neither allocates nor frees for them.
//!
//! * [`ClientFrames`] are frames that a client sends.
//! * [`watching`] shows the frames of ports to clients.
//! * [`WorkerListener`] gets the events of ports, never one for each frame.
//!
//! See docs/decisions/0003-one-worker.md, and 0040 for why this is a crate of its own.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod client_frames;
mod clock;
mod descriptor;
mod halves;
mod mailbox;
mod spin;
mod waiting;
pub mod watching;
mod work;

pub use client_frames::{ClientFrames, PortAnswer};
pub use clock::WallClock;
pub use descriptor::poll_watch;
pub use halves::{ChangeResult, Engine, LayoutChange, LeavingPort, Port, PortChange};
pub use mailbox::{WorkerMailbox, WorkerMessage};
pub use work::{Worker, WorkerEnd, WorkerListener};
