//! A quick run, or the full one.

/// How much is made for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Few frames, one kernel.
    Quick,
    /// As the papers did.
    Full,
}

impl Extent {
    /// Of two values the one for this extent.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}
