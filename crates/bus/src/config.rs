//! What a bus and its nodes are made of, and why a bus refuses something.

use crate::fault::Faults;
use alloc::string::String;
use frame::{Nanos, wire::RateError};

/// A bus.
#[derive(Clone, Debug, PartialEq)]
pub struct BusConfig {
    /// Nominal bit rate, bit/s, in the range of [`frame::wire::BitRate`].
    pub nominal: u32,
    /// Bit rate of the FD data phase, bit/s, not below the nominal one.
    /// `None`: a bus for classic frames only.
    pub data: Option<u32>,
    /// Seed of the random faults. Same seed, same calls: same events.
    pub seed: u64,
    /// What goes wrong, and how often.
    pub faults: Faults,
}

impl BusConfig {
    /// A classic bus without faults.
    #[must_use]
    pub fn classic(nominal: u32) -> Self {
        Self {
            nominal,
            data: None,
            seed: 0,
            faults: Faults::default(),
        }
    }

    /// A bus for classic and FD frames, without faults.
    #[must_use]
    pub fn fd(nominal: u32, data: u32) -> Self {
        Self {
            data: Some(data),
            ..Self::classic(nominal)
        }
    }
}

/// A node: a CAN controller and the queue in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name, for messages.
    pub name: String,
    /// Transmit buffers that take part in arbitration, the highest priority among them first;
    /// at least 1. A buffer is never taken back: see the crate's page on priority inversion.
    pub mailboxes: u8,
    /// Frames that wait in order of arrival until a mailbox is free.
    pub queue: usize,
    /// Frames with a time in the future that may be handed in beforehand.
    pub scheduled: usize,
    /// Every frame is tried once: a failed attempt drops it, and so does a lost arbitration.
    pub one_shot: bool,
    /// Receives only: no acknowledge, no error flags, counters stand still (ISO 11898-1,
    /// bus monitoring).
    pub listen_only: bool,
    /// Understands FD frames. A node that does not destroys them with a form error, as classic
    /// controllers do that know nothing of FD.
    pub fd: bool,
    /// Restart by itself so long after bus-off, ns; `None`: only by [`crate::Bus::restart`].
    /// Recovery then still takes 128 times 11 recessive bits.
    pub restart: Option<Nanos>,
}

impl NodeConfig {
    /// A node as common controllers have it: three mailboxes, a queue of ten frames (Linux's
    /// default for CAN interfaces), FD, retransmission, no automatic restart.
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

/// A node of a bus, in the order in which they were attached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u16);

/// Why a bus or a node cannot be made as asked.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// A bit rate is out of range.
    #[error("the bus's bit rate: {0}")]
    Rate(#[source] RateError),
    /// A probability of faults is not between 0 and 1.
    #[error("a fault probability of {0}: it must be from 0 to 1")]
    Probability(f64),
    /// Random faults are wanted, but no kind is allowed.
    #[error("faults are to happen at random, but no kind of fault is given: name at least one")]
    NoFaultKind,
    /// A node without transmit buffer.
    #[error("node {0:?} has no mailbox: it needs at least 1")]
    NoMailbox(String),
    /// Node numbers are used up.
    #[error("node {0:?} is one too many: a bus has at most 65535 nodes")]
    TooManyNodes(String),
}

/// Why a frame was not taken.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// Mailboxes and queue are full (or the list of future frames is).
    #[error("the node's queue is full: wait until it has sent a frame")]
    Full,
    /// The node is bus-off.
    #[error("the node is bus-off: restart it first")]
    BusOff,
    /// The node only listens.
    #[error("the node is in listen-only mode and sends nothing")]
    ListenOnly,
    /// An FD frame on a classic bus or from a classic node, or an error frame, which a
    /// controller reports but never sends.
    #[error("the node or its bus cannot send this kind of frame")]
    Unsupported,
    /// The time has passed already.
    #[error("{at} ns have passed already: it is {now} ns")]
    Past {
        /// When the frame was to become ready.
        at: Nanos,
        /// The bus's time.
        now: Nanos,
    },
    /// No such node is attached.
    #[error("no node {} is attached to this bus", .0.0)]
    NoSuchNode(NodeId),
}
