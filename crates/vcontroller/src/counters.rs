//! What became of what a function asked for, and of what it was to receive.

/// The counts of one function, since it was made; a reset does not clear them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that it asked to send.
    pub requested: u64,
    /// Of these: taken into its queue.
    pub accepted: u64,
    /// Refused: the queue had no room.
    pub full: u64,
    /// Refused: not an identifier that it may send.
    pub not_permitted: u64,
    /// Refused: no frame that this controller can send.
    pub unsupported: u64,
    /// Refused: stopped, listening only, or bus-off.
    pub down: u64,
    /// Of the accepted: sent and acknowledged.
    pub sent: u64,
    /// Taken back by the function.
    pub aborted: u64,
    /// Given up by bus-off, or when the PF took the controller off the bus.
    pub dropped: u64,
    /// Given up by the function's own reset or stop.
    pub reset: u64,
    /// Attempts on the wire.
    pub attempts: u64,
    /// Frames of others that its rights let it receive, while it was started.
    pub heard: u64,
    /// Of these: put into its FIFO.
    pub received: u64,
    /// The FIFO had no room.
    pub overrun: u64,
    /// Of the received: read by it.
    pub read: u64,
    /// Thrown away by its reset.
    pub discarded: u64,
}

/// Counts that do not add up: a mistake in this crate.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{what}: {left} against {right}")]
pub struct Imbalance {
    /// What must hold.
    pub what: &'static str,
    /// One side.
    pub left: u64,
    /// The other.
    pub right: u64,
}

impl Counters {
    /// Do the sums add up? `waiting`: frames in the queue without a fate; `unread`: in the FIFO.
    ///
    /// # Errors
    /// The first sum that does not.
    pub fn check(&self, waiting: u64, unread: u64) -> Result<(), Imbalance> {
        let refused = self.full + self.not_permitted + self.unsupported + self.down;
        let ended = self.sent + self.aborted + self.dropped + self.reset;
        for (what, left, right) in [
            (
                "requested = accepted + refused",
                self.requested,
                self.accepted + refused,
            ),
            (
                "accepted = sent + aborted + dropped + reset + waiting",
                self.accepted,
                ended + waiting,
            ),
            (
                "heard = received + overrun",
                self.heard,
                self.received + self.overrun,
            ),
            (
                "received = read + discarded + unread",
                self.received,
                self.read + self.discarded + unread,
            ),
        ] {
            if left != right {
                return Err(Imbalance { what, left, right });
            }
        }
        Ok(())
    }
}
