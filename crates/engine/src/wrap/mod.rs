//! Halves around halves: [`TappedHalf`] shows the passing frames, [`FaultyHalf`] drops, duplicates,
//! changes and refuses frames by a seed. Both wrap a receiving or a transmitting half and are such
//! a half themselves. [`QueuedTransmitter`] is a queue in front of a transmitting half.

mod faulty;
mod queued;
mod tapped;

pub use faulty::{ChancesError, FaultChances, FaultyHalf};
pub use queued::{GivenUp, QueueOrder, QueueRules, QueuedTransmitter, WhenFull, Witness};
pub use tapped::{HalfTap, TappedHalf};
