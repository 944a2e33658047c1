//! CAN controllers driven from user space: no driver and no network stack of the kernel's.
//!
//! * The `controller` crate drives the registers; [`Backend`] is what the operating system adds:
//!   where the registers are, and how an interrupt is waited for. A PCI card is one backend.
//! * The card is taken away from the kernel's driver when the gateway starts. Its network interface
//!   vanishes then. At the end, and also if this process is killed, a keeper process hands it back
//!   ([`keeper`]).
//! * Both halves share the controller under a lock that nobody else asks for: one worker calls both. A
//!   frame for a free transmit buffer is written there at once, also while another port is still
//!   handing over its batch.
//! * With `mode = "poll"` the port asks never to be waited for: it wants to be called again at once, and
//!   takes a whole processor. With `mode = "interrupt"` the worker sleeps until the card interrupts.
//! * `taken = sent + lost + held`: held are the frames that wait here and those in transmit buffers.
//!   `sent` is counted when the controller says that the frame was acknowledged on the bus.

mod backend;
mod bitcan;
mod card;
mod error_frame;
mod halves;
pub mod keeper;
mod pci;
mod settings;
mod shared;

pub use backend::{Backend, Trouble, Wanted};
pub use settings::{Direct, DirectSettings, Drive};

#[cfg(test)]
mod tests;
