//! The tester: sends frames into a gateway, receives what comes out, stamps both, and says which
//! frame is which and how long it took (gateway-2011 §2.1).
//!
//! It works with any gateway between any interfaces: three of a real PC (one sends, one listens
//! beside the gateway's input, one listens at its output), or the nodes of a bit-timed bus
//! (`kmod/bitcan`). Traffic and matching are `probe`'s; sockets and the bit-timed bus's device are
//! `linux`'s; this room joins them and owns the loop.
//!
//! * [`Plan`]: what is to be sent, frame by frame, before anything is.
//! * [`Sockets`]: three SocketCAN interfaces; [`play`]: the loop over them, or over anything that
//!   is a [`Wire`].
//! * [`Recorder`]: which frame is which; [`Counts`], and records for `probe`'s results.
//! * [`over_sockets`], [`over_bitcan`]: a whole measurement, from plan to outcome.
//! * [`one_way`]: frames on a bit-timed bus that somebody else counts.
//! * [`syscalls`]: what each way to receive and to send costs a frame.
//! * [`prepare`]: real-time priority and locked memory.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod end;
mod measure;
mod one_way;
mod outcome;
mod plan;
mod play;
mod realtime;
mod recorder;
pub mod recorders;
mod setup;
mod sockets;
pub mod syscalls;
mod timed;
mod wire;

pub use linux::bitcan::{Event as BusEvent, Stamp as BusStamp};
pub use measure::{Buses, Error, over_sockets};
pub use one_way::{Sent, one_way};
pub use outcome::{Changed, Figures, Outcome, Quantiles};
pub use plan::{Plan, PlanError, Planned, Source, can_be_numbered};
pub use play::{Patience, Played, play};
pub use realtime::prepare;
pub use recorder::{BusTime, Counts, Measure, Recorder};
pub use setup::Setup;
pub use sockets::{Interfaces, RateError, SetUpError, Sockets, bit_rate};
pub use timed::{Bitcan, Listening, from_stamps, over_bitcan};
pub use wire::{Fault, Reception, Side, Unsent, Wire};
