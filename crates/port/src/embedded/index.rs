//! The number of a bus.

/// A bus of a [`BusWorld`](super::BusWorld).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BusIndex(pub usize);
