//! Buses inside the process: gateway nodes and testers on any number of [`bus::Bus`]es.
//!
//! A [`BusWorld`] holds the buses and moves them together in time. A gateway's node is a pair of
//! halves ([`BusWorld::attach`]); all other nodes are testers that send by [`BusWorld::send`].
//!
//! Time is bus time and passes only when the caller moves it on:
//!
//! * **Simulation**: [`BusWorld::next`] returns the time of the next event, [`BusWorld::run_until`]
//!   moves the world there, the gateway reacts at that very time, and the frames that it sends take
//!   part in the arbitration that begins then. An hour of traffic takes seconds, and every run is
//!   the same.
//! * **Real time**: after [`BusWorld::pace`] each [`crate::Receive::receive`] moves the world on to
//!   the time of the clock, and [`crate::Receive::deadline`] returns the clock time of the next
//!   event. Traffic of other nodes moves with the world ([`BusWorld::replay`]).

mod halves;
mod index;
mod join;
mod moving;
mod settings;
mod traffic;
mod world;

pub use halves::{BusReceive, BusTransmit, classic_only};
pub use index::BusIndex;
#[cfg(all(feature = "virtio", target_pointer_width = "64"))]
pub(crate) use join::join;
pub use settings::{BusSettings, EmbeddedBus, world};
pub use traffic::{BusTraffic, TESTER_QUEUE, TesterFrame};
pub use world::{BusWorld, SharedController, TesterNode, WorldError};
