//! Frames between two machines, or two processes, in memory that they share.
//!
//! The memory is that of QEMU's device `ivshmem-doorbell`, or a file descriptor between processes.
//! Exactly two sides use it. Each has a block of words that only it writes, and a ring of frames
//! for the other side.
//! for the other one.
//!
//! * [`ShmRings`]: one side. Nothing that the other side writes is trusted: each value is read
//!   once, checked, and bounded.
//! * [`layout`]: the layout of the memory.
//! * [`link`]: the exchange of the memory and the doorbells between two processes, or two machines'
//!   monitors: both ends of the protocol of QEMU's ivshmem server (QEMU,
//!   `docs/specs/ivshmem-spec.rst`).
//!
//! # Sessions
//! Either side may die at any moment, and return. At each start a side takes a number, its *life*.
//! Both lives make the number of the *session*, and every count in the memory includes the session
//! to which it belongs. So no cleanup is needed after a side that died, and the frames in a ring
//! for a dead side are not read any more. Their sender counts them as lost.
//!
//! A side that ends without notice stops beating: [`BEAT`] is the interval at which a side updates
//! its beat, [`SILENT`] the time without a beat after which it is taken to be gone. If it only
//! slept (a paused machine), the session continues where it was.
//!
//! # Doorbells
//! A side that is about to wait announces what it waits for ([`ShmRings::arm`]). Only then the
//! other side rings. So a ring that is never empty needs no doorbell, and one frame after a pause
//! needs one.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod layout;
pub mod link;
mod rings;

pub use layout::ShmSide;
pub use rings::{ArmResult, BEAT, NotSent, PeerLink, RingCounters, SILENT, ShmRings, TooSmall};

/// Memory that is also written by another process or machine. Words are at multiples of 8 bytes; a
/// word outside of the memory reads as 0, and writes to it have no effect.
pub trait SharedWords {
    /// Returns the size in bytes.
    fn len(&self) -> usize;
    /// Returns whether the size is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads a word. Later reads see everything that was written before it (acquire).
    fn get(&self, at: usize) -> u64;
    /// Writes a word. A reader of it sees everything that was written before it (release).
    fn set(&self, at: usize, word: u64);
    /// Makes all earlier writes visible to others before any later read (sequentially consistent).
    fn fence(&self);
}

impl SharedWords for linux::shared::SharedMapping {
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
