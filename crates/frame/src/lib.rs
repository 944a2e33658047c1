//! CAN frames: classic, FD and XL, their identifiers, their text form and their exact length on
//! the wire.
//!
//! This crate depends on no other crate of cangate, does not allocate and needs no operating
//! system, so that the same code serves the gateway, the bus model, kernel offload and a bare-metal
//! image.
//!
//! * [`CanId`]: an identifier with SocketCAN's flag bits.
//! * [`Header`]: all fields of a frame but its payload.
//! * [`Frame`]: an owned classic or FD frame, 72 bytes, laid out like `struct canfd_frame`.
//! * [`FrameBuf`]: an owned frame of any kind (XL needs 2048 bytes).
//! * [`FrameRef`]: a borrowed frame of any kind; this type passes through the gateway, so that a
//!   frame in shared memory is not copied before it has to be.
//! * [`ErrorState`]: the error state of a node by its error counters.
//! * [`error_frame`]: the numbers of SocketCAN's error frames.
//! * [`text`]: cansend's grammar and candump's log lines: [`text::parse_frame`],
//!   [`text::parse_line`], [`text::LogLine`]; frames have `Display`, [`Frame`] has `FromStr`.
//! * [`wire`]: exact bits, stuff bits, CRC and durations of classic and ISO FD frames, and the
//!   order of arbitration: [`wire::length`], [`wire::BitRate`], [`wire::arbitration_key`].

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod buf;
pub mod dlc;
pub mod error_frame;
mod error_state;
mod header;
mod id;
mod owned;
pub mod text;
mod view;
pub mod wire;

pub use buf::FrameBuf;
pub use error_state::ErrorState;
pub use header::{Header, Kind, LengthError, XlFields, flags};
pub use id::{CanId, IdError};
pub use owned::Frame;
pub use view::FrameRef;

/// Nanoseconds since an epoch that the context defines (bus time, the wall clock, a log's time).
///
/// All of cangate receives time as a parameter; none of the pure crates reads a clock. 2^64 ns are
/// 584 years.
pub type Nanos = u64;
