//! Events that a bus reports.

use crate::NodeId;
use crate::fault::ErrorKind;
use crate::node::{Node, SendingNode};
use core::fmt;
use frame::{ErrorState, Frame, Nanos};

/// The reason why a frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropReason {
    /// The only attempt of a one-shot node failed, or it lost the arbitration.
    OneShot,
    /// The node went bus-off while the frame waited, or was bus-off when it fell due.
    BusOff,
    /// The queue was full when the frame fell due.
    QueueFull,
}

/// An event on the bus. Events come in order of their time: [`NodeEvent::at`].
///
/// Of the events whose intervals on the bus overlap, exactly one is `primary`: the intervals of
/// primary events never overlap. Other events occur only where several nodes send one identifier
/// at once.
#[derive(Clone, Copy, Debug)]
pub enum NodeEvent<'a> {
    /// A frame was sent and acknowledged. Reported at its end.
    Frame {
        /// Start of frame, ns.
        start: Nanos,
        /// End of frame: the end of its seventh recessive bit, before the intermission, ns.
        end: Nanos,
        /// The node that sent it.
        node: NodeId,
        /// The tag that was passed to [`crate::Bus::send`].
        tag: u64,
        /// Time at which it became ready, ns.
        ready: Nanos,
        /// Attempts it took, this one included. A lost arbitration is not an attempt.
        attempts: u32,
        /// False where another node sent the very same bits at the same time and has the
        /// primary event; then no node receives it a second time.
        primary: bool,
        /// The frame as it was on the wire (ESI as sent).
        frame: &'a Frame,
        /// The nodes that received it.
        receivers: ReceiverSet<'a>,
    },
    /// An attempt failed. Reported when the error is detected.
    Error {
        /// Start of frame, ns.
        start: Nanos,
        /// Time at which the error was detected: the end of the bit, ns.
        at: Nanos,
        /// End of the error delimiter, before the intermission, ns; not before `at`.
        end: Nanos,
        /// The node that was sending.
        node: NodeId,
        /// The node that raised the error flag that ended the attempt.
        by: NodeId,
        /// The tag that was passed to [`crate::Bus::send`].
        tag: u64,
        /// The error that the node `by` detected.
        kind: ErrorKind,
        /// False where another node has the primary event for this time on the bus.
        primary: bool,
        /// The frame.
        frame: &'a Frame,
    },
    /// A node's fault confinement state changed.
    State {
        /// Time of the event, ns.
        at: Nanos,
        /// The node concerned.
        node: NodeId,
        /// Its new state.
        state: ErrorState,
    },
    /// A node dropped an accepted frame.
    Dropped {
        /// Time of the event, ns.
        at: Nanos,
        /// The node concerned.
        node: NodeId,
        /// The tag that was passed to [`crate::Bus::send`].
        tag: u64,
        /// The reason.
        why: DropReason,
        /// The frame.
        frame: &'a Frame,
    },
}

impl NodeEvent<'_> {
    /// Returns the time of the event: the end of a frame, the detection of an error.
    #[must_use]
    pub const fn at(&self) -> Nanos {
        match *self {
            Self::Frame { end, .. } => end,
            Self::Error { at, .. } | Self::State { at, .. } | Self::Dropped { at, .. } => at,
        }
    }
}

/// The nodes that received a frame.
#[derive(Clone, Copy)]
pub struct ReceiverSet<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) senders: &'a [SendingNode],
    /// Nodes that lost the frame to an error of their own.
    pub(crate) deaf: &'a [usize],
    pub(crate) start: Nanos,
    /// Only the primary event of a frame has receivers.
    pub(crate) primary: bool,
}

impl ReceiverSet<'_> {
    /// Returns whether this node received the frame. The sender does not.
    #[must_use]
    pub fn receives(&self, node: NodeId) -> bool {
        let i = usize::from(node.0);
        self.primary
            && !self.senders.iter().any(|s| s.node == i)
            && !self.deaf.contains(&i)
            && self.nodes.get(i).is_some_and(|n| n.on_bus(self.start))
    }

    /// Returns all nodes that received the frame, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..=u16::MAX)
            .take(self.nodes.len())
            .map(NodeId)
            .filter(|&id| self.receives(id))
    }
}

impl fmt::Debug for ReceiverSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|n| n.0)).finish()
    }
}
