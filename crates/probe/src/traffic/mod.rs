//! Frames with the times at which they become ready to be sent, and the [`Pattern`]s by which such
//! traffic is asked for.

mod pattern;
mod payload;
mod plain;
mod replay;
mod sae;
mod schedule;
mod template;

pub use pattern::{
    LOADS, LONGEST_PAYLOAD, MOST_FRAMES, PERIODS, Pattern, PatternError, SHORTEST_PAYLOAD,
};
pub use payload::{Payload, number_in};
pub use plain::{Flood, OneAtATime, Periodic};
pub use replay::Replay;
pub use sae::{SAE_CLASS_C_NODES, sae_class_c};
pub use schedule::{Message, MessageSet, Schedule, ScheduleError};
pub use template::{IdRangeError, Template, period_for_load};

use frame::{Frame, Nanos};

/// A frame that becomes ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it is handed to its node, ns. A node that has no room takes it as soon as it has.
    pub at: Nanos,
    /// Which of the traffic's nodes sends it, from 0.
    pub node: u16,
    /// The frame.
    pub frame: Frame,
    /// The release's number, counted from 0 in the order of [`Traffic::next`]; follows the frame
    /// through everything that keeps tags or tokens.
    pub tag: u64,
}

/// A source of frames. Times never go back from one release to the next.
pub trait Traffic {
    /// The next frame, or `None`: for ever where [`Traffic::waits_until`] is `None` too, else
    /// until [`Traffic::delivered`] or [`Traffic::expire`] was called.
    fn next(&mut self) -> Option<Release>;

    /// The frame with this tag arrived at its destination at `at`. Only traffic that waits for
    /// its own frames listens.
    fn delivered(&mut self, _tag: u64, _at: Nanos) {}

    /// When the source stops waiting for the frame that it sent last; `None` when it does not
    /// wait.
    fn waits_until(&self) -> Option<Nanos> {
        None
    }

    /// Time is `now`: a source whose [`Traffic::waits_until`] has been reached goes on.
    fn expire(&mut self, _now: Nanos) {}
}

impl<T: Traffic + ?Sized> Traffic for Box<T> {
    fn next(&mut self) -> Option<Release> {
        (**self).next()
    }

    fn delivered(&mut self, tag: u64, at: Nanos) {
        (**self).delivered(tag, at);
    }

    fn waits_until(&self) -> Option<Nanos> {
        (**self).waits_until()
    }

    fn expire(&mut self, now: Nanos) {
        (**self).expire(now);
    }
}
