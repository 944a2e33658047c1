//! A message with its lengths.

use crate::train::FrameSource;
use crate::{Arrival, FrameBits};
use frame::Nanos;

/// A message of a [`CompiledBus`](crate::CompiledBus), with its lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentMessage {
    pub(crate) node: usize,
    /// Its arbitration field: the lower one wins.
    pub(crate) key: u64,
    pub(crate) bits: FrameBits,
    /// Time to the end of frame, ns.
    pub(crate) frame: Nanos,
    /// Time to the end of the intermission, ns.
    pub(crate) occupied: Nanos,
    /// Time of the shortest frame of the message, to the end of frame, ns.
    pub(crate) shortest: Nanos,
    /// The arrival as specified for the message; a gateway upstream of it may add to it.
    pub(crate) arrival: Arrival,
    /// Its offset on its node's clock, if the analysis uses it: [`mod@crate::offset`].
    pub(crate) offset: Option<Nanos>,
    /// The previous bus, if the message comes from one.
    pub(crate) source: Option<FrameSource>,
}
