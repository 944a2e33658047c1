//! The page of worst cases: one file, which opens from the disk and needs no network.
//!
//! [`write()`] makes it from [`BoundData`]: for each message of each bus a bound and its parts, and
//! next to it the measured value, if there is one. The page computes only sums that a reader can
//! check.

mod data;
mod digest;
mod lead;
mod page;
mod write;

pub use data::{
    BoundData, BusData, FrameSeen, MarginData, MeasuredMessage, MeasuredSource, MessageData,
    NodeData, OrderData, PartsData, TimeoutData, TunnelData, TunnelMessage,
};
pub use page::page;
pub use write::{Error, FILE, write};
