//! `cangate demo`: traffic on two simulated buses, the real gateway between them, every frame timed
//! and accounted for.
//!
//! [`run()`] builds the buses and the gateway that a gateway file describes, sends the SAE class C
//! messages or a candump log, moves bus time from event to event, and returns a [`DemoSummary`].
//! Three accounts are kept independently and compared: the gateway's counters, the frames that the
//! buses saw, and the result of a second run of the routing table for each frame.
//!
//! [`LiveReplay`] replays a log in the same way on the buses of a gateway that runs in real time.

#![forbid(unsafe_code)]

mod account;
mod bus_logs;
mod error;
mod live;
mod names;
mod observer;
mod page;
mod play;
mod progress;
mod recorder;
mod replay;
mod run;
mod scene;
mod script;
mod stopped;
mod summary;
mod tap;
mod traffic;

pub use account::LogAccount;
pub use error::Error;
pub use live::{LiveReplay, ReplaySums};
pub use observer::Observation;
pub use progress::DemoProgress;
pub use replay::{InterfaceMap, LogInput, LogRepeat};
pub use run::{DemoOptions, TesterInput, gateway_file, run};
pub use stopped::{StopColumn, StoppedCopies};
pub use summary::{BusLine, DemoSummary, FrameSums, ProcessingTime, Quantiles, RouteLine};
