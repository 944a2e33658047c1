//! What a route's kinds of frame allow its texts to say.

use crate::KindSet;

/// What the kinds of frame of a route allow.
#[derive(Clone, Copy)]
pub(crate) struct FrameLimits {
    pub(crate) kinds: KindSet,
    /// Bytes of payload.
    pub(crate) payload: usize,
}
