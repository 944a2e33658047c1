//! Traffic to send, frames to know again, and what came of them: records, latency profiles, bus
//! load, and the file that keeps them.
//!
//! Nothing here reads a clock, opens a socket or knows a gateway. Time is passed in, in
//! nanoseconds; what it is (bus time, a kernel's stamps) is the caller's to say, and is written
//! into the results ([`Description::time_base`]).
//!
//! * [`traffic`]: frames with release times: the SAE class C message set, the kinds of traffic of
//!   gateway-2011 §2.2, replay of a log.
//! * [`matching`]: which frame that came out is which frame that went in.
//! * [`Record`]: one frame's way. [`LatencyProfile`], [`Summary`], [`BusLoad`]: what they say
//!   together.
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
pub use payloads::Payloads;
pub use profile::{LatencyProfile, Summary};
pub use record::{Description, Incoming, Outgoing, Record, Results, Status};
