//! Buses inside the process: gateway nodes and testers on any number of [`bus::Bus`]es.
//!
//! A [`World`] holds the buses and moves them together in time. A gateway's node is a pair of
//! halves ([`World::attach`]); all other nodes are testers that send by [`World::send`].
//!
//! Time is bus time and passes only when somebody says so:
//!
//! * **Simulation**: [`World::next`] says when something happens, [`World::run_until`] goes
//!   there, the gateway reacts at that very time, and what it sends takes part in the
//!   arbitration that begins then. An hour of traffic takes seconds, and every run is the same.
//! * **Real time**: after [`World::pace`] each [`crate::Receive::receive`] moves the world on to
//!   where the clock is, and [`crate::Receive::deadline`] names the clock time of the next event.

mod halves;
mod join;
mod settings;
mod world;

pub use halves::{BusReceive, BusTransmit};
#[cfg(all(feature = "virtio", target_pointer_width = "64"))]
pub(crate) use join::join;
#[cfg(all(feature = "virtio", target_pointer_width = "64"))]
pub(crate) use settings::keys;
#[cfg(all(feature = "virtio", target_pointer_width = "64"))]
pub(crate) use settings::world;
pub use settings::{BusSettings, EmbeddedBus};
pub use world::{BusIndex, SharedController, Tester, World, WorldError};
