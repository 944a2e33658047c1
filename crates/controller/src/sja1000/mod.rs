//! NXP (Philips) SJA1000 in PeliCAN mode.
//!
//! One transmit buffer, a receive FIFO of 64 bytes, acceptance filters, error code capture and
//! arbitration lost capture.
//!
//! Sources: *SJA1000 Stand-alone CAN controller, product specification* (Philips Semiconductors,
//! 2000-01-04), here "data sheet"; its application note AN97076. The driver works on the chip, on
//! its copies in FPGAs, and on QEMU's model.
//!
//! # Information that the chip does not provide
//! * The number of frames that were lost to a full FIFO: at least one for each overrun that it
//!   reports.
//! * The reason why a one-shot transmission failed, unless
//!   [`Mode::diagnose`](crate::StartMode::diagnose) is on.

mod chip;
mod filter;
mod frame;
mod numbers;
mod registers;

pub use chip::{ChipWiring, Sja1000};
