//! Clients of the control socket that watch the frames of ports.
//!
//! * [`FrameRing`]: a queue of frames from the worker to the control thread, one for each
//!   client, bounded, without locks. The worker never waits for it: a frame without room is lost
//!   for this client, and counted.
//! * [`WatchChannel`]: such a ring, and the names of the ports whose frames are in it.
//! * `PortTap`: the worker's end at a half of a port. It shows each frame that passes to all
//!   clients that watch the port.
//! * [`TapChange`]: puts taps around the halves of a port, and takes them away again. Everything is
//!   allocated and freed on the control thread.
//!
//! The client's end, which makes lines of the protocol, is the gateway's.
//!
//! A port that no client watches has no tap, and its frames pass the same code as in a gateway
//! without this module. The worker rings no bell for the control thread, which would cost a system
//! call for each batch: while there is a client, the control thread looks every [`WATCH_PERIOD`].

mod change;
mod channel;
mod ring;
mod tap;

pub use change::TapChange;
pub use channel::WatchChannel;
pub use ring::{FrameRing, RING_WORDS, RingRecord};

use std::time::Duration;

/// The most clients that watch at the same time: each has a ring of 256 KiB.
pub const MAX_WATCHERS: usize = 8;

/// The time between two looks at the rings.
pub const WATCH_PERIOD: Duration = Duration::from_millis(10);
