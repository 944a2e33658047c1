//! The progress of a run.

/// The progress of a run: ns of bus time, or bytes of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoProgress {
    /// The part that is done.
    pub done: u64,
    /// The total; 0 if it is not known.
    pub of: u64,
}
