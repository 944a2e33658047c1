//! The network interfaces of this network namespace, over rtnetlink: their list, their changes, the
//! kernel's data about a CAN controller, and the settings of an interface.

mod controller;
mod counters;
mod events;
mod interface;
mod links;
mod saved;
mod setup;

pub use controller::{ControllerCounters, ControllerState, ErrorCounters};
pub use counters::LinkCounters;
pub use events::LinkEvents;
pub use interface::{IFINFO, LinkError, NetLink};
pub use links::NetLinks;
pub use saved::SavedSettings;
pub use setup::{AppliedSetup, LinkSetup, PreviousState, RestartDelay, SetupError};
