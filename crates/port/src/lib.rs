//! How frames enter and leave: Linux interfaces, the embedded bus, log files.
//!
//! A port has two halves, because a gateway receives from one port while it transmits on others
//! and, for can-gw's `-i`, on the same one: [`Receive`] and [`Transmit`]. Both work in batches.
//!
//! * Receiving hands each frame to a closure *in place*: in the buffer of `recvmmsg`, in a
//!   packet ring, in an io_uring's provided buffer, in a mailbox of a controller that is driven
//!   from user space. Nothing is copied that the routes do not change.
//! * Transmitting writes each frame straight to where it leaves from (a slot of `sendmmsg`, of a
//!   ring, of a mailbox), and a flush after the batch tells the other side, with one system call
//!   where one is needed.
//!
//! | where | what |
//! |---|---|
//! | [`embedded`] | nodes on buses inside the process, in virtual or real time |
//! | [`log`] | candump logs, standard input and output |
//! | [`socketcan`] | Linux CAN interfaces, by raw sockets |
//! | [`wrap`] | halves around halves: traces and faults |
//! | [`spec`], [`Opener`] | from `gateway.toml` to any of the first three |
//!
//! Time is passed in. A port never blocks: what to wait for is said by [`Receive::wait`] and
//! [`Transmit::wait`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod embedded;
mod half;
mod interest;
pub mod log;
mod one_way;
mod open;
mod pace;
mod poll;
pub mod socketcan;
pub mod spec;
pub mod wrap;

pub use half::{
    Accepted, FlushReport, Halves, Outgoing, PortError, Receive, Received, Refused, RxCounters,
    RxReport, Stamp, StampSource, Token, Transmit, TxCounters, Wait,
};
pub use interest::{Ids, Interest, RawFilter};
pub use one_way::{Nothing, Nowhere};
pub use open::Opener;
pub use pace::Pace;
pub use poll::Poll;
