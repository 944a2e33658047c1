//! What is to be bounded: a bus, its nodes and their messages.

use crate::{Arrival, LengthRule, Refill, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU8;
use frame::Nanos;
use frame::wire::BitRate;

/// A bus and all that is sent on it.
#[derive(Clone, Debug)]
pub struct BusSpec {
    /// Its name.
    pub name: String,
    /// Its bit rates.
    pub rate: BitRate,
    /// How lengths are found.
    pub lengths: LengthRule,
    /// The least time between two errors on the bus, ns; `None` for a bus without errors. See
    /// [`crate::window`] for what an error costs. Nodes must stay error-active: error-passive ones
    /// wait longer before they send ([`frame::wire::SUSPEND_BITS`]), which no bound here has.
    pub errors: Option<Nanos>,
    /// The mean time between errors that come at random, ns; `None` for a bus without such errors.
    /// They are in no bound: [`Compiled::misses`](crate::Compiled::misses) says how probable it is
    /// that they make a frame late.
    pub random_errors: Option<Nanos>,
    /// For how long after the start of a frame another node can still join its arbitration, ns.
    ///
    /// On a real bus a node that has just got its frame ready takes the start of frame of another
    /// one for its own: about a bit time (Davis et al. 2007, §3.1: τ_bit), and [`BusSpec::bit`]
    /// gives it. The `bus` model has 0: a frame that is ready at the very start takes part, a later
    /// one does not.
    pub joins: Nanos,
    /// Its nodes.
    pub nodes: Vec<NodeSpec>,
    /// All messages on it.
    pub messages: Vec<Message>,
}

impl BusSpec {
    /// A bit time, rounded up to a nanosecond.
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
    /// In which order it sends its frames.
    pub order: Order,
    /// How long it takes to fill a transmit buffer; of a node with [`Order::Mailboxes`]. `None`: no
    /// time, which is within the intermission.
    pub refill: Option<Refill>,
}

impl NodeSpec {
    /// A node that fills its buffers in no time.
    #[must_use]
    pub fn new(name: &str, order: Order) -> Self {
        Self {
            name: name.into(),
            order,
            refill: None,
        }
    }
}

/// In which order a node sends its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By priority: each frame that waits takes part in each arbitration, as far as the node goes.
    /// True of a node with a transmit buffer for each frame, or with a sorted queue whose best
    /// frame replaces one in a buffer at once.
    Priority,
    /// So many transmit buffers, of which the best takes part in arbitration, and a queue in order
    /// of arrival in front of them: what Linux and most drivers do. Nothing is taken back from a
    /// buffer.
    Mailboxes(NonZeroU8),
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its name, for people; may be empty.
    pub name: String,
    /// Which node sends it: an index into [`BusSpec::nodes`].
    pub node: usize,
    /// What its frames are like.
    pub shape: Shape,
    /// When they are released.
    pub arrival: Arrival,
    /// When its events are on its node's clock, ns, from 0 to before its period: event k is at
    /// offset + k · period. All messages of a node with an offset share one clock, which began at
    /// any time: [`mod@crate::offset`]. `None`: its events have any phase.
    pub offset: Option<Nanos>,
    /// The time from the event to the end of the frame that must be kept, ns.
    pub deadline: Nanos,
}

/// Why a bus cannot be bounded as it is described.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelError {
    /// A message's node is not there.
    #[error("message {message} is sent by a node that is not there")]
    NoNode {
        /// Its index.
        message: usize,
    },
    /// Nothing decides between two messages.
    #[error(
        "messages {first} and {second} have one arbitration field: nothing decides between them"
    )]
    SameField {
        /// An index.
        first: usize,
        /// Another.
        second: usize,
    },
    /// An offset that is not within the period, or of a message that has none.
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
