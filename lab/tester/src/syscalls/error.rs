//! The reasons why a measurement is not possible.

use super::MAX_BURST;
use linux::can::OpenError;

/// Nothing can be measured on this interface.
#[derive(Debug, thiserror::Error)]
pub enum BurstError {
    /// The interface cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The receiving socket is too small.
    #[error(
        "{interface}: the receiving socket has no room for {frames} frames: run as root, raise \
         net.core.rmem_max to {bytes}, or take fewer frames"
    )]
    Room {
        /// The interface.
        interface: String,
        /// The number of frames in the burst.
        frames: u32,
        /// Bytes that the frames need.
        bytes: u32,
    },
    /// More frames than a burst can have, or none.
    #[error("{0} frames: a burst has 1 to {MAX_BURST}")]
    Frames(u32),
    /// The interface is down.
    #[error("{0} is down: `ip link set {0} up`")]
    Down(String),
    /// A call failed.
    #[error("{interface}: {call}: {source}")]
    Call {
        /// The interface.
        interface: String,
        /// The call that failed.
        call: &'static str,
        /// The call's error.
        source: std::io::Error,
    },
    /// The interface's queue is shorter than the burst.
    #[error(
        "{interface}: its queue has no room for {frames} frames at a time: give fewer (--frames), \
         or lengthen it (`ip link set {interface} txqueuelen {frames}`)"
    )]
    Queue {
        /// The interface.
        interface: String,
        /// The number of frames in the burst.
        frames: u32,
    },
    /// The frames in a ring are not sent.
    #[error(
        "frames stay in the sending ring: is another node on the bus, with this bit rate, that \
         acknowledges frames?"
    )]
    Stuck,
    /// Frames did not arrive.
    #[error("{interface}: not all of {sent} frames arrived at the other socket: {why}")]
    Lost {
        /// The interface.
        interface: String,
        /// The number of frames sent.
        sent: u32,
        /// The likely reason.
        why: &'static str,
    },
}
