//! What goes into a decision and what comes out.

use crate::{Mode, PortId, RouteId};
use core::fmt;
use frame::{FrameRef, Nanos};

/// Where and when a frame came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The port that it came from.
    pub from: PortId,
    /// The time, for rate limits. Any epoch, the same for all frames of one [`crate::Memory`].
    pub now: Nanos,
    /// How many gateways the frame has passed before this one.
    pub hops: u8,
}

/// One copy of a frame for one destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forward<'a> {
    /// The route that sends it.
    pub route: RouteId,
    /// Where it goes.
    pub to: PortId,
    /// The frame; the very one that came in where the route changes nothing.
    pub frame: FrameRef<'a>,
    /// How many gateways it has passed, this one included.
    pub hops: u8,
}

/// Why a route that took a frame did not send it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// The route drops what it takes.
    DropRule,
    /// More frames came than its limit allows.
    RateLimit,
    /// The frame has passed as many gateways as it may (can-gw counts it as "deleted").
    HopLimit,
    /// Changed to a length that its kind cannot have (can-gw counts it as "deleted").
    TooLong,
    /// Offset or mapped to an ID that its format cannot have.
    IdRange,
}

impl Stop {
    /// All of them, for counters.
    pub const ALL: [Self; 5] = [
        Self::DropRule,
        Self::RateLimit,
        Self::HopLimit,
        Self::TooLong,
        Self::IdRange,
    ];
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DropRule => "dropped by rule",
            Self::RateLimit => "dropped by rate limit",
            Self::HopLimit => "passed too many gateways",
            Self::TooLong => "changed to a length that does not fit the kind of frame",
            Self::IdRange => "changed to an ID that does not fit the frame format",
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all routes that match",
            Self::First => "the first route that matches",
        })
    }
}

/// Takes what a decision says.
pub trait Sink {
    /// A route took the frame: exactly once for each route that matched, before anything else
    /// about it.
    fn taken(&mut self, route: RouteId);
    /// The route ended it here; no copy of this route follows.
    fn stopped(&mut self, route: RouteId, why: Stop);
    /// One copy for one destination.
    fn forward(&mut self, copy: Forward<'_>);
}
