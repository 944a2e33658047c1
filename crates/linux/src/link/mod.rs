//! The network interfaces of this network namespace, over rtnetlink: which there are, when they
//! change, what the kernel knows of a CAN controller, and how one was set up.

mod controller;
mod counters;
mod events;
mod interface;
mod links;
mod saved;
mod setup;

pub use controller::{ControllerCounters, ControllerState, ErrorCounters};
pub use counters::LinkCounters;
pub use events::Events;
pub use interface::{IFINFO, Link, LinkError};
pub use links::Links;
pub use saved::Saved;
pub use setup::{Applied, Before, Restart, Setup, SetupError};
