//! Configuration of a bus and its nodes.

use crate::fault::BusFaults;
use alloc::string::String;
use frame::Nanos;

/// The configuration of a bus.
#[derive(Clone, Debug, PartialEq)]
pub struct BusConfig {
    /// Nominal bit rate, bit/s, in the range of [`frame::wire::BitRate`].
    pub nominal: u32,
    /// Bit rate of the FD data phase, bit/s, not below the nominal one.
    /// `None`: a bus for classic frames only.
    pub data: Option<u32>,
    /// Seed of the random faults. The same seed and the same calls give the same events.
    pub seed: u64,
    /// The faults of the bus, and their rates.
    pub faults: BusFaults,
}

impl BusConfig {
    /// Returns the configuration of a classic bus without faults.
    #[must_use]
    pub fn classic(nominal: u32) -> Self {
        Self {
            nominal,
            data: None,
            seed: 0,
            faults: BusFaults::default(),
        }
    }

    /// Returns the configuration of a bus for classic and FD frames, without faults.
    #[must_use]
    pub fn fd(nominal: u32, data: u32) -> Self {
        Self {
            data: Some(data),
            ..Self::classic(nominal)
        }
    }
}

/// The configuration of a node: a CAN controller and the queue in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Name of the node, for messages.
    pub name: String,
    /// Number of transmit buffers that take part in arbitration, the highest priority among them
    /// first; at least 1. The node never takes a frame back from a buffer: see the crate's page on
    /// priority inversion.
    pub mailboxes: u8,
    /// Number of frames that can wait, in order of arrival, until a mailbox is free.
    pub queue: usize,
    /// Number of frames with a time in the future that may be handed in beforehand.
    pub scheduled: usize,
    /// Whether the node tries every frame only once: a failed attempt drops it, and so does a lost
    /// arbitration.
    pub one_shot: bool,
    /// Whether the node only receives: it sends no acknowledge and no error flags, and its counters
    /// do not change (ISO 11898-1, bus monitoring).
    pub listen_only: bool,
    /// Whether the node supports FD frames. A node that does not support them destroys them with a
    /// form error, as classic controllers without any support for FD do.
    pub fd: bool,
    /// Time after bus-off at which the node restarts on its own, ns; `None`: it restarts only by
    /// [`crate::Bus::restart`]. Recovery then still takes 128 times 11 recessive bits.
    pub restart: Option<Nanos>,
}

impl NodeConfig {
    /// Returns the configuration of a node like common controllers: three mailboxes, a queue of ten
    /// frames (Linux's default for CAN interfaces), FD, retransmission, no automatic restart.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            mailboxes: 3,
            queue: 10,
            scheduled: 65_536,
            one_shot: false,
            listen_only: false,
            fd: true,
            restart: None,
        }
    }
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self::new("")
    }
}
