//! Frames in against frames out, as they come, in bounded memory.

use frame::Nanos;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How long and how much a [`Matcher`] remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A frame that has not come out this long after it went in is lost, ns. The papers' 1 s by
    /// default. A frame that comes out exactly then still counts.
    pub timeout: Nanos,
    /// The most frames remembered at once; with more, the oldest is given up early and counted in
    /// [`Counts::evicted`]. 131072 by default: more than one second of any CAN bus.
    pub capacity: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: 1_000_000_000,
            capacity: 1 << 17,
        }
    }
}

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

struct Entry<K> {
    key: K,
    sent: Sent,
    matched: bool,
}

/// Serial numbers of the remembered frames with one key, oldest first.
#[derive(Default)]
struct Slot {
    waiting: VecDeque<u64>,
    matched: VecDeque<u64>,
}

/// Matches frames as they come. Frames and time are handed in in order of time; each outcome is
/// handed to the sink as soon as it is known.
pub struct Matcher<K> {
    settings: Settings,
    /// In the order in which they went in; the front has serial number `oldest`.
    entries: VecDeque<Entry<K>>,
    oldest: u64,
    slots: HashMap<K, Slot>,
    /// The highest serial number that came out, for each stream.
    highest: HashMap<u32, u64>,
    counts: Counts,
}

impl<K: Clone + Eq + Hash> Matcher<K> {
    /// Nothing under way.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Settings {
                capacity: settings.capacity.max(1),
                ..settings
            },
            entries: VecDeque::new(),
            oldest: 0,
            slots: HashMap::new(),
            highest: HashMap::new(),
            counts: Counts::default(),
        }
    }

    /// A frame went in; `key` is what it is expected to be known by when it comes out.
    pub fn sent(&mut self, key: K, sent: Sent, sink: &mut impl FnMut(Outcome)) {
        self.advance(sent.at, sink);
        while self.entries.len() >= self.settings.capacity {
            let waiting = self.entries.front().is_some_and(|e| !e.matched);
            self.counts.evicted += u64::from(waiting);
            self.forget_oldest(sink);
        }
        let serial = self.oldest + self.entries.len() as u64;
        self.slots
            .entry(key.clone())
            .or_default()
            .waiting
            .push_back(serial);
        self.entries.push_back(Entry {
            key,
            sent,
            matched: false,
        });
        self.counts.sent += 1;
        self.counts.waiting += 1;
    }

    /// A frame came out. `tag` is the caller's number for it.
    pub fn received(&mut self, key: &K, tag: u64, at: Nanos, sink: &mut impl FnMut(Outcome)) {
        self.advance(at, sink);
        self.counts.received += 1;
        let outcome = self.outcome(key, tag, at);
        match outcome {
            Outcome::Matched(m) => {
                self.counts.matched += 1;
                self.counts.waiting -= 1;
                self.counts.reordered += u64::from(m.reordered);
                self.counts.ambiguous += u64::from(m.ambiguous);
            }
            Outcome::Duplicated { .. } => self.counts.duplicated += 1,
            Outcome::Unexpected { .. } | Outcome::Lost(_) => self.counts.unexpected += 1,
        }
        sink(outcome);
    }

    /// A frame came out that has no key (too short for a number).
    pub fn received_without_key(&mut self, tag: u64, at: Nanos, sink: &mut impl FnMut(Outcome)) {
        self.advance(at, sink);
        self.counts.received += 1;
        self.counts.unexpected += 1;
        sink(Outcome::Unexpected { tag, at });
    }

    fn outcome(&mut self, key: &K, tag: u64, at: Nanos) -> Outcome {
        let unexpected = Outcome::Unexpected { tag, at };
        let Some(slot) = self.slots.get_mut(key) else {
            return unexpected;
        };
        let ambiguous = slot.waiting.len() > 1;
        let Some(serial) = slot.waiting.pop_front() else {
            let of = slot
                .matched
                .back()
                .map(|&serial| (serial - self.oldest) as usize);
            return match of.and_then(|index| self.entries.get(index)) {
                Some(entry) => Outcome::Duplicated {
                    of: entry.sent,
                    tag,
                    at,
                },
                None => unexpected,
            };
        };
        slot.matched.push_back(serial);
        let Some(entry) = self.entries.get_mut((serial - self.oldest) as usize) else {
            return unexpected;
        };
        entry.matched = true;
        let sent = entry.sent;
        let highest = self.highest.entry(sent.stream).or_insert(serial);
        let reordered = serial < *highest;
        *highest = serial.max(*highest);
        Outcome::Matched(Match {
            sent,
            tag,
            at,
            reordered,
            ambiguous,
        })
    }

    /// Time is `now`: gives up what is overdue and forgets what is old.
    pub fn advance(&mut self, now: Nanos, sink: &mut impl FnMut(Outcome)) {
        while let Some(front) = self.entries.front() {
            if front.sent.at.saturating_add(self.settings.timeout) >= now {
                break;
            }
            self.forget_oldest(sink);
        }
    }

    /// Nothing comes out any more: gives up everything that is under way.
    pub fn finish(&mut self, sink: &mut impl FnMut(Outcome)) {
        while !self.entries.is_empty() {
            self.forget_oldest(sink);
        }
    }

    fn forget_oldest(&mut self, sink: &mut impl FnMut(Outcome)) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        self.oldest += 1;
        if let Some(slot) = self.slots.get_mut(&entry.key) {
            // Both queues are in order of serial numbers, so the oldest frame is in front.
            if entry.matched {
                slot.matched.pop_front();
            } else {
                slot.waiting.pop_front();
            }
            if slot.waiting.is_empty() && slot.matched.is_empty() {
                self.slots.remove(&entry.key);
            }
        }
        if !entry.matched {
            self.counts.lost += 1;
            self.counts.waiting -= 1;
            sink(Outcome::Lost(entry.sent));
        }
    }

    /// What was met so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Frames remembered now; never more than [`Settings::capacity`].
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.entries.len()
    }
}
