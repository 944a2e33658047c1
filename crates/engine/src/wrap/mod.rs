//! Halves around halves: [`Tapped`] shows the passing frames, [`Faulty`] drops, duplicates, changes
//! and refuses frames by a seed. Both wrap a receiving or a transmitting half and are such a half
//! themselves. [`Queued`] is a queue in front of a transmitting half.

mod faulty;
mod queued;
mod tapped;

pub use faulty::{Chances, ChancesError, Faulty};
pub use queued::{GivenUp, Order, Queued, Rules, WhenFull, Witness};
pub use tapped::{Tap, Tapped};
