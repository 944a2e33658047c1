//! The events and states that a controller reports.

use frame::{ErrorState, FrameRef, Nanos};

/// A number by which the caller identifies a frame that it gave to
/// [`transmit`](crate::Controller::transmit).
pub type Token = u64;

/// An event, as [`service`](crate::Controller::service) found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerEvent<'a> {
    /// A frame was received. It is gone from the controller when the call returns.
    Received {
        /// The frame.
        frame: FrameRef<'a>,
        /// Time of the reception by the controller's own clock, if it has time stamps. The epoch is
        /// the controller's.
        stamp: Option<Nanos>,
    },
    /// A frame was sent, and another node acknowledged it.
    Sent {
        /// The token of the frame.
        token: Token,
        /// Time of the transmission by the controller's own clock, if it stamps the frames that it
        /// sends.
        stamp: Option<Nanos>,
    },
    /// A frame will not be sent any more.
    Failed {
        /// The token of the frame.
        token: Token,
        /// The reason.
        why: TransmitFailure,
    },
    /// Frames were lost, because the receive FIFO was full.
    Overrun {
        /// Number of lost frames; at least one. Most controllers do not count them: then it is 1
        /// for each overrun that they report, and `exact` is false.
        frames: u32,
        /// Whether `frames` is the exact number.
        exact: bool,
    },
    /// The error state has changed.
    Status(ErrorStatus),
    /// Another node won arbitration. The controller tries the frame again, unless the mode is
    /// one-shot.
    ArbitrationLost {
        /// The bit of the arbitration field in which it was lost, from 0 for the first bit of the
        /// ID, if the controller reports it.
        bit: Option<u8>,
    },
    /// The controller saw an error on the bus.
    BusError(BusError),
}

impl ControllerEvent<'_> {
    /// The end of a frame, sent or failed, without a stamp.
    pub(crate) const fn end(token: Token, fate: Result<(), TransmitFailure>) -> Self {
        match fate {
            Ok(()) => Self::Sent { token, stamp: None },
            Err(why) => Self::Failed { token, why },
        }
    }
}

/// Reason why a frame was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransmitFailure {
    /// One-shot: another node won arbitration.
    ArbitrationLost,
    /// One-shot: an error, such as a missing acknowledgement; or the controller does not report
    /// which error it was.
    Error,
    /// The caller called [`abort`](crate::Controller::abort) or [`stop`](crate::Controller::stop).
    Aborted,
    /// The controller went bus-off.
    BusOff,
    /// The controller is gone: its registers read all ones.
    Gone,
}

/// Error state and error counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ErrorStatus {
    /// The error state; `None`: the controller takes no part in the communication, because it is
    /// not started, or stopped. Bus-off lasts until [`restart`](crate::Controller::restart).
    pub state: Option<ErrorState>,
    /// Transmit error counter.
    pub tec: u16,
    /// Receive error counter.
    pub rec: u16,
}

impl ErrorStatus {
    /// Returns whether the controller sends and receives frames.
    #[must_use]
    pub fn is_on_bus(&self) -> bool {
        self.state.is_some_and(ErrorState::is_on_bus)
    }
}

/// An error on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BusError {
    /// The type of the error.
    pub trouble: ErrorType,
    /// The place in the frame, if the controller reports it.
    pub place: Option<ErrorPlace>,
    /// Whether this controller was transmitting. (Otherwise it was receiving.)
    pub transmitting: bool,
}

/// The five error types of ISO 11898-1, *Error detection*.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorType {
    /// The level that was read back differs from the bit that was sent.
    Bit,
    /// Six equal bits in a row.
    Stuff,
    /// A fixed bit is wrong.
    Form,
    /// No node acknowledged.
    Acknowledge,
    /// The CRC is wrong.
    Crc,
    /// The controller does not report the type.
    Other,
}

/// A place in a frame, in the encoding of byte 3 of SocketCAN's error frames (`CAN_ERR_PROT_LOC_…`
/// of `uapi/linux/can/error.h`, which are the segment codes of the SJA1000's ECC register).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ErrorPlace(pub u8);
