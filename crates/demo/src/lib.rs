//! `cangate demo`: traffic on two simulated buses, the real gateway between them, every frame timed
//! and accounted for.
//!
//! [`run()`] builds the buses and the gateway that a gateway file describes, sends the SAE class C
//! messages or a candump log, moves bus time from event to event, and gives a [`Summary`]. Three
//! things are counted independently and held against each other: what the gateway's counters say,
//! what the buses saw, and what a second run of the routing table says about each frame.

#![forbid(unsafe_code)]

mod error;
mod observer;
mod page;
mod play;
mod progress;
mod recorder;
mod run;
mod scene;
mod summary;
mod tap;
mod traffic;

pub use error::Error;
pub use observer::Observation;
pub use progress::Progress;
pub use run::{Input, Options, run};
pub use summary::{BusLine, Frames, Processing, Quantiles, RouteLine, Summary};
pub use traffic::LogAccount;
