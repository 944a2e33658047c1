//! The page of worst cases: one file, which opens from the disk and needs no network.
//!
//! [`write()`] makes it from [`Data`]: for each message of each bus a bound and what it consists
//! of, and beside it what was measured, if anything was. Nothing is computed here that a reader
//! could not add up.

mod data;
mod digest;
mod lead;
mod page;
mod write;

pub use data::{Bus, Data, FrameSeen, Margin, Measured, Message, Node, Order, Parts, Seen};
pub use page::page;
pub use write::{Error, FILE, write};
