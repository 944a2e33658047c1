//! Matching of frames that go in with frames that come out, as they arrive, in bounded memory.

use super::order::ReorderCount;
use frame::Nanos;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The time and the number of frames for which a [`FrameMatcher`] remembers frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatcherSettings {
    /// A frame that has not come out this long after it went in is lost, ns. The default is the
    /// papers' 1 s. A frame that comes out exactly then still counts.
    pub timeout: Nanos,
    /// The maximum number of frames remembered at once; with more, the oldest is given up early and
    /// counted in [`OutcomeCounts::evicted`]. 131072 by default: more than one second of any CAN
    /// bus.
    pub capacity: usize,
    /// Whether frames that came out are remembered until their timeout, so that one that comes out
    /// again is recognised as a duplicate. True by default. Otherwise it is unexpected.
    pub duplicates: bool,
}

impl Default for MatcherSettings {
    fn default() -> Self {
        Self {
            timeout: 1_000_000_000,
            capacity: 1 << 17,
            duplicates: true,
        }
    }
}

/// A frame that went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// The caller's number for the frame.
    pub tag: u64,
    /// The time, ns: end of frame.
    pub at: Nanos,
    /// Frames of one stream are expected to keep their order; frames of different streams are not.
    /// On a CAN bus, arbitration reorders identifiers, so a stream is usually an identifier.
    pub stream: u32,
}

/// A frame that came out, and the frame that went in to which it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchedFrame {
    /// The frame that went in.
    pub sent: SentFrame,
    /// The caller's number for the frame that came out.
    pub tag: u64,
    /// The time at which it came out, ns: end of frame.
    pub at: Nanos,
    /// Whether a frame of its stream that went in later came out before it (according to RFC 4737).
    pub reordered: bool,
    /// Whether another frame with the same key was under way: the match may be that one.
    pub ambiguous: bool,
}

/// The outcome of a frame. Every frame that went in is matched or lost, once; every frame that came
/// out is matched, duplicated or unexpected, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOutcome {
    /// It went in and came out.
    Matched(MatchedFrame),
    /// It did not come out in time.
    Lost(SentFrame),
    /// It came out once more. `of` is a frame that had come out before with the same key.
    Duplicated {
        /// The frame that went in once.
        of: SentFrame,
        /// The caller's number for the frame that came out again.
        tag: u64,
        /// The time, ns.
        at: Nanos,
    },
    /// It came out, but no such frame went in, or too long ago.
    Unexpected {
        /// The caller's number for the frame.
        tag: u64,
        /// The time, ns.
        at: Nanos,
    },
}

/// Number of occurrences of each outcome.
///
/// `sent = matched + lost + waiting` and `received = matched + duplicated + unexpected` always
/// hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OutcomeCounts {
    /// Frames that went in.
    pub sent: u64,
    /// Frames that came out.
    pub received: u64,
    /// Pairs of a frame that went in and one that came out.
    pub matched: u64,
    /// Frames that did not come out in time.
    pub lost: u64,
    /// Frames that came out once more.
    pub duplicated: u64,
    /// Frames that came out without having gone in.
    pub unexpected: u64,
    /// Pairs that came out after a later one of their stream.
    pub reordered: u64,
    /// Pairs that may be wrong: several frames with that key were under way.
    pub ambiguous: u64,
    /// Frames given up before their timeout because [`MatcherSettings::capacity`] was reached.
    pub evicted: u64,
    /// Frames still under way.
    pub waiting: u64,
}

/// A serial number that no frame has.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryState {
    /// The frame is under way.
    Waiting,
    /// The frame came out.
    Out,
    /// The frame is not needed any more.
    Gone,
}

struct MatcherEntry<K> {
    key: K,
    sent: SentFrame,
    state: EntryState,
    /// The next frame under way with the same key.
    next: u64,
}

/// The remembered frames with one key, by serial number.
struct KeySlot {
    /// The oldest one under way.
    first: u64,
    /// The newest one under way; meaningless where there is none.
    last: u64,
    /// Number of frames under way.
    waiting: usize,
    /// The newest one that came out.
    out: u64,
}

impl KeySlot {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        waiting: 0,
        out: NONE,
    };

    fn is_empty(&self) -> bool {
        self.waiting == 0 && self.out == NONE
    }
}

/// Matches frames as they arrive. Frames and times are passed in order of time; each outcome is
/// passed to the sink as soon as it is known. Frames with the same key are expected to come out in
/// the order in which they went in.
pub struct FrameMatcher<K> {
    settings: MatcherSettings,
    /// The frames in the order in which they went in; the front has serial number `oldest`.
    entries: VecDeque<MatcherEntry<K>>,
    oldest: u64,
    slots: HashMap<K, KeySlot>,
    order: ReorderCount<u32>,
    counts: OutcomeCounts,
}

impl<K: Clone + Eq + Hash> FrameMatcher<K> {
    /// Creates a matcher with no frames under way.
    #[must_use]
    pub fn new(settings: MatcherSettings) -> Self {
        Self {
            settings: MatcherSettings {
                capacity: settings.capacity.max(1),
                ..settings
            },
            entries: VecDeque::new(),
            oldest: 0,
            slots: HashMap::new(),
            order: ReorderCount::default(),
            counts: OutcomeCounts::default(),
        }
    }

    /// Adds a frame that went in; `key` is the key that it is expected to have when it comes out.
    pub fn sent(&mut self, key: K, sent: SentFrame, sink: &mut impl FnMut(MatchOutcome)) {
        self.advance(sent.at, sink);
        while self.entries.len() >= self.settings.capacity {
            let waiting = self.entries.front().map(|e| e.state == EntryState::Waiting);
            self.counts.evicted += u64::from(waiting == Some(true));
            self.forget_oldest(sink);
        }
        let serial = self.oldest + self.entries.len() as u64;
        let slot = self.slots.entry(key.clone()).or_insert(KeySlot::EMPTY);
        let before = (slot.waiting > 0).then_some(slot.last);
        if before.is_none() {
            slot.first = serial;
        }
        slot.last = serial;
        slot.waiting += 1;
        if let Some(entry) = before.and_then(|before| self.entry(before)) {
            entry.next = serial;
        }
        self.entries.push_back(MatcherEntry {
            key,
            sent,
            state: EntryState::Waiting,
            next: NONE,
        });
        self.counts.sent += 1;
        self.counts.waiting += 1;
    }

    /// Removes the oldest frame under way with this key, which is known not to come out: it is
    /// neither matched nor lost, as if it had not gone in.
    pub fn withdraw(&mut self, key: &K) -> Option<SentFrame> {
        let (_, _, sent) = self.take(key, EntryState::Gone)?;
        self.counts.sent -= 1;
        self.counts.waiting -= 1;
        Some(sent)
    }

    /// Adds a frame that came out. `tag` is the caller's number for it.
    pub fn received(&mut self, key: &K, tag: u64, at: Nanos, sink: &mut impl FnMut(MatchOutcome)) {
        self.advance(at, sink);
        self.counts.received += 1;
        let state = if self.settings.duplicates {
            EntryState::Out
        } else {
            EntryState::Gone
        };
        if let Some((serial, waiting, sent)) = self.take(key, state) {
            let reordered = self.order.overtaken(sent.stream, serial);
            let ambiguous = waiting > 1;
            self.counts.matched += 1;
            self.counts.waiting -= 1;
            self.counts.reordered += u64::from(reordered);
            self.counts.ambiguous += u64::from(ambiguous);
            return sink(MatchOutcome::Matched(MatchedFrame {
                sent,
                tag,
                at,
                reordered,
                ambiguous,
            }));
        }
        let out = self.slots.get(key).map(|slot| slot.out);
        match out.and_then(|serial| self.entry(serial)).map(|e| e.sent) {
            Some(of) => {
                self.counts.duplicated += 1;
                sink(MatchOutcome::Duplicated { of, tag, at });
            }
            None => self.unexpected(tag, at, sink),
        }
    }

    fn unexpected(&mut self, tag: u64, at: Nanos, sink: &mut impl FnMut(MatchOutcome)) {
        self.counts.unexpected += 1;
        sink(MatchOutcome::Unexpected { tag, at });
    }

    /// Sets the time to `now`: gives up overdue frames and forgets old ones.
    pub fn advance(&mut self, now: Nanos, sink: &mut impl FnMut(MatchOutcome)) {
        while let Some(front) = self.entries.front() {
            if front.sent.at.saturating_add(self.settings.timeout) >= now {
                break;
            }
            self.forget_oldest(sink);
        }
    }

    /// Ends the run, after which no frame comes out: gives up all frames that are under way.
    pub fn finish(&mut self, sink: &mut impl FnMut(MatchOutcome)) {
        while !self.entries.is_empty() {
            self.forget_oldest(sink);
        }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> OutcomeCounts {
        self.counts
    }

    /// Returns the number of frames remembered now; never more than [`MatcherSettings::capacity`].
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.entries.len()
    }

    fn entry(&mut self, serial: u64) -> Option<&mut MatcherEntry<K>> {
        let index = serial.checked_sub(self.oldest)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// Removes the oldest frame under way from its queue: returns its serial number, the number of
    /// frames that were under way, and the frame, whose state is now `state`.
    fn take(&mut self, key: &K, state: EntryState) -> Option<(u64, usize, SentFrame)> {
        let slot = self.slots.get_mut(key)?;
        let (serial, waiting) = (slot.first, slot.waiting);
        // `NONE` is beyond all entries.
        let index = usize::try_from(serial.checked_sub(self.oldest)?).ok()?;
        let entry = self.entries.get_mut(index)?;
        entry.state = state;
        let sent = entry.sent;
        slot.first = entry.next;
        slot.waiting -= 1;
        if state == EntryState::Out {
            slot.out = serial;
        } else {
            if slot.is_empty() {
                self.slots.remove(key);
            }
            self.forget_gone();
        }
        Some((serial, waiting, sent))
    }

    fn forget_gone(&mut self) {
        while self
            .entries
            .front()
            .is_some_and(|e| e.state == EntryState::Gone)
        {
            self.entries.pop_front();
            self.oldest += 1;
        }
    }

    fn forget_oldest(&mut self, sink: &mut impl FnMut(MatchOutcome)) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        let serial = self.oldest;
        self.oldest += 1;
        if entry.state != EntryState::Gone
            && let Some(slot) = self.slots.get_mut(&entry.key)
        {
            if entry.state == EntryState::Waiting {
                // It is the oldest of all, so it is the oldest with its key.
                slot.first = entry.next;
                slot.waiting -= 1;
            } else if slot.out == serial {
                slot.out = NONE;
            }
            if slot.is_empty() {
                self.slots.remove(&entry.key);
            }
        }
        if entry.state == EntryState::Waiting {
            self.counts.lost += 1;
            self.counts.waiting -= 1;
            sink(MatchOutcome::Lost(entry.sent));
        }
        self.forget_gone();
    }
}
