//! The network interfaces of this network namespace, over rtnetlink: which there are, when they
//! change, and what the kernel knows of a CAN controller.

mod controller;
mod counters;
mod events;
mod interface;
mod links;

pub use controller::ControllerState;
pub use counters::LinkCounters;
pub use events::Events;
pub use interface::{IFINFO, Link, LinkError};
pub use links::Links;
