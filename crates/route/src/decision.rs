//! Input and output of a decision.

use crate::{PortId, RouteId, RouteMode};
use core::fmt;
use e2e::ReceptionKind;
use frame::{FrameRef, Nanos};

/// Port, time and hop count of a frame that came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameArrival {
    /// The port at which it came in.
    pub from: PortId,
    /// The time, for rate limits. The epoch is arbitrary, but the same for all frames of one
    /// [`crate::TableMemory`].
    pub now: Nanos,
    /// Number of gateways that the frame has passed before this one.
    pub hops: u8,
}

/// One copy of a frame for one destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwardedCopy<'a> {
    /// The route that sends it.
    pub route: RouteId,
    /// The destination port.
    pub to: PortId,
    /// The frame. If the route changes nothing, this is the received frame itself.
    pub frame: FrameRef<'a>,
    /// Number of gateways that the frame has passed, including this one.
    pub hops: u8,
}

/// The reason why a route that took a frame did not send it.
///
/// This is the only list of these reasons: counters, JSON, tables and documents take their keys and
/// words from here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum StopReason {
    /// The route drops every frame that it takes.
    DropRule = 0,
    /// The frame exceeded the route's rate limit.
    RateLimit = 1,
    /// The frame has passed as many gateways as it may (can-gw counts it as "deleted").
    HopLimit = 2,
    /// The route changed the frame to a length that its kind cannot have (can-gw counts it as
    /// "deleted").
    TooLong = 3,
    /// The route changed the frame to an ID or a flag of the ID that it cannot have: a number
    /// beyond its format, an FD frame that is remote, an XL frame with an EFF ID.
    IdRange = 4,
    /// The route writes or reads a signal that the frame does not contain.
    Absent = 5,
    /// The route writes a value that the signal cannot have.
    OutOfRange = 6,
    /// The end-to-end protection of the message is wrong, and the route drops such frames.
    E2eWrong = 7,
}

impl StopReason {
    /// All reasons, for counters. The index of each is its number.
    pub const ALL: [Self; 8] = [
        Self::DropRule,
        Self::RateLimit,
        Self::HopLimit,
        Self::TooLong,
        Self::IdRange,
        Self::Absent,
        Self::OutOfRange,
        Self::E2eWrong,
    ];

    /// Returns the key in JSON. It never changes, because programs read it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::DropRule => "dropped_by_rule",
            Self::RateLimit => "rate_limited",
            Self::HopLimit => "hop_limit",
            Self::TooLong => "too_long",
            Self::IdRange => "id_range",
            Self::Absent => "signal_absent",
            Self::OutOfRange => "out_of_range",
            Self::E2eWrong => "e2e_wrong",
        }
    }

    /// Returns a short phrase for people: the heading of a column, a line of a list.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::DropRule => "dropped by rule",
            Self::RateLimit => "dropped by rate",
            Self::HopLimit => "hop limit",
            Self::TooLong => "too long",
            Self::IdRange => "ID out of range",
            Self::Absent => "signal absent",
            Self::OutOfRange => "value out of range",
            Self::E2eWrong => "E2E wrong",
        }
    }

    /// Returns the meaning in one sentence.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::DropRule => "A route with `drop = true` took it.",
            Self::RateLimit => "It was above a route's `limit`.",
            Self::HopLimit => "It had passed as many gateways as the table or a route allows.",
            Self::TooLong => "A modification made it longer than its kind can be.",
            Self::IdRange => "A route gave it an ID or a flag that such a frame cannot have.",
            Self::Absent => "A route writes or reads a signal that the frame does not contain.",
            Self::OutOfRange => "A signal cannot have the value that a route writes to it.",
            Self::E2eWrong => "The end-to-end protection of the message was wrong.",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl fmt::Display for RouteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all routes that match",
            Self::First => "the first route that matches",
        })
    }
}

/// Receiver of the results of a decision.
pub trait DecisionSink {
    /// Called exactly once for each route that took the frame, before any other call for this
    /// route.
    fn taken(&mut self, route: RouteId);
    /// Called when the route does not send the frame; no copy from this route follows.
    fn stopped(&mut self, route: RouteId, why: StopReason);
    /// Called for each frame whose end-to-end protection the route has checked, after
    /// [`taken`](Self::taken).
    fn verified(&mut self, route: RouteId, kind: ReceptionKind) {
        let _ = (route, kind);
    }
    /// Called for each copy, with its destination.
    fn forward(&mut self, copy: ForwardedCopy<'_>);
}
