//! Watching the frames of ports (`cangate watch`).
//!
//! * [`WatchSource`](source::WatchSource): where frames come from, on a thread of its own: ports
//!   that this process has open ([`PortSource`]), or ports of a running gateway
//!   ([`GatewaySource`]).
//! * [`FrameFilter`]: the frames that are wanted, by ID.
//! * [`MessageTable`]: the last frame of each ID, the bytes that have changed, the periods.
//! * [`NamedDatabases`]: the messages of the frames.

mod databases;
mod filter;
mod gateway_source;
mod port_source;
mod source;
#[cfg(feature = "top")]
mod table;

pub(crate) use databases::{DatabaseOfPort, NamedDatabases};
pub(crate) use filter::FrameFilter;
pub(crate) use gateway_source::GatewaySource;
pub(crate) use port_source::PortSource;
pub(crate) use source::{SeenFrame, WatchLosses, WatchNews, start};
#[cfg(feature = "top")]
pub(crate) use table::{MessageRow, MessageTable, RowKey};
