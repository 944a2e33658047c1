//! The stand-ins of ports in a simulation, so that a gateway file that is deployed can be tested
//! without its hardware.
//!
//! Each kind of port names its stand-in ([`PortSettings::stand_in`](crate::PortSettings)). A port
//! on a CAN interface becomes a node on an embedded bus; a port that needs no hardware stays as it
//! is. The gateway decides the bit rates and replaces the settings.

use crate::PortSettings;
use frame::Nanos;
use frame::wire::BitRate;
use std::path::Path;
use std::sync::Arc;

/// The simulation for which a port names its stand-in.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedPlace<'a> {
    /// The port's name.
    pub port: &'a str,
    /// The folder for the files that the gateway writes. Without one, their content is dropped.
    pub out: Option<&'a Path>,
}

/// The stand-in of a port in a simulation.
#[derive(Clone, Debug)]
pub enum StandIn {
    /// The port itself, because it needs no hardware.
    Itself,
    /// A port with these settings instead.
    Settings(Arc<dyn PortSettings>),
    /// A node on an embedded bus.
    Node(NodeStandIn),
    /// Nothing, for this reason: words that follow the port's name and kind.
    Nothing(&'static str),
}

/// A node on an embedded bus in place of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeStandIn {
    /// The name of the bus: ports with the same name share it.
    pub bus: String,
    /// The bit rates that the settings of the port give; `None`: they give none.
    pub rate: Option<BitRate>,
    /// Number of frames that wait for a transmit buffer.
    pub queue: u32,
    /// Whether FD frames pass the port, on a bus that carries them.
    pub fd: bool,
    /// Whether the port would pass XL frames, which the embedded bus does not carry.
    pub xl: bool,
    /// Whether the node only listens.
    pub listen_only: bool,
    /// Whether the node tries each frame only once.
    pub one_shot: bool,
    /// Time from bus-off to the restart, ns; `None`: never.
    pub restart: Option<Nanos>,
}

/// Time from bus-off to the restart where the settings give none, ns: as other kinds of port have
/// it by default.
const RESTART: Nanos = 100_000_000;

impl NodeStandIn {
    /// Returns a node on the bus of this name, with the defaults of everything else.
    #[must_use]
    pub fn new(bus: impl Into<String>, queue: u32) -> Self {
        Self {
            bus: bus.into(),
            rate: None,
            queue,
            fd: true,
            xl: false,
            listen_only: false,
            one_shot: false,
            restart: Some(RESTART),
        }
    }
}

#[cfg(feature = "bus")]
impl NodeStandIn {
    /// Returns the settings of the node at these bit rates.
    #[must_use]
    pub fn settings(&self, rate: BitRate) -> crate::embedded::BusSettings {
        crate::embedded::BusSettings {
            bus: self.bus.clone(),
            bitrate: rate.nominal(),
            data_bitrate: rate.data(),
            queue: self.queue,
            fd: self.fd,
            listen_only: self.listen_only,
            one_shot: self.one_shot,
            restart: self.restart,
            ..crate::embedded::BusSettings::defaults(&self.bus)
        }
    }
}
