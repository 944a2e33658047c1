//! How frames enter and leave: Linux interfaces, the embedded bus, log files.
//!
//! What a port is, the `engine` crate says: a receiving half and a transmitting half, which work in
//! batches and never block. Here are the kinds of port. Their halves say besides what to wait for on
//! an operating system: [`PollReceive::wait`], [`PollTransmit::wait`].
//!
//! | where | what |
//! |---|---|
//! | [`embedded`] | nodes on buses inside the process, in virtual or real time |
//! | [`log`] | candump logs, standard input and output |
//! | [`socketcan`] | Linux CAN interfaces, by raw sockets |
//! | [`bitcan`] | the tester's node on bit-timed buses of `kmod/bitcan`; no port |
//! | [`spec`], [`Opener`] | from `gateway.toml` to any of the first three |
//!
//! Time is passed in.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod bitcan;
pub mod embedded;
pub mod log;
mod open;
mod pace;
mod poll;
mod realtime;
pub mod socketcan;
pub mod spec;
mod wait;

pub use engine::{
    Accepted, FlushReport, Ids, Interest, Nothing, Nowhere, Outgoing, PortError, RawFilter,
    Receive, Received, Refused, RxCounters, RxReport, Stamp, StampSource, Token, Transmit,
    TxCounters, wrap,
};
pub use open::Opener;
pub use pace::Pace;
pub use poll::Poll;
pub use realtime::schedule_fifo;
pub use wait::{Halves, PollReceive, PollTransmit, Wait};
