//! The interface to the ways in which a port gets its memory and its doorbells.

use frame::Nanos;
use linux::shared::SharedMapping;
use shm::ShmSide;
use std::os::fd::RawFd;

/// Memory that a port has got, and the port's side of it.
pub(super) struct AttachedMemory {
    pub(super) side: ShmSide,
    pub(super) memory: SharedMapping,
}

/// Access to the memory and to the other side's doorbell.
pub(super) trait MemoryAttachment: Send {
    /// Returns the descriptor to wait for; it is readable when [`take`](Self::take) has something
    /// to do. `None` if this side has no doorbell: it checks from time to time.
    fn fd(&self) -> Option<RawFd>;

    /// Acknowledges the doorbell. Returns memory if there is some that was not there before.
    fn take(&mut self, now: Nanos, in_use: bool) -> Option<AttachedMemory>;

    /// Rings the other side's doorbell.
    fn ring(&self);

    /// Returns the latest time of the next call of [`take`](Self::take).
    fn deadline(&self) -> Option<Nanos>;

    /// Returns the messages for the user since the last call.
    fn remarks(&mut self) -> Vec<String>;
}
