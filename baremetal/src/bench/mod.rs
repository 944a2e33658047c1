//! The timed bench inside an image: buses in bit time, controllers on them, a tester.
//!
//! It is the second activity of the image's one processor, and does what `kmod/bitcan` does in a
//! kernel: the machine's timer interrupts at the time of the next thing that happens on a bus,
//! [`World::run`] lets it happen and writes it into the registers of the controllers ([`Page`]),
//! and the gateway finds it there. The gateway's own writes take effect when it rings
//! ([`World::ring`]).
//!
//! **Bus time stands still while the bench computes** (the machine sees to it): a frame's latency
//! has what the gateway did, and the way into and out of the interrupt. `baremetal:ideal` measures
//! that way in: there the bench passes frames on itself, as soon as it runs.

mod on_cards;
mod page;
mod seat;
mod simulated;
mod task;
mod tester;
mod world;

pub use on_cards::OnCards;
pub use page::Page;
pub use seat::{Access, controller};
pub use simulated::Simulated;
pub use task::{Disturbed, Pattern, Stamp, StampKind, Task, TaskFrame};
pub use world::{NoSeat, World};
