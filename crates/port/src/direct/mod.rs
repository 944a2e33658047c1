//! CAN controllers driven from user space: no driver and no network stack of the kernel's.
//!
//! * `controller::driven` is the port: the controller's registers, both halves, every frame's fate.
//!   What is here is Linux's: where the registers are, how an interrupt is waited for, whose card
//!   it is.
//! * The card is taken away from the kernel's driver when the gateway starts. Its network interface
//!   vanishes then. At the end, and also if this process is killed, a keeper process hands it back
//!   ([`keeper`]).
//! * With `mode = "poll"` the port asks never to be waited for: it wants to be called again at
//!   once, and takes a whole processor. With `mode = "interrupt"` the worker sleeps until the card
//!   interrupts.

mod backend;
mod bitcan;
mod card;
mod halves;
pub mod keeper;
mod pci;
mod settings;

pub use backend::{Trouble, Wanted};
pub use settings::{Direct, DirectSettings, Drive};
