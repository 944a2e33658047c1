//! Experiments: their settings, how they are run in a guest, and how their results are stored.
//!
//! * [`Experiment`]: all settings, each with one file of [`choices`]; [`settings`] names them;
//!   [`matrix`] multiplies them. [`lockstep`] reads the plan of several machines in one virtual
//!   time; [`passage`] matches the frames of two of its buses.
//! * On the host: [`trial`] runs one experiment ([`apart`]: on several machines), [`schedule`] many
//!   of them, [`store`] stores their results, [`rate`] searches for the highest rate without loss,
//!   [`figures`] summarizes.
//! * In the guest: [`ExperimentAgent`] starts the gateway under test and the load, calls the tester
//!   ([`measure`]), and checks that every frame is accounted for.

#![forbid(unsafe_code)]

mod agent;
pub mod apart;
#[cfg(test)]
mod arbitrary;
pub mod bare;
pub mod bursts;
mod by_command;
pub mod choices;
mod conflict;
mod conflicts;
pub mod describe;
mod entry;
pub mod estimate;
mod experiment;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod figures;
pub mod incident;
pub mod lockstep;
pub mod matrix;
pub mod measure;
mod measurement;
mod name;
pub mod nested;
pub mod passage;
mod plan;
mod preparation;
pub mod rate;
pub mod receiving;
pub mod recorders;
pub mod registers;
pub mod round_trip;
pub mod schedule;
mod scope;
pub mod settings;
pub mod spec;
pub mod store;
pub mod trial;
pub mod under_test;

pub use agent::ExperimentAgent;
pub use by_command::{ByCommand, STDOUT};
pub use choices::{
    Boot, ClockChoice, Cpu, ExperimentTask, FilterChoice, GatewayChoice, HopChoice, Incident,
    LogError, LogSide, LogTraffic, MachineLoad, MachineOrder, MachinePlacement, Machines,
    ModifyChoice, Nesting, OtherTraffic, PAPER_NAMES, Priority, ReceiveChoice, TransmitChoice,
    Tuning, VirtualKind, WayPair,
};
pub use conflict::Conflict;
pub use experiment::with_floors;
pub use guest::Kernel;
pub use guest::machine::BenchKind;
pub use measurement::{
    GatewayUnderTest, ImageKind, Measurement, ProgramTask, SharedController, TripEnds,
};
pub use probe::traffic::TrafficPattern;
pub use scope::SettingScope;
pub use settings::Experiment;
