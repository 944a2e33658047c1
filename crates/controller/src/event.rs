//! What a controller tells.

use frame::{FrameRef, Nanos};

/// A number by which the caller knows a frame that it gave to
/// [`transmit`](crate::Controller::transmit).
pub type Token = u64;

/// Something that has happened, as [`service`](crate::Controller::service) found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// A frame was received. It is gone from the controller when the call returns.
    Received {
        /// The frame.
        frame: FrameRef<'a>,
        /// When, by the controller's own clock, where it stamps. The epoch is the controller's.
        stamp: Option<Nanos>,
    },
    /// A frame is on the bus, and somebody has acknowledged it.
    Sent {
        /// Which.
        token: Token,
        /// When, by the controller's own clock, where it stamps what it sends.
        stamp: Option<Nanos>,
    },
    /// A frame will not be sent any more.
    Failed {
        /// Which.
        token: Token,
        /// Why not.
        why: Failure,
    },
    /// Frames were lost, because the receive FIFO was full.
    Overrun {
        /// How many; at least one. Most controllers do not count: then it is 1 for each time that
        /// they say so, and `exact` is false.
        frames: u32,
        /// Is it known how many?
        exact: bool,
    },
    /// The error state has changed.
    Status(Status),
    /// Another node won arbitration. The frame is tried again, unless the mode is one-shot.
    ArbitrationLost {
        /// In which bit of the arbitration field, from 0 for the first bit of the ID, where the
        /// controller says it.
        bit: Option<u8>,
    },
    /// The controller saw an error on the bus.
    BusError(BusError),
}

impl Event<'_> {
    /// What became of a frame, without a stamp.
    pub(crate) const fn end(token: Token, fate: Result<(), Failure>) -> Self {
        match fate {
            Ok(()) => Self::Sent { token, stamp: None },
            Err(why) => Self::Failed { token, why },
        }
    }
}

/// Why a frame was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// One-shot: another node won arbitration.
    ArbitrationLost,
    /// One-shot: an error, such as no acknowledgement; or the controller does not say what it was.
    Error,
    /// [`abort`](crate::Controller::abort) or [`stop`](crate::Controller::stop).
    Aborted,
    /// The controller went bus-off.
    BusOff,
    /// The controller is gone: its registers read all ones.
    Gone,
}

/// The error state of ISO 11898-1, *Fault confinement*, with the warning limit that controllers
/// have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum State {
    /// It does not take part: not started, or stopped.
    #[default]
    Stopped,
    /// Error-active, both error counters below the warning limit.
    Active,
    /// Error-active, an error counter at 96 or more.
    Warning,
    /// An error counter at 128 or more.
    Passive,
    /// TEC above 255: off the bus until [`restart`](crate::Controller::restart).
    BusOff,
}

impl State {
    /// Can frames pass?
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Active | Self::Warning | Self::Passive)
    }
}

/// Error state and error counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Status {
    /// The error state.
    pub state: State,
    /// Transmit error counter.
    pub tec: u16,
    /// Receive error counter.
    pub rec: u16,
}

/// An error on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BusError {
    /// What was wrong.
    pub trouble: Trouble,
    /// Where in the frame, where the controller says it.
    pub place: Option<Place>,
    /// Did this controller transmit? (Else it received.)
    pub transmitting: bool,
}

/// The five error types of ISO 11898-1, *Error detection*.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// What was read back is not what was sent.
    Bit,
    /// Six equal bits.
    Stuff,
    /// A fixed bit is wrong.
    Form,
    /// Nobody acknowledged.
    Acknowledge,
    /// The CRC is wrong.
    Crc,
    /// The controller does not say which.
    Other,
}

/// Where in a frame, as byte 3 of SocketCAN's error frames says it (`CAN_ERR_PROT_LOC_…` of
/// `uapi/linux/can/error.h`, which are the segment codes of the SJA1000's ECC register).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place(pub u8);
