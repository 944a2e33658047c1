//! Controllers that virtual machines share: `[controllers.NAME]`.
//!
//! A controller is one node of an embedded bus, or a Linux CAN interface. Each machine that names
//! it (`controller = "NAME"`) is a virtual function of it ([`bus::vcontroller`]): its frames wait
//! in a queue of its own, ordered by CAN priority; before each arbitration the controller offers
//! the highest-priority frame of all machines; a frame that one machine sends is received by the
//! others; and the controller acknowledges a frame to its machine after it was on the bus.
//!
//! The controller is a port, too: the host's own node on that bus, or its own socket on that
//! interface, for routes.

mod on_interface;
mod registry;
mod rights;
mod settings;

pub use rights::{RightsText, rules};
pub use settings::{ControllerSettings, SharedControllers};

pub(crate) use registry::{MachineFunction, registry};
pub(crate) use rights::identifiers;
