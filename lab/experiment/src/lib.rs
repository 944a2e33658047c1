//! Experiments: what is chosen, how it is made in a guest, what is kept of it.
//!
//! * [`Experiment`]: everything that is chosen, one file of [`choices`] a setting; [`settings`]
//!   names them; [`matrix`] multiplies them.
//! * On the host: [`trial`] makes one experiment, [`schedule`] many of them, [`store`] keeps what
//!   came of them, [`rate`] searches for the highest rate without loss, [`figures`] sums up.
//! * In the guest: [`Agent`] starts the gateway under test and the load, calls the tester
//!   ([`measure`]), and checks that every frame is accounted for.

#![forbid(unsafe_code)]

mod agent;
#[cfg(test)]
mod arbitrary;
pub mod bare;
pub mod bursts;
mod by_command;
pub mod choices;
mod conflicts;
pub mod describe;
mod entry;
pub mod estimate;
mod experiment;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod figures;
pub mod incident;
pub mod matrix;
pub mod measure;
mod name;
pub mod nested;
mod plan;
mod preparation;
pub mod rate;
pub mod receiving;
pub mod recorders;
pub mod registers;
pub mod round_trip;
pub mod schedule;
pub mod settings;
pub mod spec;
pub mod store;
pub mod trial;
pub mod under_test;

pub use agent::Agent;
pub use by_command::{ByCommand, STDOUT};
pub use choices::{
    Boot, Cpu, Filters, Gateway, Hops, Incident, Load, Log, LogError, Machines, Modify, Nesting,
    Order, Others, PAPER_NAMES, Priority, Receive, Side, Task, Transmit, Tuning, Virtual, Ways,
};
pub use conflicts::Conflict;
pub use experiment::{Experiment, with_floors};
pub use guest::Kernel;
pub use guest::machine::Bench;
pub use probe::traffic::Pattern;
