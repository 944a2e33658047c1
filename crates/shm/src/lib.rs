//! Frames between two machines, or two processes, in memory that they share.
//!
//! The memory is that of QEMU's device `ivshmem-doorbell`, or a file descriptor between processes.
//! Exactly two sides use it. Each has a block of words that only it writes, and a ring of frames
//! for the other one.
//!
//! * [`Rings`]: one side. Nothing that the other side writes is believed: what is read is read
//!   once, checked, and bounded.
//! * [`layout`]: where what is.
//! * [`link`]: how two processes, or two machines' monitors, get the memory and each other's
//!   doorbells: the protocol of QEMU's ivshmem server (QEMU, `docs/specs/ivshmem-spec.rst`), both
//!   ends of it.
//!
//! # Sessions
//! Either side may die at any moment, and return. At each start a side takes a number, its *life*.
//! Both lives make the number of the *session*, and every count in the memory names the session
//! that it belongs to. So nobody has to clean up behind a side that died, and what was in a ring
//! for a dead side is read by nobody. Its sender counts it as lost.
//!
//! A side that cannot say goodbye stops beating: [`BEAT`] is how often a side says that it is
//! there, [`SILENT`] after which time it is taken for gone. If it only slept (a paused machine),
//! the session goes on where it was.
//!
//! # Doorbells
//! A side that is about to wait says what for ([`Rings::arm`]). Only then the other one rings. So a
//! ring that is never empty needs no doorbell, and one frame after a pause needs one.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod layout;
pub mod link;
mod rings;

pub use layout::Side;
pub use rings::{Armed, BEAT, Counters, Link, NotSent, Rings, SILENT, TooSmall};

/// Memory that somebody else writes, too. Words lie at multiples of 8 bytes; one that does not lie
/// within the memory reads 0 and takes nothing.
pub trait Words {
    /// Bytes.
    fn len(&self) -> usize;
    /// Is there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads a word. Whatever was written before it is seen by later reads (acquire).
    fn get(&self, at: usize) -> u64;
    /// Writes a word. Whoever sees it sees all that was written before (release).
    fn set(&self, at: usize, word: u64);
    /// What was written before is seen by others before anything is read after (sequentially
    /// consistent).
    fn fence(&self);
}

impl Words for linux::shared::Shared {
    fn len(&self) -> usize {
        Self::len(self)
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        u64::from_le(Self::get(self, at))
    }

    #[inline]
    fn set(&self, at: usize, word: u64) {
        Self::set(self, at, word.to_le());
    }

    #[inline]
    fn fence(&self) {
        Self::fence(self);
    }
}
