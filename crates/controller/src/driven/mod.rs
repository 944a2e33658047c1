//! A port around a controller that is driven by its registers, without a kernel driver, a network
//! stack or any other part of an operating system.
//!
//! * The driver of this crate drives the registers; a [`ControllerBackend`] adds what depends on
//!   the environment: the location of the registers, and how to wait for an interrupt. `port`'s
//!   kind `direct` has the backends for Linux, `baremetal` its own.
//! * Both halves share the controller under a lock for which no other code contends: one worker
//!   calls both. A frame for a free transmit buffer is written there immediately, also while
//!   another port is still handing over its batch.
//! * [`DrivenPort::begin`] is called when the controller has been started.
//! * `taken = sent + lost + held`: held are the frames in the queue and those in transmit buffers.
//!   `sent` is counted when the controller reports that the frame was acknowledged on the bus.
//! * [`cards`]: the PCI cards whose controllers can be driven.

mod backend;
pub mod cards;
mod error_frame;
mod halves;
mod shared;

pub use backend::{ControllerBackend, ControllerWatch, Lost};
pub use halves::{DrivenReceiver, DrivenTransmitter};
pub use shared::{DrivenPort, DrivenRules};

#[cfg(test)]
mod tests;
