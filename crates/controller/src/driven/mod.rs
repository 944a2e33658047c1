//! A port around a controller that is driven by its registers: no driver and no network stack below
//! it, and no operating system in it.
//!
//! * The driver of this crate drives the registers; a [`Backend`] is what the surroundings add:
//!   where the registers are, and how an interrupt is waited for. `port`'s kind `direct` has
//!   Linux's backends, `baremetal` its own.
//! * Both halves share the controller under a lock that nobody else asks for: one worker calls
//!   both. A frame for a free transmit buffer is written there at once, also while another port is
//!   still handing over its batch.
//! * [`Shared::begin`] is called when the controller has been started.
//! * `taken = sent + lost + held`: held are the frames that wait here and those in transmit
//!   buffers. `sent` is counted when the controller says that the frame was acknowledged on the
//!   bus.
//! * [`cards`]: the PCI cards whose controllers can be driven.

mod backend;
pub mod cards;
mod error_frame;
mod halves;
mod shared;

pub use backend::{Backend, Lost, Watch};
pub use halves::{Receiver, Transmitter};
pub use shared::{Rules, Shared};

#[cfg(test)]
mod tests;
