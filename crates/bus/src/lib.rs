//! A CAN bus in bit time: arbitration, errors, many nodes; time is passed in.
#![forbid(unsafe_code)]

mod bus;
mod clock;
mod config;
mod confinement;
mod disturbed;
mod event;
mod fault;
mod node;
mod schedule;
mod stats;
mod wire;

pub use bus::Bus;
pub use config::{BusConfig, ConfigError, NodeConfig, NodeId, SendError};
pub use event::{DropReason, ErrorState, Event, Receivers};
pub use fault::{ErrorKind, Fault, Faults, When};
pub use node::NodeState;
pub use stats::BusStats;
