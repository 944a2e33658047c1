//! How a port has got its memory and its doorbells.

use frame::Nanos;
use linux::shared::Shared;
use shm::Side;
use std::os::fd::RawFd;

/// Memory, and whose.
pub(super) struct Got {
    pub(super) side: Side,
    pub(super) memory: Shared,
}

/// A way to the memory and to the other side's doorbell.
pub(super) trait Attached: Send {
    /// What to wait for; readable when [`take`](Self::take) has something to do. `None` where
    /// nothing rings this side: it looks from time to time.
    fn fd(&self) -> Option<RawFd>;

    /// Takes note of the doorbell. Gives memory where there is some that was not there before.
    fn take(&mut self, now: Nanos, in_use: bool) -> Option<Got>;

    /// Rings the other side's doorbell.
    fn ring(&self);

    /// When [`take`](Self::take) is to be called at the latest.
    fn deadline(&self) -> Option<Nanos>;

    /// Sentences for a user since the last call.
    fn remarks(&mut self) -> Vec<String>;
}
