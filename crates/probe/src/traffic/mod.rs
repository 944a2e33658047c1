//! Frames with the times at which they become ready to be sent, and the [`TrafficPattern`]s by
//! which such traffic is requested.

mod pattern;
mod payload;
mod plain;
mod sae;
mod schedule;
mod template;

pub use pattern::{
    LOADS, LONGEST_PAYLOAD, MOST_FRAMES, PERIODS, PatternError, SHORTEST_PAYLOAD, TrafficPattern,
};
pub use payload::{PayloadMaker, number_in};
pub use plain::{FloodTraffic, OneAtATime, PeriodicTraffic};
pub use sae::{SAE_CLASS_C_NODES, sae_class_c};
pub use schedule::{MessageSet, ScheduleError, SetMessage, SetSchedule};
pub use template::{FrameTemplate, IdRangeError, period_for_load};

use frame::{Frame, Nanos};

/// A frame that becomes ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficRelease {
    /// The time at which it is passed to its node, ns. A node with a full queue accepts it as soon
    /// as there is space.
    pub at: Nanos,
    /// The node of the traffic that sends it, from 0.
    pub node: u16,
    /// The frame.
    pub frame: Frame,
    /// The release's number, counted from 0 in the order of [`TrafficSource::next`]; it accompanies
    /// the frame through everything that keeps tags or tokens.
    pub tag: u64,
}

/// A source of frames. Times never decrease from one release to the next.
pub trait TrafficSource {
    /// Returns the next frame, or `None`: for ever where [`TrafficSource::waits_until`] is `None`
    /// too, else until [`TrafficSource::delivered`] or [`TrafficSource::expire`] was called.
    fn next(&mut self) -> Option<TrafficRelease>;

    /// Notifies the source that the frame with this tag arrived at its destination at `at`. Only
    /// traffic that waits for its own frames uses it.
    fn delivered(&mut self, _tag: u64, _at: Nanos) {}

    /// Returns the time at which the source stops waiting for the frame that it sent last; `None`
    /// when it does not wait.
    fn waits_until(&self) -> Option<Nanos> {
        None
    }

    /// Notifies the source that the time is `now`: if its [`TrafficSource::waits_until`] has been
    /// reached, it continues.
    fn expire(&mut self, _now: Nanos) {}
}

impl<T: TrafficSource + ?Sized> TrafficSource for Box<T> {
    fn next(&mut self) -> Option<TrafficRelease> {
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
