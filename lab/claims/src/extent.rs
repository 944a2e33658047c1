//! A quick run, or the full one.

/// The extent of the measurements made for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Few frames, one kernel.
    Quick,
    /// The extent of the papers.
    Full,
}

impl Extent {
    /// Returns the one of two values that applies to this extent.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}
