//! What is counted.

/// Of one device, since it was made. Frames of the machine: `taken = acknowledged + refused +
/// abandoned` and those that are under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that the machine sent and that were handed over.
    pub taken: u64,
    /// Of these: those whose end was reported as good.
    pub acknowledged: u64,
    /// Of these: those whose end was reported as bad.
    pub refused: u64,
    /// Of these: those that were not finished when the queues were taken away.
    pub abandoned: u64,
    /// Frames that the machine sent while its controller was stopped or bus-off: reported as bad.
    pub not_started: u64,
    /// What the machine put into its transmit queue that is no frame, or none of a kind that was
    /// agreed on: reported as bad.
    pub malformed: u64,
    /// Frames that the machine got.
    pub given: u64,
    /// Buffers of the machine that were too small for the frame, which is lost.
    pub too_small: u64,
    /// How often a queue made no sense, and was left alone from then on.
    pub broken: u64,
    /// Machines that came.
    pub connections: u64,
}
