//! The one end that every received frame comes to.

use route::Stop;
use serde::{Deserialize, Serialize};

/// The one end that a received frame comes to.
///
/// A frame can take several routes, and a route can have several destinations, so several of
/// these can be true of one frame. The one that stands first in this list is counted: a frame
/// that got through somewhere was routed, whatever happened to its other copies (those are
/// counted by route and by destination, as copies). Below that, the order goes from the ends that
/// nobody asked for (a full queue, a port that is down) to those that the routing table asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Fate {
    /// At least one copy was accepted by a port.
    Routed = 0,
    /// A destination's queue was full.
    Refused = 1,
    /// A destination was down or out of service, or cannot carry this kind of frame.
    Undeliverable = 2,
    /// Above a route's rate limit.
    RateLimited = 3,
    /// A route with `drop` took it.
    DroppedByRule = 4,
    /// It had passed as many gateways as the table or the route allows.
    HopLimit = 5,
    /// A route's modification made it longer than its kind can be (can-gw's "deleted").
    TooLong = 6,
    /// A route moved its ID to a number that its frame format cannot have.
    IdRange = 7,
    /// No route took it.
    NoRoute = 8,
}

impl Fate {
    /// All of them, highest precedence first.
    pub const ALL: [Self; 9] = [
        Self::Routed,
        Self::Refused,
        Self::Undeliverable,
        Self::RateLimited,
        Self::DroppedByRule,
        Self::HopLimit,
        Self::TooLong,
        Self::IdRange,
        Self::NoRoute,
    ];
}

impl From<Stop> for Fate {
    fn from(why: Stop) -> Self {
        match why {
            Stop::DropRule => Self::DroppedByRule,
            Stop::RateLimit => Self::RateLimited,
            Stop::HopLimit => Self::HopLimit,
            Stop::TooLong => Self::TooLong,
            Stop::IdRange => Self::IdRange,
        }
    }
}

/// The ends that parts of one frame came to so far: one bit each, the highest precedence lowest.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) const fn mark(&mut self, fate: Fate) {
        self.0 |= 1 << fate as u8;
    }

    /// The frame's one fate.
    pub(crate) const fn fate(self) -> Fate {
        let first = self.0.trailing_zeros() as usize;
        if first < Fate::ALL.len() {
            Fate::ALL[first]
        } else {
            Fate::NoRoute
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_marked_is_no_route() {
        assert_eq!(Marks::default().fate(), Fate::NoRoute);
    }

    #[test]
    fn of_two_ends_the_first_in_the_list_counts() {
        for (i, &a) in Fate::ALL.iter().enumerate() {
            for &b in &Fate::ALL[i..] {
                let mut marks = Marks::default();
                marks.mark(b);
                marks.mark(a);
                assert_eq!(marks.fate(), a);
            }
        }
    }
}
