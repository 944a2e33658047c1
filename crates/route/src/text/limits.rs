//! The limits that the other keys of a route impose on its texts.

use super::message::RouteMessage;
use crate::KindSet;

/// Facts for a text that the other keys of a route determine.
#[derive(Clone, Copy)]
pub(crate) struct FrameLimits<'m> {
    pub(crate) kinds: KindSet,
    /// Maximum number of payload bytes.
    pub(crate) payload: usize,
    /// The message whose signals the text can name.
    pub(crate) message: RouteMessage<'m>,
}
