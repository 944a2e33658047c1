//! The place of a message.

/// A message of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessagePlace {
    /// An index into [`crate::Network::buses`].
    pub bus: usize,
    /// An index into [`crate::BusSpec::messages`].
    pub message: usize,
}
