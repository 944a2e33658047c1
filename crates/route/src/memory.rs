//! The state that a table keeps between frames, and its working space.

use crate::{index::RouteCursor, limit::RouteBuckets, protection::ProtectionState};
use alloc::{boxed::Box, vec::Vec};
use frame::{FrameBuf, Nanos};

/// Maximum backward step of the clock that is explained by frames of several ports which arrive out
/// of order. A larger step means that the clock was set.
const DISORDER: Nanos = 1_000_000_000;

/// The state that a table keeps between frames: the usage of its rate limits, and working space.
/// [`crate::RoutingTable::memory`] creates it and allocates everything at once; there is no
/// allocation after that. Each thread that decides has its own.
#[derive(Clone, Debug)]
pub struct TableMemory {
    pub(crate) buckets: Vec<RouteBuckets>,
    pub(crate) cursors: Vec<RouteCursor>,
    pub(crate) protections: Vec<ProtectionState>,
    pub(crate) frame: Box<FrameBuf>,
    /// The copy that gets its protection. Apart from `frame`, from which it is made.
    protected: Box<FrameBuf>,
    clock: Nanos,
}

impl TableMemory {
    pub(crate) fn new(
        buckets: Vec<RouteBuckets>,
        cursors: usize,
        protections: Vec<ProtectionState>,
    ) -> Self {
        Self {
            buckets,
            cursors: Vec::with_capacity(cursors),
            protections,
            frame: Box::default(),
            protected: Box::default(),
            clock: 0,
        }
    }

    /// Returns the parts that are needed at the same time.
    pub(crate) fn parts(&mut self) -> (&mut Vec<RouteCursor>, RouteWork<'_>) {
        let work = RouteWork {
            buckets: &mut self.buckets,
            protections: &mut self.protections,
            frame: &mut self.frame,
            protected: &mut self.protected,
            clock: &mut self.clock,
        };
        (&mut self.cursors, work)
    }
}

/// The parts that are needed after a route has been found.
pub(crate) struct RouteWork<'a> {
    pub(crate) buckets: &'a mut [RouteBuckets],
    pub(crate) protections: &'a mut [ProtectionState],
    pub(crate) frame: &'a mut FrameBuf,
    pub(crate) protected: &'a mut FrameBuf,
    clock: &'a mut Nanos,
}

impl RouteWork<'_> {
    /// Returns the time for rate limits. Small backward steps count as zero time, so that they do
    /// not allow extra frames; after a large one, time continues from the new value.
    pub(crate) fn advance(&mut self, now: Nanos) -> Nanos {
        if now > *self.clock || *self.clock - now > DISORDER {
            *self.clock = now;
        }
        *self.clock
    }
}
