//! Faults that were injected on purpose.

crate::definition::counters! {
    /// Number of faults injected on purpose on one half of a port
    /// ([`wrap::Faulty`](crate::wrap::FaultyHalf)).
    FaultCounters {
        /// Frames that were dropped. A receiving half never handed them over; on the transmitting
        /// half they are also among the [lost](crate::TxCounters::lost).
        dropped;
        /// Second frames, after those that were duplicated. A receiving half handed them over as
        /// further frames; on the transmitting half they are sent, lost or held like others, but
        /// were not given to the port.
        duplicated;
        /// Frames with a changed bit.
        corrupted;
        /// Frames that a transmitting half refused although it had room.
        refused;
    }
}

impl FaultCounters {
    /// Returns whether there were no faults.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
