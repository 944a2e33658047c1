//! The tester: sends frames into a gateway, receives the frames that come out, stamps both, and
//! reports which frame is which and how long it took (gateway-2011 §2.1).
//!
//! It works with any gateway between any interfaces: three of a real PC (one sends, one listens on
//! the gateway's incoming bus, one listens at its output), or the nodes of a bit-timed bus
//! (`kmod/bitcan`). Traffic and matching come from `probe`; sockets and the bit-timed bus's device
//! come from `linux`; this crate joins them and owns the loop.
//!
//! * [`TestPlan`]: the frames that will be sent, one by one, before any of them is.
//! * [`TesterSockets`]: three SocketCAN interfaces; [`play`]: the loop over them, or over anything
//!   that implements [`TesterWire`].
//! * [`FateRecorder`]: determines which frame is which; [`FateCounts`], and records for `probe`'s
//!   results.
//! * [`over_sockets`], [`over_bitcan`]: a whole measurement, from plan to outcome.
//! * [`one_way`]: frames on a bit-timed bus that another program counts.
//! * [`syscalls`]: the cost per frame of each way to receive and to send.
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

pub use linux::bitcan::{BitcanEvent as BusEvent, BitcanStamp as BusStamp};
pub use measure::{BusTimes, Error, over_sockets};
pub use one_way::{SentFrame, one_way};
pub use outcome::{ChangedFrames, Quantiles, TesterFigures, TesterOutcome};
pub use plan::{PlanError, PlanSource, PlannedFrame, TestPlan, can_be_numbered};
pub use play::{PlayTimeouts, PlayedCounts, play};
pub use realtime::prepare;
pub use recorder::{BusTime, FateCounts, FateRecorder, LatencyMeasure};
pub use setup::TestSetup;
pub use sockets::{RateError, SetUpError, TesterInterfaces, TesterSockets, bit_rate};
pub use timed::{ListeningTester, TimedBench, from_stamps, over_bitcan};
pub use wire::{ReceivedFrame, RunFault, TesterSide, TesterWire, UnsentReason};
