//! Frames in against frames out, as they come.

use super::numbered::Numbered;
use super::order::Order;
use super::queued::{Queued, Settings};
use frame::Nanos;
use std::hash::Hash;

/// A frame that went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The caller's number for it.
    pub tag: u64,
    /// When, ns: end of frame.
    pub at: Nanos,
    /// Frames of one stream are expected to keep their order; frames of different streams are
    /// not. On a CAN bus arbitration reorders identifiers, so a stream is usually an identifier.
    pub stream: u32,
}

/// A frame that came out, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The frame that went in.
    pub sent: Sent,
    /// The caller's number for the frame that came out.
    pub tag: u64,
    /// When it came out, ns: end of frame.
    pub at: Nanos,
    /// A frame of its stream that went in later came out before it (as RFC 4737 counts).
    pub reordered: bool,
    /// Another frame with the same key was under way: it may be that one.
    pub ambiguous: bool,
}

/// What became of a frame. Every frame that went in is matched or lost, once; every frame that
/// came out is matched, duplicated or unexpected, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Went in and came out.
    Matched(Match),
    /// Did not come out in time.
    Lost(Sent),
    /// Came out once more. `of` is a frame that had come out before with the same key.
    Duplicated {
        /// The frame that went in once.
        of: Sent,
        /// The caller's number for the frame that came out again.
        tag: u64,
        /// When, ns.
        at: Nanos,
    },
    /// Came out, but nothing like it went in, or too long ago.
    Unexpected {
        /// The caller's number for the frame.
        tag: u64,
        /// When, ns.
        at: Nanos,
    },
}

/// How often each outcome was met.
///
/// `sent = matched + lost + waiting` and `received = matched + duplicated + unexpected`, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames that went in.
    pub sent: u64,
    /// Frames that came out.
    pub received: u64,
    /// Pairs.
    pub matched: u64,
    /// Frames that did not come out in time.
    pub lost: u64,
    /// Frames that came out once more.
    pub duplicated: u64,
    /// Frames that came out of nothing.
    pub unexpected: u64,
    /// Pairs that came out after a later one of their stream.
    pub reordered: u64,
    /// Pairs that might be others: several frames with that key were under way.
    pub ambiguous: u64,
    /// Frames given up before their time because [`Settings::capacity`] was reached.
    pub evicted: u64,
    /// Frames still under way.
    pub waiting: u64,
}

/// Why a frame was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// Its time is over, or nothing comes out any more.
    Overdue,
    /// Another frame needed its place.
    NoRoom,
}

/// Which frame that went in a frame that came out is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This one, which comes out for the first time.
    First {
        /// The frame that went in.
        sent: Sent,
        /// Grows from frame to frame as they go in.
        place: u64,
        /// Others with the same key were under way.
        ambiguous: bool,
    },
    /// This one, which came out before.
    Again(Sent),
    /// None that is remembered.
    Nothing,
}

/// What is remembered of the frames that went in, by key.
pub trait Remember<K> {
    /// A frame went in. Frames that make room for it are handed to `lost` if they are under way.
    fn insert(&mut self, key: K, sent: Sent, lost: &mut impl FnMut(Sent, GivenUp));

    /// A frame came out: which one is it?
    fn recognise(&mut self, key: &K) -> Origin;

    /// The frame under way that is the next to come out with this key does not come: it is no
    /// longer remembered.
    fn withdraw(&mut self, key: &K) -> Option<Sent>;

    /// The frame with this key that went in last, whether it came out or not.
    fn newest(&self, key: &K) -> Option<Sent>;

    /// Time is `now`: gives up what is overdue.
    fn expire(&mut self, now: Nanos, lost: &mut impl FnMut(Sent, GivenUp));

    /// Gives up everything.
    fn clear(&mut self, lost: &mut impl FnMut(Sent, GivenUp));
}

/// Matches frames as they come. Frames and time are handed in in order of time; each outcome is
/// handed to the sink as soon as it is known.
pub struct Matcher<K, R = Queued<K>> {
    remembered: R,
    /// Not kept with [`Numbered`], whose callers count at the end.
    order: Option<Order<u32>>,
    counts: Counts,
    key: std::marker::PhantomData<fn(K)>,
}

impl<K: Clone + Eq + Hash> Matcher<K> {
    /// Nothing under way.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with(Queued::new(settings), Some(Order::default()))
    }

    /// Frames remembered now; never more than [`Settings::capacity`].
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.remembered.len()
    }
}

impl Matcher<u16, Numbered> {
    /// Nothing under way; frames are known by a number. All memory is there from now on.
    /// [`Match::reordered`] is not told, and nothing is lost before its number is used again.
    #[must_use]
    pub fn numbered() -> Self {
        Self::with(Numbered::default(), None)
    }
}

/// Hands a frame that was given up to the sink, and counts it.
fn give_up(counts: &mut Counts, sent: Sent, why: GivenUp, sink: &mut impl FnMut(Outcome)) {
    counts.evicted += u64::from(why == GivenUp::NoRoom);
    counts.lost += 1;
    counts.waiting -= 1;
    sink(Outcome::Lost(sent));
}

impl<K, R: Remember<K>> Matcher<K, R> {
    fn with(remembered: R, order: Option<Order<u32>>) -> Self {
        Self {
            remembered,
            order,
            counts: Counts::default(),
            key: std::marker::PhantomData,
        }
    }

    /// A frame went in; `key` is what it is expected to be known by when it comes out.
    pub fn sent(&mut self, key: K, sent: Sent, sink: &mut impl FnMut(Outcome)) {
        self.advance(sent.at, sink);
        let counts = &mut self.counts;
        self.remembered
            .insert(key, sent, &mut |s, why| give_up(counts, s, why, sink));
        self.counts.sent += 1;
        self.counts.waiting += 1;
    }

    /// The oldest frame under way with this key did not go in after all, or is known not to come
    /// out: it is neither matched nor lost, as if it had not been sent.
    pub fn withdraw(&mut self, key: &K) -> Option<Sent> {
        let sent = self.remembered.withdraw(key)?;
        self.counts.sent -= 1;
        self.counts.waiting -= 1;
        Some(sent)
    }

    /// The frame with this key that went in last, whether it came out or not, as far as it is
    /// remembered.
    #[must_use]
    pub fn newest(&self, key: &K) -> Option<Sent> {
        self.remembered.newest(key)
    }

    /// A frame came out. `tag` is the caller's number for it.
    pub fn received(&mut self, key: &K, tag: u64, at: Nanos, sink: &mut impl FnMut(Outcome)) {
        self.advance(at, sink);
        self.counts.received += 1;
        let outcome = match self.remembered.recognise(key) {
            Origin::First {
                sent,
                place,
                ambiguous,
            } => {
                let order = self.order.as_mut();
                let reordered = order.is_some_and(|o| o.overtaken(sent.stream, place));
                self.counts.matched += 1;
                self.counts.waiting -= 1;
                self.counts.reordered += u64::from(reordered);
                self.counts.ambiguous += u64::from(ambiguous);
                Outcome::Matched(Match {
                    sent,
                    tag,
                    at,
                    reordered,
                    ambiguous,
                })
            }
            Origin::Again(of) => {
                self.counts.duplicated += 1;
                Outcome::Duplicated { of, tag, at }
            }
            Origin::Nothing => {
                self.counts.unexpected += 1;
                Outcome::Unexpected { tag, at }
            }
        };
        sink(outcome);
    }

    /// A frame came out that has no key (too short for a number).
    pub fn received_without_key(&mut self, tag: u64, at: Nanos, sink: &mut impl FnMut(Outcome)) {
        self.advance(at, sink);
        self.counts.received += 1;
        self.counts.unexpected += 1;
        sink(Outcome::Unexpected { tag, at });
    }

    /// Time is `now`: gives up what is overdue and forgets what is old.
    pub fn advance(&mut self, now: Nanos, sink: &mut impl FnMut(Outcome)) {
        let counts = &mut self.counts;
        self.remembered
            .expire(now, &mut |s, why| give_up(counts, s, why, sink));
    }

    /// Nothing comes out any more: gives up everything that is under way.
    pub fn finish(&mut self, sink: &mut impl FnMut(Outcome)) {
        let counts = &mut self.counts;
        self.remembered
            .clear(&mut |s, why| give_up(counts, s, why, sink));
    }

    /// What was met so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
