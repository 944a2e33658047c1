//! The input of the analysis: a bus, its nodes and their messages.

use crate::{Arrival, BufferRefill, FrameShape, LengthRule};
use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU8;
use frame::Nanos;
use frame::wire::BitRate;

/// A bus and all traffic on it.
#[derive(Clone, Debug)]
pub struct BusSpec {
    /// Its name.
    pub name: String,
    /// Its bit rates.
    pub rate: BitRate,
    /// The rule for the lengths of frames.
    pub lengths: LengthRule,
    /// The least time between two errors on the bus, ns; `None` for a bus without errors. See
    /// [`crate::window`] for the cost of an error. Nodes must stay error-active: error-passive ones
    /// wait longer before they send ([`frame::wire::SUSPEND_BITS`]), which no bound here includes.
    pub errors: Option<Nanos>,
    /// The mean time between errors at random, ns; `None` for a bus without such errors. They are
    /// in no bound: [`Compiled::misses`](crate::CompiledBus::misses) returns the probability that
    /// they make a frame late.
    pub random_errors: Option<Nanos>,
    /// The time after the start of a frame in which another node can still join its arbitration,
    /// ns.
    ///
    /// On a real bus, a node whose frame has just become ready takes the start of frame of another
    /// node for its own: about a bit time (Davis et al. 2007, §3.1: τ_bit), which [`BusSpec::bit`]
    /// returns. The `bus` model has 0: a frame that is ready at the very start takes part, a later
    /// one does not.
    pub joins: Nanos,
    /// Its nodes.
    pub nodes: Vec<NodeSpec>,
    /// All messages on it.
    pub messages: Vec<Message>,
}

impl BusSpec {
    /// Returns a bit time, rounded up to a nanosecond.
    #[must_use]
    pub const fn bit(rate: BitRate) -> Nanos {
        1_000_000_000_u64.div_ceil(rate.nominal() as u64)
    }
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// The order in which it sends its frames.
    pub order: SendOrder,
    /// The time that it takes to fill a transmit buffer; for a node with [`SendOrder::Mailboxes`].
    /// `None`: within the intermission, so that it costs no time.
    pub refill: Option<BufferRefill>,
}

impl NodeSpec {
    /// Creates a node that fills its buffers in no time.
    #[must_use]
    pub fn new(name: &str, order: SendOrder) -> Self {
        Self {
            name: name.into(),
            order,
            refill: None,
        }
    }
}

/// The order in which a node sends its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendOrder {
    /// By priority: each waiting frame takes part in each arbitration, as far as the node is
    /// concerned. This holds for a node with a transmit buffer for each frame, or with a sorted
    /// queue whose best frame replaces one in a buffer at once.
    Priority,
    /// This number of transmit buffers, the best of which takes part in arbitration, with a queue
    /// in order of arrival in front of them, as in Linux and most drivers. No frame is withdrawn
    /// from a buffer.
    Mailboxes(NonZeroU8),
}

/// The order in which the frames of a node are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueService {
    /// In order of priority, as specified for the node.
    Priority,
    /// In order of priority, because its transmit buffers hold all frames that can wait in it.
    Covered,
    /// Through a queue in order of arrival: [`crate::queue`].
    Queue,
}

impl QueueService {
    /// Returns the service that the analysis assumes first. `pauses`: the node has pauses.
    pub(crate) const fn at_first(order: &SendOrder, pauses: bool) -> Self {
        match order {
            SendOrder::Priority => Self::Priority,
            SendOrder::Mailboxes(_) if pauses => Self::Queue,
            SendOrder::Mailboxes(_) => Self::Covered,
        }
    }
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its name, for display; may be empty.
    pub name: String,
    /// The node that sends it: an index into [`BusSpec::nodes`].
    pub node: usize,
    /// The properties of its frames.
    pub shape: FrameShape,
    /// The times at which they are released.
    pub arrival: Arrival,
    /// The time of its events on its node's clock, ns, from 0 to before its period: event k is at
    /// offset + k · period. All messages of a node with an offset share one clock, which started at
    /// an arbitrary time: [`mod@crate::offset`]. `None`: its events have any phase.
    pub offset: Option<Nanos>,
    /// The time from the event to the end of the frame that must not be exceeded, ns.
    pub deadline: Nanos,
}

/// The reason why a bus cannot be bounded as it is described.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelError {
    /// The node of a message does not exist.
    #[error("message {message} is sent by a node that does not exist")]
    NoNode {
        /// Its index.
        message: usize,
    },
    /// Two messages with the same arbitration field.
    #[error(
        "messages {first} and {second} have the same arbitration field: arbitration cannot decide \
         between them"
    )]
    SameField {
        /// The index of one.
        first: usize,
        /// The index of the other.
        second: usize,
    },
    /// An offset that is not within the period, or of a message without a period.
    #[error("message {message} has an offset that is not below a period of it")]
    Offset {
        /// Its index.
        message: usize,
    },
    /// An FD frame on a bus that has no data bit rate.
    #[error("message {message} has FD frames, and its bus has no data bit rate")]
    NoFd {
        /// Its index.
        message: usize,
    },
}
