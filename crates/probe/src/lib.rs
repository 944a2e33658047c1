//! Traffic to send, frames to recognise again, and their outcomes: records, latency profiles, bus
//! load, and the file that stores them.
//!
//! Nothing here reads a clock, opens a socket or depends on a gateway. Time is passed in, in
//! nanoseconds; its meaning (bus time, a kernel's stamps) is defined by the caller, and is written
//! into the results ([`RunDescription::time_base`]).
//!
//! * [`traffic`]: frames with release times: the SAE class C message set, the kinds of traffic of
//!   gateway-2011 §2.2.
//! * [`matching`]: the assignment of frames that came out to frames that went in.
//! * [`FrameRecord`]: the path of one frame. [`LatencyProfile`], [`LatencySummary`], [`BusLoad`]:
//!   statistics of many records.
//! * [`results`]: the Parquet file of a run.

#![forbid(unsafe_code)]

mod load;
pub mod matching;
mod payloads;
mod profile;
mod record;
pub mod results;
mod rng;
pub mod traffic;

pub use load::{BusLoad, LoadPoint};
pub use payloads::PayloadStore;
pub use profile::{LatencyProfile, LatencySummary};
pub use record::{
    FrameRecord, IncomingFrame, ROUND_TRIP_STAMP, RunDescription, RunResults, SentCopy, Status,
};
