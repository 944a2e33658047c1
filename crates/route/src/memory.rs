//! What a table has to remember between frames, and its working space.

use crate::{index::Cursor, limit::Buckets};
use alloc::{boxed::Box, vec::Vec};
use frame::{FrameBuf, Nanos};

/// How far the clock may go back and still be taken for frames of several ports that came out
/// of order. Beyond, the clock was set.
const DISORDER: Nanos = 1_000_000_000;

/// What a table has to remember between frames: how far its rate limits are used up, and
/// working space. Made by [`crate::Table::memory`], all at once; nothing is allocated after
/// that. One for each thread that decides.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) buckets: Vec<Buckets>,
    pub(crate) cursors: Vec<Cursor>,
    pub(crate) frame: Box<FrameBuf>,
    clock: Nanos,
}

impl Memory {
    pub(crate) fn new(buckets: Vec<Buckets>, cursors: usize) -> Self {
        Self {
            buckets,
            cursors: Vec::with_capacity(cursors),
            frame: Box::default(),
            clock: 0,
        }
    }

    /// Parts that are needed at the same time.
    pub(crate) fn parts(&mut self) -> (&mut Vec<Cursor>, Work<'_>) {
        let work = Work {
            buckets: &mut self.buckets,
            frame: &mut self.frame,
            clock: &mut self.clock,
        };
        (&mut self.cursors, work)
    }
}

/// What is needed when a route has been found.
pub(crate) struct Work<'a> {
    pub(crate) buckets: &'a mut [Buckets],
    pub(crate) frame: &'a mut FrameBuf,
    clock: &'a mut Nanos,
}

impl Work<'_> {
    /// The time for rate limits: small steps back count as no time at all, so that they give
    /// no frames away; a large one is a new time.
    pub(crate) fn advance(&mut self, now: Nanos) -> Nanos {
        if now > *self.clock || *self.clock - now > DISORDER {
            *self.clock = now;
        }
        *self.clock
    }
}
