//! The number of a node, and the errors that name it.

use alloc::string::String;
use frame::Nanos;
use frame::wire::RateError;

/// The number of a node of a bus, in the order in which nodes were attached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u16);

/// The reason why a bus or a node cannot be made as requested.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// A bit rate is out of range.
    #[error("the bus's bit rate: {0}")]
    Rate(#[source] RateError),
    /// A probability of faults is not between 0 and 1.
    #[error("a fault probability of {0}: it must be from 0 to 1")]
    Probability(f64),
    /// Random faults are requested, but no kind of fault is given.
    #[error("random faults without a kind of fault: name at least one")]
    NoFaultKind,
    /// A node without transmit buffer.
    #[error("node {0:?} has no mailbox: it needs at least 1")]
    NoMailbox(String),
    /// All node numbers are in use.
    #[error("no place for node {0:?}: a bus has at most 65535 nodes")]
    TooManyNodes(String),
}

/// The reason why a frame was not taken.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// Mailboxes and queue are full (or the list of future frames is).
    #[error("the node's queue is full: wait until it has sent a frame")]
    Full,
    /// The node is bus-off.
    #[error("the node is bus-off: restart it first")]
    BusOff,
    /// The node is listen-only.
    #[error("the node is in listen-only mode and sends nothing")]
    ListenOnly,
    /// An FD frame on a classic bus or from a classic node, or an error frame, which a
    /// controller reports but never sends.
    #[error("the node or its bus cannot send this kind of frame")]
    Unsupported,
    /// The time has passed already.
    #[error("{at} ns is in the past: the bus is at {now} ns")]
    Past {
        /// Time at which the frame should have become ready.
        at: Nanos,
        /// The bus's time.
        now: Nanos,
    },
    /// No such node is attached.
    #[error("no node {} is attached to this bus", .0.0)]
    NoSuchNode(NodeId),
}
