//! A bus of the analysis on the simulated bus.

use crate::model::{BusSpec, SendOrder};
use alloc::vec::Vec;
use bus::{Bus, BusConfig, ConfigError, NodeConfig, NodeId, SendError};

/// The reason why releases cannot be replayed.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum ReplayError {
    /// The simulated bus does not accept the bus or a node.
    #[error("the simulated bus refuses it: {0}")]
    Bus(#[from] ConfigError),
    /// The simulated bus does not accept a frame.
    #[error("the simulated bus refuses a frame: {0}")]
    Send(#[from] SendError),
    /// A message, or its node, does not exist.
    #[error("message {0} or its node does not exist")]
    NoMessage(usize),
}

/// Creates a simulated bus with its nodes, and with two that acknowledge.
pub(crate) fn simulated(spec: &BusSpec) -> Result<(Bus, Vec<NodeId>), ReplayError> {
    let mut bus = Bus::new(BusConfig {
        data: spec.rate.data(),
        ..BusConfig::classic(spec.rate.nominal())
    })?;
    let fd = spec.rate.data().is_some();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(spec.nodes.len());
    for node in &spec.nodes {
        nodes.push(bus.attach(NodeConfig {
            mailboxes: match node.order {
                SendOrder::Priority => u8::MAX,
                SendOrder::Mailboxes(n) => n.get(),
            },
            queue: usize::MAX / 2,
            fd,
            ..NodeConfig::new(node.name.as_str())
        })?);
    }
    // Two listeners, so that each frame is acknowledged whichever node sends it.
    for name in ["listener", "another"] {
        let listener = NodeConfig::new(name);
        bus.attach(NodeConfig { fd, ..listener })?;
    }
    Ok((bus, nodes))
}
