//! A message set, connected by gateways and networks.

use super::passing::HopCondition;
use super::sources::{MadeInput, SourceTimeout};
use super::splits::{SplitLoad, SplitWhole};
use super::tunnels::TunnelEnds;
use analysis::set::ReceiverTimeout;
use analysis::{GatewayHop, HopFrames, MessagePlace, Network};
use frame::Nanos;
use route::config::NamedDatabase;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set with all messages that a gateway sends on.
#[derive(Clone, Default)]
pub(super) struct ConnectedSet {
    pub(super) network: Network,
    /// For each hop, the route.
    pub(super) routes: Vec<String>,
    /// Nodes with a queue of a known length.
    pub(super) queues: Vec<PortCapacity>,
    /// Messages that were left out, in sentences.
    pub(super) notes: Vec<String>,
    /// For each hop, the condition on which the route passes on every frame.
    pub(super) conditions: Vec<HopCondition>,
    /// For each bus and message of the set, the longest time between two events, ns.
    pub(super) longest_periods: Vec<Vec<Option<Nanos>>>,
    /// The timeouts of the set.
    pub(super) timeouts: Vec<ReceiverTimeout>,
    /// Buses with the databases of the gateway's ports on them.
    pub(super) databases: Vec<(usize, Arc<NamedDatabase>)>,
    /// The timeouts of sources from which ports of the gateway make messages.
    pub(super) sources: Vec<SourceTimeout>,
    /// The messages from which ports of the gateway make messages.
    pub(super) inputs: Vec<MadeInput>,
    /// The made messages, on the buses to which routes lead them.
    pub(super) made: Vec<MadePlace>,
    /// The FD frames of the messages that are the parts of one, by bus and message.
    pub(super) wholes: BTreeMap<(usize, usize), SplitWhole>,
    /// The frames in the queues of ports that split and join.
    pub(super) splits: Vec<SplitLoad>,
    /// Whether the messages were followed through a gateway.
    pub(super) has_gateway: bool,
    /// For each tunnel and its ports, the properties of the two ends that no bound has.
    pub(super) tunnel_ports: Vec<Vec<TunnelEnds>>,
}

/// The number of frames that a port of the gateway can hold, in buffers and queue.
#[derive(Clone, Copy)]
pub(super) struct PortCapacity {
    pub(super) bus: usize,
    pub(super) node: usize,
    pub(super) frames: u64,
}

impl ConnectedSet {
    /// Returns whether messages go through tunnels.
    pub(super) fn has_tunnels(&self) -> bool {
        self.network
            .tunnels
            .iter()
            .any(|tunnel| !tunnel.flows.is_empty())
    }

    /// Returns whether gateways split or join frames.
    pub(super) fn has_parts(&self) -> bool {
        let made = |hop: &GatewayHop| hop.frames != HopFrames::Same;
        self.network.hops.iter().any(made) || !self.wholes.is_empty()
    }

    /// Leaves the timeouts of the gateway file out: the periods of a log are estimates, and prove
    /// nothing.
    pub(super) fn leave_timeouts_out(&mut self) {
        if !self.databases.is_empty() || !self.sources.is_empty() {
            let note = "timeouts of receivers, because the periods of a log are estimates: save the set that \
                        --from-log prints, read it, and use it";
            self.notes.push(note.to_owned());
        }
        self.databases.clear();
        self.sources.clear();
        self.inputs.clear();
    }
}

/// A port of the gateway on a bus.
#[derive(Clone, Copy)]
pub(super) struct AttachedPort {
    pub(super) bus: usize,
    pub(super) node: usize,
}

/// A made message on a bus.
#[derive(Clone)]
pub(super) struct MadePlace {
    /// The message and the port that makes it, as `SourceTimeout::made` has them.
    pub(super) made: String,
    pub(super) place: MessagePlace,
    /// Its cycle, ns; `None` if it has none.
    pub(super) cycle: Option<Nanos>,
}
