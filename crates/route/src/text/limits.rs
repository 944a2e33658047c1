//! The limits that a route's kinds of frame impose on its texts.

use crate::KindSet;

/// The limits that the kinds of frame of a route impose.
#[derive(Clone, Copy)]
pub(crate) struct FrameLimits {
    pub(crate) kinds: KindSet,
    /// Maximum number of payload bytes.
    pub(crate) payload: usize,
}
