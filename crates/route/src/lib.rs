//! Routes, the compiled routing table and its decisions; no I/O, no clock.
//!
//! A [`Routes`] value describes the desired routes. [`RoutingTable::compile`] checks it and returns
//! an immutable [`RoutingTable`], which decides about frames; [`RoutingTable::memory`] returns a
//! [`TableMemory`] for the state between frames (rate limits).
//!
//! The semantics are based on can-gw's (`net/can/gw.c`): for everything that can-gw can express,
//! the output is byte for byte the same.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod block;
#[cfg(feature = "config")]
pub mod cangw;
mod check;
mod circles;
mod condition;
#[cfg(feature = "config")]
pub mod config;
mod decision;
mod error;
mod filter;
mod index;
mod interest;
mod kernel_port;
mod limit;
mod match_key;
mod matching;
mod memory;
mod number;
mod operations;
mod overlap;
pub mod parts;
mod protected;
mod protection;
mod routes;
mod table;
#[cfg(feature = "config")]
mod text;

pub use circles::{CircleSearch, RouteCircle, circles};
pub use condition::{MAX_ALTERNATIVES, MAX_TESTS, SignalCondition};
pub use decision::{DecisionSink, ForwardedCopy, FrameArrival, StopReason};
pub use error::CompileError;
pub use interest::{FrameInterest, InterestIds, RawFilter};
pub use kernel_port::KernelPort;
pub use matching::{FrameMatch, IdFilter, IdSet, KindSet, PayloadPattern, TriState};
pub use memory::TableMemory;
pub use number::{PortId, RouteId, RouteMode};
pub use operations::*;
pub use overlap::{DoubledRoutes, RouteOverlaps, UnreachableRoute, overlaps};
pub use protected::{ProtectionCounter, RouteProtection, RouteVerification, WrongFrames};
pub use routes::{RateLimit, Route, Routes};
pub use table::RoutingTable;
