//! A bus with the stations, the gateway's gates and the acknowledging node on it.

use super::error_frame::{change_of_state, detected_error};
use super::gate::PortGate;
use super::station::{StationSettings, StationStates};
use bus::{Bus, ConfigError, NodeConfig, NodeEvent, NodeId};
use frame::Nanos;

/// The owner of a node of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeOwner {
    /// A station of Python, by its number.
    Station(usize),
    /// A port of the gateway, by its index.
    Gate(usize),
    /// The node that only acknowledges, or the node of a station that was closed.
    Silent,
}

/// A bus of a world.
pub(crate) struct BusSlot {
    /// The names of the bus.
    pub(crate) names: Vec<String>,
    /// The bus.
    pub(crate) bus: Bus,
    /// Whether a node acknowledges that does nothing else.
    pub(crate) acknowledges: bool,
    /// The owners of its nodes, by the nodes' numbers.
    owners: Vec<NodeOwner>,
    /// Nodes whose station was closed.
    free: Vec<NodeId>,
}

impl BusSlot {
    /// Creates a bus that has these names. If it acknowledges, a frame is sent even if no station
    /// receives it; otherwise its sender repeats it.
    pub(super) fn new(
        names: Vec<String>,
        bus: Bus,
        acknowledges: bool,
    ) -> Result<Self, ConfigError> {
        let mut slot = Self {
            names,
            bus,
            acknowledges,
            owners: Vec::new(),
            free: Vec::new(),
        };
        if acknowledges {
            slot.add(NodeConfig::new("acknowledger"), NodeOwner::Silent)?;
        }
        Ok(slot)
    }

    fn add(&mut self, config: NodeConfig, owner: NodeOwner) -> Result<NodeId, ConfigError> {
        let node = self.bus.attach(config)?;
        self.owners.push(owner);
        Ok(node)
    }

    /// Adds the node of a station, or gives it one that another station has left.
    pub(super) fn join(
        &mut self,
        station: usize,
        settings: &StationSettings,
    ) -> Result<NodeId, ConfigError> {
        let config = NodeConfig {
            mailboxes: settings.mailboxes,
            queue: settings.queue,
            listen_only: settings.listen_only,
            fd: self.bus.config().data.is_some(),
            restart: settings.restart,
            ..NodeConfig::new("station")
        };
        let is_like_new = |node: &NodeId| {
            let same = self.bus.nodes().nth(usize::from(node.0));
            let state = self.bus.node_state(*node);
            same.is_some_and(|(_, known)| *known == config)
                && state
                    .is_some_and(|s| s.tec == 0 && s.rec == 0 && s.mailboxes_used + s.queued == 0)
        };
        let Some(place) = self.free.iter().position(is_like_new) else {
            return self.add(config, NodeOwner::Station(station));
        };
        let node = self.free.swap_remove(place);
        if let Some(owner) = self.owners.get_mut(usize::from(node.0)) {
            *owner = NodeOwner::Station(station);
        }
        Ok(node)
    }

    /// Adds the node of a port of the gateway.
    pub(super) fn join_gate(
        &mut self,
        gate: usize,
        config: NodeConfig,
    ) -> Result<NodeId, ConfigError> {
        self.add(config, NodeOwner::Gate(gate))
    }

    /// Keeps the node of a closed station for another one. It stays on the bus, as a controller
    /// whose program has ended.
    pub(super) fn leave(&mut self, node: NodeId) {
        if let Some(owner) = self.owners.get_mut(usize::from(node.0)) {
            *owner = NodeOwner::Silent;
            self.free.push(node);
        }
    }

    /// Lets time pass, and passes events to stations and gates. Returns whether there was any.
    pub(super) fn run_until(
        &mut self,
        at: Nanos,
        stations: &mut StationStates,
        gates: &[PortGate],
    ) -> bool {
        let owners = &self.owners;
        let mut happened = false;
        self.bus.run_until(at, |event| {
            happened = true;
            hand_over(owners, event, stations, gates);
        });
        happened
    }
}

/// Passes an event to the stations and gates that it concerns.
fn hand_over(
    owners: &[NodeOwner],
    event: &NodeEvent<'_>,
    stations: &mut StationStates,
    gates: &[PortGate],
) {
    let nodes = (0..).map(NodeId).zip(owners);
    match *event {
        NodeEvent::Frame {
            end,
            node,
            tag,
            frame,
            receivers,
            ..
        } => {
            for (id, owner) in nodes {
                let (own, hears) = (id == node, receivers.receives(id));
                match *owner {
                    NodeOwner::Station(at) if own || hears => {
                        let Some(station) = stations.get_mut(&at) else {
                            continue;
                        };
                        match own {
                            true => station.sent(end, tag, frame),
                            false => station.hear(end, frame),
                        }
                    }
                    NodeOwner::Gate(at) if own || hears => {
                        let Some(gate) = gates.get(at) else {
                            continue;
                        };
                        match own {
                            true => gate.sent(),
                            false => gate.hear(end, frame, tag),
                        }
                    }
                    _ => {}
                }
            }
        }
        NodeEvent::Error {
            at,
            node,
            kind,
            primary: true,
            ..
        } => {
            for (id, owner) in nodes {
                if let NodeOwner::Station(index) = *owner
                    && let Some(station) = stations.get_mut(&index)
                {
                    station.report(at, detected_error(kind, id == node));
                }
            }
        }
        NodeEvent::Error { .. } => {}
        NodeEvent::State { at, node, state } => {
            if let Some(NodeOwner::Station(index)) = owners.get(usize::from(node.0))
                && let Some(station) = stations.get_mut(index)
            {
                let frame = change_of_state(station.state(), state);
                station.set_state(state);
                station.report(at, frame);
            }
        }
        NodeEvent::Dropped { node, tag, .. } => match owners.get(usize::from(node.0)) {
            Some(NodeOwner::Station(index)) => {
                if let Some(station) = stations.get_mut(index) {
                    station.dropped(tag);
                }
            }
            Some(NodeOwner::Gate(index)) => {
                if let Some(gate) = gates.get(*index) {
                    gate.lost();
                }
            }
            _ => {}
        },
    }
}
