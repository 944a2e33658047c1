//! Routes, the compiled routing table and its decisions; no I/O, no clock.
//!
//! A [`Routes`] value describes the desired routes. [`Table::compile`] checks it and returns an
//! immutable [`Table`], which decides about frames; [`Table::memory`] returns a [`Memory`] for the
//! state between frames (rate limits).
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
#[cfg(feature = "config")]
pub mod config;
mod decision;
mod error;
mod filter;
mod index;
mod interest;
mod limit;
mod match_key;
mod matching;
mod memory;
mod number;
mod operations;
mod overlap;
pub mod parts;
mod routes;
mod table;
#[cfg(feature = "config")]
mod text;

pub use circles::{Circle, Circles, circles};
pub use decision::{Arrival, Forward, Sink, Stop};
pub use error::CompileError;
pub use interest::{Ids, Interest, RawFilter};
pub use matching::{IdFilter, IdSet, KindSet, Match, PayloadPattern, Tri};
pub use memory::Memory;
pub use number::{Mode, PortId, RouteId};
pub use operations::*;
pub use overlap::{Doubled, Overlaps, Unreachable, overlaps};
pub use routes::{RateLimit, Route, Routes};
pub use table::Table;
