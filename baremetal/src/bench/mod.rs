//! The timed bench inside an image: buses in bit time, controllers on them, a tester.
//!
//! It is the second activity of the image's one processor, and does the work that `kmod/bitcan`
//! does in a kernel: the machine's timer interrupts at the time of the next event on a bus,
//! [`BenchWorld::run`] executes the event and writes it into the registers of the controllers
//! ([`RegisterPage`]), and the gateway reads it there. The gateway's own writes take effect when it
//! rings the doorbell ([`BenchWorld::ring`]).
//!
//! **Bus time stands still while the bench computes** (the machine ensures this): a frame's latency
//! consists of the gateway's work, and the entry to and return from the interrupt.
//! `baremetal:ideal` measures that entry: there the bench forwards frames itself, as soon as it
//! runs.

mod on_cards;
mod page;
mod seat;
mod simulated;
mod task;
mod tester;
mod world;

pub use on_cards::OnCards;
pub use page::RegisterPage;
pub use seat::{BenchAccess, controller};
pub use simulated::SimulatedBench;
pub use task::{BenchStamp, BenchTask, DisturbedFrames, SendPattern, StampKind, TaskFrame};
pub use world::{BenchWorld, NoSeat};
