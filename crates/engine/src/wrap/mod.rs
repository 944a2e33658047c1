//! Halves around halves: [`Traced`] writes down what passes, [`Faulty`] loses, doubles, changes
//! and refuses frames by a seed.
//!
//! Both wrap a receiving or a transmitting half and are one themselves.

mod faulty;
mod traced;

pub use faulty::{Chances, ChancesError, FaultCounters, Faulty};
pub use traced::Traced;
