//! What a bus reports.

use crate::{NodeId, bus::Sender, fault::ErrorKind, node::Node};
use core::fmt;
use frame::{Frame, Nanos};

/// The fault confinement state of a node (ISO 11898-1, fault confinement), with the warning level
/// that controllers report in between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ErrorState {
    /// Error-active, both counters below 96.
    Active,
    /// Error-active, a counter at 96 or more.
    Warning,
    /// A counter at 128 or more.
    Passive,
    /// TEC at 256 or more: the node is off the bus.
    BusOff,
}

/// Why a frame was given up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropReason {
    /// The only attempt of a one-shot node failed, or it lost the arbitration.
    OneShot,
    /// The node went bus-off while the frame waited, or was bus-off when it fell due.
    BusOff,
    /// The queue was full when the frame fell due.
    QueueFull,
}

/// Something that happened. Events come in order of their time: [`Event::at`].
///
/// Of the events whose intervals on the bus share a time, exactly one is `primary`: the
/// intervals of primary events never overlap. Others occur only where several nodes send one
/// identifier at once.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A frame was sent and acknowledged. Reported at its end.
    Frame {
        /// Start of frame, ns.
        start: Nanos,
        /// End of frame: the end of its seventh recessive bit, before the intermission, ns.
        end: Nanos,
        /// Who sent it.
        node: NodeId,
        /// What was passed to [`crate::Bus::send`].
        tag: u64,
        /// When it became ready, ns.
        ready: Nanos,
        /// Attempts it took, this one included. A lost arbitration is no attempt.
        attempts: u32,
        /// False where another node sent the very same bits at the same time and has the
        /// primary event; then nobody receives it a second time.
        primary: bool,
        /// The frame as it was on the wire (ESI as sent).
        frame: &'a Frame,
        /// Who received it.
        receivers: Receivers<'a>,
    },
    /// An attempt failed. Reported when the error is detected.
    Error {
        /// Start of frame, ns.
        start: Nanos,
        /// When the error was detected: the end of the bit, ns.
        at: Nanos,
        /// End of the error delimiter, before the intermission, ns; not before `at`.
        end: Nanos,
        /// Who was sending.
        node: NodeId,
        /// Who raised the error flag that ended the attempt.
        by: NodeId,
        /// What was passed to [`crate::Bus::send`].
        tag: u64,
        /// What that node detected.
        kind: ErrorKind,
        /// False where another node has the primary event for this time on the bus.
        primary: bool,
        /// The frame.
        frame: &'a Frame,
    },
    /// A node's fault confinement state changed.
    State {
        /// When, ns.
        at: Nanos,
        /// Which node.
        node: NodeId,
        /// Its state from now on.
        state: ErrorState,
    },
    /// An accepted frame was given up.
    Dropped {
        /// When, ns.
        at: Nanos,
        /// Which node.
        node: NodeId,
        /// What was passed to [`crate::Bus::send`].
        tag: u64,
        /// Why.
        why: DropReason,
        /// The frame.
        frame: &'a Frame,
    },
}

impl Event<'_> {
    /// When it happened: the end of a frame, the detection of an error.
    #[must_use]
    pub const fn at(&self) -> Nanos {
        match *self {
            Self::Frame { end, .. } => end,
            Self::Error { at, .. } | Self::State { at, .. } | Self::Dropped { at, .. } => at,
        }
    }
}

/// Who received a frame.
#[derive(Clone, Copy)]
pub struct Receivers<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) senders: &'a [Sender],
    /// Nodes that lost the frame to an error of their own.
    pub(crate) deaf: &'a [usize],
    pub(crate) start: Nanos,
    /// Only the primary event of a frame has receivers.
    pub(crate) primary: bool,
}

impl Receivers<'_> {
    /// Did this node receive it? The sender does not.
    #[must_use]
    pub fn receives(&self, node: NodeId) -> bool {
        let i = usize::from(node.0);
        self.primary
            && !self.senders.iter().any(|s| s.node == i)
            && !self.deaf.contains(&i)
            && self.nodes.get(i).is_some_and(|n| n.on_bus(self.start))
    }

    /// All that received it, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..=u16::MAX)
            .take(self.nodes.len())
            .map(NodeId)
            .filter(|&id| self.receives(id))
    }
}

impl fmt::Debug for Receivers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|n| n.0)).finish()
    }
}
