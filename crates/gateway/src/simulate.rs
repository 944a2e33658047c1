//! A gateway file without its hardware: each port on a CAN interface becomes a node on an embedded
//! bus, so that a test runs the file that is deployed.
//!
//! [`GatewayConfig::simulated`] replaces the ports of a configuration. Everything else stays as the
//! file has it: routes, limits, queues, databases, protection. [`crate::run::run_simulated`] runs
//! the result in real time, and reloads it in the same way; the crate `demo` runs it in bus time.

use crate::config::{GatewayConfig, Offload};
use frame::wire::BitRate;
use port::embedded::BusSettings;
use port::{NodeStandIn, PortSpec, SimulatedPlace, StandIn};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Number of frames that wait at a port of a kind without a queue of its own: as at an interface.
const DEFAULT_QUEUE: u32 = 128;

/// The options of a simulation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimulationOptions {
    /// The bit rates of buses for which the file gives none.
    pub rate: Option<BitRate>,
    /// The bit rates of the buses of certain ports, by name; they come before those of the file. A
    /// port of any kind that is named here becomes a node on a bus.
    pub ports: BTreeMap<String, BitRate>,
    /// The folder for files that ports write. Without one, their content is dropped.
    pub out: Option<PathBuf>,
    /// Whether traffic is replayed on the buses, whose end is the end of the run.
    pub replayed: bool,
}

/// A configuration for a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedConfig {
    /// The configuration.
    pub config: GatewayConfig,
    /// The differences from the file, one sentence each.
    pub differences: Vec<String>,
}

/// The reasons why a file cannot be simulated, one sentence for each port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulationError(pub Vec<String>);

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for SimulationError {}

impl GatewayConfig {
    /// Returns the configuration with embedded buses in place of the interfaces. All routes run in
    /// this process, without real-time priority, and with the default control socket.
    ///
    /// # Errors
    /// [`SimulationError`] names each port that has no bit rate or no stand-in.
    pub fn simulated(
        &self,
        options: &SimulationOptions,
    ) -> Result<SimulatedConfig, SimulationError> {
        let mut making = SimulationMaker {
            options,
            differences: Vec::new(),
            wrong: Vec::new(),
            nodes: BTreeMap::new(),
        };
        let mut config = self.clone();
        for name in options.ports.keys() {
            if !self.ports.iter().any(|port| port.name == *name) {
                let names = self.port_names().join(", ");
                let words = format!("--as-bus {name}=…: there is no port `{name}`; ports: {names}");
                making.wrong.push(words);
            }
        }
        for port in &mut config.ports {
            making.replace(port);
        }
        for port in &self.ports {
            making.check_name(port);
        }
        if config.options.offload != Offload::None {
            making.differences.push(format!(
                "`offload = \"{}\"`: this process runs the routes, because the kernel has no part in \
                 a simulation",
                config.options.offload
            ));
            config.options.offload = Offload::None;
        }
        config.options.control = None;
        config.options.realtime = None;
        config.options.lock_memory = false;
        if making.wrong.is_empty() {
            let differences = making.differences;
            return Ok(SimulatedConfig {
                config,
                differences,
            });
        }
        Err(SimulationError(making.wrong))
    }
}

/// Returns the settings of a port that is a node on an embedded bus.
fn bus(port: &PortSpec) -> Option<&BusSettings> {
    port.settings.downcast_ref::<BusSettings>()
}

struct SimulationMaker<'a> {
    options: &'a SimulationOptions,
    differences: Vec<String>,
    wrong: Vec<String>,
    /// The name of each bus that stands for an interface, with its port.
    nodes: BTreeMap<String, String>,
}

impl SimulationMaker<'_> {
    fn replace(&mut self, port: &mut PortSpec) {
        let place = SimulatedPlace {
            port: &port.name,
            out: self.options.out.as_deref(),
        };
        let given = self.options.ports.get(&port.name).copied();
        let node = match (port.settings.stand_in(place), given) {
            (StandIn::Node(node), _) => node,
            // Its own settings already are those of a bus.
            (StandIn::Itself, Some(_)) if bus(port).is_some() => {
                let name = &port.name;
                self.wrong.push(format!(
                    "--as-bus {name}=…: port `{name}` is of kind \"bus\", and its bit rates are in \
                     the file: leave the option out"
                ));
                return;
            }
            (_, Some(_)) => {
                let queue = port.settings.transmit_queue();
                let queue = queue.and_then(|queue| u32::try_from(queue.frames).ok());
                NodeStandIn::new(&port.name, queue.unwrap_or(DEFAULT_QUEUE))
            }
            (StandIn::Itself, None) => return self.note_replay(port),
            (StandIn::Settings(settings), None) => {
                port.settings = settings;
                let place = port.settings.describe();
                self.differences
                    .push(format!("port {}: {place}", port.name));
                return;
            }
            (StandIn::Nothing(why), None) => {
                let (name, kind) = (&port.name, port.settings.kind());
                self.wrong.push(format!(
                    "port `{name}` is of kind \"{kind}\", {why}: it cannot be simulated; \
                     `--as-bus {name}=500k` puts a bus in its place"
                ));
                return;
            }
        };
        let Some(rate) = given.or(node.rate).or(self.options.rate) else {
            self.wrong.push(format!(
                "port `{}`: the file does not state the bit rate of {}: `--as-bus 500k` gives it to \
                 all such ports, `--as-bus {}=500k` to this one",
                port.name, node.bus, port.name
            ));
            return;
        };
        let whence = match (given, node.rate) {
            (None, Some(_)) => "as in the file",
            _ => "by --as-bus",
        };
        self.place(port, &node, rate, whence);
    }

    /// Puts a node in the place of a port.
    fn place(&mut self, port: &mut PortSpec, node: &NodeStandIn, rate: BitRate, whence: &str) {
        // No two ports are on one interface: one of the buses has the name of its port.
        if let Some(other) = self.nodes.insert(node.bus.clone(), port.name.clone()) {
            self.wrong.push(format!(
                "ports `{other}` and `{}` are on different buses, which a simulation would both name \
                 {}: give the port of this name another one",
                port.name, node.bus
            ));
            return;
        }
        let mut words = format!(
            "port {}: {} is an embedded bus at {rate} bit/s, {whence}",
            port.name, node.bus
        );
        if node.xl {
            words.push_str("; it carries no CAN XL frames");
        }
        self.differences.push(words);
        port.settings = Arc::new(BusSettings {
            replayed: self.options.replayed,
            ..node.settings(rate)
        });
    }

    /// Lets a port of kind "bus" know that traffic is replayed there, too.
    fn note_replay(&self, port: &mut PortSpec) {
        if let Some(bus) = bus(port) {
            port.settings = Arc::new(BusSettings {
                replayed: self.options.replayed,
                ..bus.clone()
            });
        }
    }

    /// Reports a bus of the file that has the name of an interface: they are not the same bus.
    fn check_name(&mut self, port: &PortSpec) {
        let bus = bus(port).map(|settings| &settings.bus);
        if let Some(bus) = bus
            && let Some(other) = self.nodes.get(bus)
        {
            self.wrong.push(format!(
                "bus `{bus}` of port `{}` has the name of the interface of port `{other}`: give the \
                 bus another name",
                port.name
            ));
        }
    }
}
