//! Halves around halves: [`Tapped`] shows what passes, [`Faulty`] drops, duplicates, changes and
//! refuses frames by a seed.
//!
//! Both wrap a receiving or a transmitting half and are one themselves.

mod faulty;
mod tapped;

pub use faulty::{Chances, ChancesError, Faulty};
pub use tapped::{Tap, Tapped};
