//! Register-level drivers of CAN controllers.
//!
//! A driver reads and writes registers through [`Registers`], and implements the operations that
//! every controller has, [`Controller`]: start and stop, a transmit buffer for a frame, and
//! [`Controller::service`], which reports what has happened. A driver depends on no operating
//! system, allocates nothing and reads no clock, so that the same code runs in a Linux process, in
//! a test on the host and on bare metal.
//!
//! | module | content |
//! |---|---|
//! | [`timing`] | bit timing from clock, bit rate and sample point |
//! | [`mapped`] | the mapped controller of `kmod/bitcan`: three buffers, a FIFO of four frames |
//! | [`sja1000`] | NXP SJA1000 in PeliCAN mode: one transmit buffer, a receive FIFO of 64 bytes |
//! | [`ctucanfd`] | CTU CAN FD IP core: classic and FD, up to eight transmit buffers, time stamps |
//! | `driven` | with the feature `driven`: a port of the engine around such a driver |
//!
//! # Accounting
//!
//! Each frame that [`Controller::transmit`] took is answered by exactly one
//! [`ControllerEvent::Sent`] or [`ControllerEvent::Failed`] with its [`Token`], also at bus-off,
//! [`Controller::abort`] and [`Controller::stop`]. Each frame that the controller received is
//! either handed over once, or lost to a full FIFO, which [`ControllerEvent::Overrun`] reports.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

#[cfg(feature = "driven")]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod ctucanfd;
#[cfg(feature = "driven")]
pub mod driven;
mod driver;
mod event;
pub mod mapped;
mod mode;
mod registers;
pub mod sja1000;
pub mod timing;

pub use driver::{Controller, ControllerGone, ControllerRefusal, Properties, StartError};
pub use event::{
    BusError, ControllerEvent, ErrorPlace, ErrorStatus, ErrorType, Token, TransmitFailure,
};
pub use frame::ErrorState;
pub use mode::{AcceptanceRule, StartMode};
pub use registers::Registers;
pub use timing::{BitTiming, TimingError, TimingLimits};
