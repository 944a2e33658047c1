//! Counters of a device.

/// Counters of one device since its creation. For frames of the machine: `taken = acknowledged +
/// refused + abandoned` plus those that are under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceCounters {
    /// Frames that the machine sent and that were handed over.
    pub taken: u64,
    /// Taken frames that ended well, as reported to the machine.
    pub acknowledged: u64,
    /// Taken frames that failed, as reported to the machine.
    pub refused: u64,
    /// Taken frames that were not finished when the queues were taken away.
    pub abandoned: u64,
    /// Frames that the machine sent while its controller was stopped or bus-off: reported as
    /// failed.
    pub not_started: u64,
    /// Buffers in the machine's transmit queue that do not contain a valid frame of a negotiated
    /// kind: reported as failed.
    pub malformed: u64,
    /// Frames that were passed to the machine.
    pub given: u64,
    /// Buffers of the machine that were too small for a frame.
    pub too_small: u64,
    /// Number of times that a queue was found invalid, and was not used from then on.
    pub broken: u64,
    /// Machines that connected.
    pub connections: u64,
}
