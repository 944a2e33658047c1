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
///
/// This is the one list of these reasons: counters, JSON, tables and documents take their keys and
/// words from here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stop {
    /// The route drops what it takes.
    DropRule = 0,
    /// More frames came than its limit allows.
    RateLimit = 1,
    /// The frame has passed as many gateways as it may (can-gw counts it as "deleted").
    HopLimit = 2,
    /// Changed to a length that its kind cannot have (can-gw counts it as "deleted").
    TooLong = 3,
    /// Changed to an ID or a flag of the ID that it cannot have: a number beyond its format, an FD
    /// frame that is remote, an XL frame with an EFF ID.
    IdRange = 4,
}

impl Stop {
    /// All of them, for counters. Each stands at its own number.
    pub const ALL: [Self; 5] = [
        Self::DropRule,
        Self::RateLimit,
        Self::HopLimit,
        Self::TooLong,
        Self::IdRange,
    ];

    /// Its key in JSON. It never changes: programs read it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::DropRule => "dropped_by_rule",
            Self::RateLimit => "rate_limited",
            Self::HopLimit => "hop_limit",
            Self::TooLong => "too_long",
            Self::IdRange => "id_range",
        }
    }

    /// A short phrase for people: a column, a line of a list.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::DropRule => "dropped by rule",
            Self::RateLimit => "dropped by rate",
            Self::HopLimit => "hop limit",
            Self::TooLong => "too long",
            Self::IdRange => "ID out of range",
        }
    }

    /// What it means, in one sentence.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::DropRule => "A route with `drop = true` took it.",
            Self::RateLimit => "It was above a route's `limit`.",
            Self::HopLimit => "It had passed as many gateways as the table or a route allows.",
            Self::TooLong => "A modification made it longer than its kind can be.",
            Self::IdRange => "A route gave it an ID or a flag that such a frame cannot have.",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
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
