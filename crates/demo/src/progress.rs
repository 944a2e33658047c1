//! How far a run is.

/// How far a run is: ns of bus time, or bytes of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// Of how much; 0 where that is not known.
    pub of: u64,
}
