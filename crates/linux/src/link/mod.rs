//! The network interfaces of this network namespace, over rtnetlink: their list, their changes, the
//! kernel's data about a CAN controller, and the settings of an interface. The devices behind them
//! ([`ParentDevice`]) are in sysfs; [`InterfaceFacts`] is both.

mod controller;
mod counters;
mod device;
mod events;
mod facts;
mod in_force;
mod interface;
mod links;
mod modes;
mod saved;
mod settings;
mod setup;
mod setup_error;
mod setup_steps;
mod timing;

pub use controller::{ControllerCounters, ControllerState, ErrorCounters};
pub use counters::LinkCounters;
pub use device::{ParentDevice, SYSFS, UsbDevice};
pub use events::LinkEvents;
pub use facts::InterfaceFacts;
pub use interface::{IFINFO, LinkError, NetLink};
pub use links::NetLinks;
pub use modes::{ControlMode, PresentSettings};
pub use saved::SavedSettings;
pub use settings::{ControllerSettings, DelayCompensation};
pub use setup::{AppliedSetup, LinkSetup, PreviousState, RestartDelay};
pub use setup_error::SetupError;
