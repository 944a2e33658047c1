//! CAN controllers driven from user space, without a driver or network stack of the kernel.
//!
//! * `controller::driven` implements the port: the controller's registers, both halves, every
//!   frame's fate. This module has the parts that depend on Linux: the place of the registers, the
//!   wait for interrupts, the ownership of the card.
//! * The gateway takes the card away from the kernel's driver when it starts. The card's network
//!   interface vanishes then. At the end, and also if this process is killed, a keeper process
//!   hands the card back ([`keeper`]).
//! * With `mode = "poll"` the worker never waits for the port: it calls the port again at once,
//!   and uses a whole processor. With `mode = "interrupt"` the worker sleeps until the card
//!   interrupts.

mod backend;
mod bitcan;
mod card;
mod find;
mod halves;
pub mod keeper;
mod pci;
mod registers;
mod settings;

pub use backend::{BackendError, BackendOptions};
pub use settings::{DirectPorts, DirectSettings, DriveMode};
