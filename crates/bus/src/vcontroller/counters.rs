//! Counters of a function's requests and receptions.

/// The counters of one function since its creation; a reset does not clear them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FunctionCounters {
    /// Frames that it requested to send.
    pub requested: u64,
    /// Requested frames that were taken into its queue.
    pub accepted: u64,
    /// Frames that were refused, because the queue had no room.
    pub full: u64,
    /// Frames that were refused, because the function may not send the identifier.
    pub not_permitted: u64,
    /// Frames that were refused, because this controller cannot send them.
    pub unsupported: u64,
    /// Frames that were refused, because the function was stopped or in listen-only mode, or the
    /// controller was not on the bus.
    pub down: u64,
    /// Accepted frames that were sent and acknowledged.
    pub sent: u64,
    /// Accepted frames that the function withdrew.
    pub aborted: u64,
    /// Accepted frames that were given up at bus-off, when the PF took the controller off the bus,
    /// or because the function lost the right to send them.
    pub dropped: u64,
    /// Accepted frames that were given up by the function's own reset or stop.
    pub reset: u64,
    /// Attempts on the wire.
    pub attempts: u64,
    /// Frames of others that its rights let it receive, while it was started.
    pub heard: u64,
    /// Frames of `heard` that were put into its FIFO.
    pub received: u64,
    /// Frames of `heard` for which the FIFO had no room.
    pub overrun: u64,
    /// Received frames that the function has read.
    pub read: u64,
    /// Received frames that its reset discarded.
    pub discarded: u64,
}

/// The error that counters do not add up: a bug in this crate.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{what}: {left} against {right}")]
pub struct FunctionImbalance {
    /// The equation that must hold.
    pub what: &'static str,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

impl FunctionCounters {
    /// Checks that the sums add up. `waiting`: frames in the queue without a fate; `unread`: frames
    /// in the FIFO.
    ///
    /// # Errors
    /// The first sum that does not add up.
    pub fn check(&self, waiting: u64, unread: u64) -> Result<(), FunctionImbalance> {
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
                return Err(FunctionImbalance { what, left, right });
            }
        }
        Ok(())
    }
}
