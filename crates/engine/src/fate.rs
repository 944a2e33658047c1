//! The fate of a received frame; each has exactly one.

use crate::tally::{FateReason, FateTally};
use core::fmt;
use e2e::ReceptionKind;
use route::StopReason;

/// The fate of a received frame: one of the reasons for which a route stops a frame, or one of the
/// engine's own.
///
/// A frame can take several routes, and a route can have several destinations, so several of these
/// can be true of one frame. The one that is first in [`Fate::ALL`] is counted: a frame that was
/// accepted by any port was routed, whatever happened to its other copies (those are counted by
/// route and by destination, as copies). After that, the order goes from the unwanted fates (a full
/// queue, a port that is down) to those that the routing table specifies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// At least one copy was accepted by a port.
    Routed,
    /// A destination's queue was full.
    Refused,
    /// A destination was down or out of service, or cannot carry this kind of frame.
    Undeliverable,
    /// A route took it and did not send it.
    Stopped(StopReason),
    /// No route took it.
    NoRoute,
}

impl Fate {
    /// All fates, highest precedence first.
    pub const ALL: [Self; 4 + StopReason::ALL.len()] = [
        Self::Routed,
        Self::Refused,
        Self::Undeliverable,
        Self::Stopped(StopReason::RateLimit),
        Self::Stopped(StopReason::DropRule),
        Self::Stopped(StopReason::HopLimit),
        Self::Stopped(StopReason::TooLong),
        Self::Stopped(StopReason::IdRange),
        Self::Stopped(StopReason::Absent),
        Self::Stopped(StopReason::OutOfRange),
        Self::Stopped(StopReason::E2eWrong),
        Self::NoRoute,
    ];

    /// Returns its index in [`Fate::ALL`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Routed => 0,
            Self::Refused => 1,
            Self::Undeliverable => 2,
            Self::Stopped(StopReason::RateLimit) => 3,
            Self::Stopped(StopReason::DropRule) => 4,
            Self::Stopped(StopReason::HopLimit) => 5,
            Self::Stopped(StopReason::TooLong) => 6,
            Self::Stopped(StopReason::IdRange) => 7,
            Self::Stopped(StopReason::Absent) => 8,
            Self::Stopped(StopReason::OutOfRange) => 9,
            Self::Stopped(StopReason::E2eWrong) => 10,
            Self::NoRoute => 11,
        }
    }

    /// Returns its key in JSON. It never changes: programs read it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Routed => "routed",
            Self::Refused => "refused",
            Self::Undeliverable => "undeliverable",
            Self::Stopped(why) => why.key(),
            Self::NoRoute => "no_route",
        }
    }

    /// Returns a short phrase for people: a column, a line of a list.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Routed => "routed",
            Self::Refused => "refused by a full queue",
            Self::Undeliverable => "undeliverable",
            Self::Stopped(why) => why.words(),
            Self::NoRoute => "no route",
        }
    }

    /// Returns its meaning, in one sentence.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Routed => "At least one copy was accepted by a destination.",
            Self::Refused => "A destination's queue was full.",
            Self::Undeliverable => {
                "The destination was down, unplugged or bus-off, or cannot carry such a frame."
            }
            Self::Stopped(why) => why.explanation(),
            Self::NoRoute => "No route took it.",
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl From<StopReason> for Fate {
    #[inline]
    fn from(why: StopReason) -> Self {
        Self::Stopped(why)
    }
}

impl FateReason for Fate {
    const ALL: &'static [Self] = &Self::ALL;

    #[inline]
    fn index(self) -> usize {
        Self::index(self)
    }

    fn key(self) -> &'static str {
        Self::key(self)
    }
}

impl FateReason for StopReason {
    const ALL: &'static [Self] = &Self::ALL;

    #[inline]
    fn index(self) -> usize {
        self as usize
    }

    fn key(self) -> &'static str {
        Self::key(self)
    }
}

/// Number of frames by fate. Every frame that a port handed over is in exactly one of these.
pub type Fates = FateTally<Fate, { Fate::ALL.len() }>;

/// Number of frames that a route stopped, by reason.
pub type Stops = FateTally<StopReason, { StopReason::ALL.len() }>;

impl FateReason for ReceptionKind {
    const ALL: &'static [Self] = &ReceptionKind::ALL;

    fn index(self) -> usize {
        Self::index(self)
    }

    fn key(self) -> &'static str {
        self.name()
    }
}

/// Number of frames whose end-to-end protection a route checked, by the result.
pub type Verifications = FateTally<ReceptionKind, { ReceptionKind::ALL.len() }>;

/// The fates of the parts of one frame so far: one bit each, the highest precedence lowest.
#[derive(Clone, Copy)]
pub(crate) struct FateSet(u16);

/// No route took the frame, as long as nothing else is marked.
impl Default for FateSet {
    #[inline]
    fn default() -> Self {
        Self(1 << Fate::NoRoute.index())
    }
}

impl FateSet {
    #[inline]
    pub(crate) const fn mark(&mut self, fate: Fate) {
        self.0 |= 1 << fate.index();
    }

    /// Returns the frame's one fate, as its [`Fate::index`].
    #[inline]
    pub(crate) const fn fate(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn nothing_marked_is_no_route() {
        assert_eq!(FateSet::default().fate(), Fate::NoRoute.index());
    }

    #[test]
    fn of_two_ends_the_first_in_the_list_counts() {
        for (i, &a) in Fate::ALL.iter().enumerate() {
            for &b in &Fate::ALL[i..] {
                let mut marks = FateSet::default();
                marks.mark(b);
                marks.mark(a);
                assert_eq!(Fate::ALL[marks.fate()], a);
            }
        }
    }

    /// The list is complete, each entry is at its index, and no two have equal texts.
    #[test]
    fn the_list_has_every_end_once() {
        for (i, fate) in Fate::ALL.iter().enumerate() {
            assert_eq!(fate.index(), i);
        }
        for (i, stop) in StopReason::ALL.iter().enumerate() {
            assert_eq!(FateReason::index(*stop), i);
            assert!(Fate::ALL.contains(&Fate::Stopped(*stop)));
        }
        for text in [Fate::key, Fate::words, Fate::explanation] {
            let mut all: Vec<&str> = Fate::ALL.iter().map(|&fate| text(fate)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), Fate::ALL.len());
        }
    }
}
