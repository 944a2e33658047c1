//! CTU CAN FD IP core, version 2.x: classic and FD frames.
//!
//! Two to eight transmit buffers, a receive FIFO with 64-bit time stamps, three mask filters and a
//! range filter, a limit of retransmissions.
//!
//! Sources: *CTU CAN FD IP CORE, datasheet* (Czech Technical University, version 2.3), here "data
//! sheet", whose register map is generated from the core's IP-XACT description; the same map is in
//! Linux's `drivers/net/can/ctucanfd/ctucanfd_kregs.h`. The driver works on the core and on QEMU's
//! model.
//!
//! # Order
//! The core sends the ready buffer with the highest priority. Priorities are rotated so that the
//! buffer that was filled first always has the highest one: frames leave in the order in which they
//! were taken.

mod core;
mod filter;
mod frame;
mod numbers;
mod registers;

pub use self::core::CtuCanFd;
