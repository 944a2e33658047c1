//! Frames known again by any key, first in, first out, in bounded memory.

use super::matcher::{GivenUp, Origin, Remember, Sent};
use frame::Nanos;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How long and how much [`Queued`] remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A frame that has not come out this long after it went in is lost, ns. The papers' 1 s by
    /// default. A frame that comes out exactly then still counts.
    pub timeout: Nanos,
    /// The most frames remembered at once; with more, the oldest is given up early and counted in
    /// [`super::Counts::evicted`]. 131072 by default: more than one second of any CAN bus.
    pub capacity: usize,
    /// Are frames that came out remembered until their time is over, so that one that comes out
    /// once more is known as such? True by default. Without, it is unexpected.
    pub duplicates: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: 1_000_000_000,
            capacity: 1 << 17,
            duplicates: true,
        }
    }
}

/// No frame has this serial number.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Under way.
    Waiting,
    /// Came out.
    Out,
    /// Of no further interest.
    Gone,
}

struct Entry<K> {
    key: K,
    sent: Sent,
    state: State,
    /// The next frame under way with the same key.
    next: u64,
}

/// The remembered frames with one key, by serial number.
struct Slot {
    /// The oldest one under way.
    first: u64,
    /// The newest one under way; nonsense where there is none.
    last: u64,
    /// How many are under way.
    waiting: usize,
    /// The newest one that came out.
    out: u64,
}

impl Slot {
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

/// Remembers frames by key; those with one key come out in the order in which they went in.
pub struct Queued<K> {
    settings: Settings,
    /// In the order in which they went in; the front has serial number `oldest`.
    entries: VecDeque<Entry<K>>,
    oldest: u64,
    slots: HashMap<K, Slot>,
}

impl<K: Clone + Eq + Hash> Queued<K> {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings: Settings {
                capacity: settings.capacity.max(1),
                ..settings
            },
            entries: VecDeque::new(),
            oldest: 0,
            slots: HashMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&mut self, serial: u64) -> Option<&mut Entry<K>> {
        let index = serial.checked_sub(self.oldest)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// Takes the oldest frame under way out of its queue: its serial number, how many there were,
    /// and the frame, which is in `state` now.
    fn take(&mut self, key: &K, state: State) -> Option<(u64, usize, Sent)> {
        let slot = self.slots.get_mut(key)?;
        let (serial, waiting) = (slot.first, slot.waiting);
        let index = usize::try_from(serial.checked_sub(self.oldest)?).ok()?;
        // `NONE` is beyond all entries.
        let entry = self.entries.get_mut(index)?;
        entry.state = state;
        slot.first = entry.next;
        slot.waiting -= 1;
        if state == State::Out {
            slot.out = serial;
        }
        let sent = entry.sent;
        if slot.is_empty() {
            self.slots.remove(key);
        }
        if state == State::Gone {
            self.forget_gone();
        }
        Some((serial, waiting, sent))
    }

    fn forget_gone(&mut self) {
        while self.entries.front().is_some_and(|e| e.state == State::Gone) {
            self.entries.pop_front();
            self.oldest += 1;
        }
    }

    fn forget_oldest(&mut self, why: GivenUp, lost: &mut impl FnMut(Sent, GivenUp)) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        let serial = self.oldest;
        self.oldest += 1;
        if entry.state != State::Gone
            && let Some(slot) = self.slots.get_mut(&entry.key)
        {
            if entry.state == State::Waiting {
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
        if entry.state == State::Waiting {
            lost(entry.sent, why);
        }
        self.forget_gone();
    }
}

impl<K: Clone + Eq + Hash> Remember<K> for Queued<K> {
    fn insert(&mut self, key: K, sent: Sent, lost: &mut impl FnMut(Sent, GivenUp)) {
        while self.entries.len() >= self.settings.capacity {
            self.forget_oldest(GivenUp::NoRoom, lost);
        }
        let serial = self.oldest + self.entries.len() as u64;
        let slot = self.slots.entry(key.clone()).or_insert(Slot::EMPTY);
        let before = (slot.waiting > 0).then_some(slot.last);
        if before.is_none() {
            slot.first = serial;
        }
        slot.last = serial;
        slot.waiting += 1;
        if let Some(entry) = before.and_then(|before| self.entry(before)) {
            entry.next = serial;
        }
        self.entries.push_back(Entry {
            key,
            sent,
            state: State::Waiting,
            next: NONE,
        });
    }

    fn recognise(&mut self, key: &K) -> Origin {
        let state = if self.settings.duplicates {
            State::Out
        } else {
            State::Gone
        };
        if let Some((place, waiting, sent)) = self.take(key, state) {
            return Origin::First {
                sent,
                place,
                ambiguous: waiting > 1,
            };
        }
        let out = self.slots.get(key).map(|slot| slot.out);
        match out.and_then(|serial| self.entry(serial)) {
            Some(entry) => Origin::Again(entry.sent),
            None => Origin::Nothing,
        }
    }

    fn withdraw(&mut self, key: &K) -> Option<Sent> {
        self.take(key, State::Gone).map(|(_, _, sent)| sent)
    }

    fn newest(&self, key: &K) -> Option<Sent> {
        let slot = self.slots.get(key)?;
        let serial = if slot.waiting > 0 { slot.last } else { slot.out };
        let index = usize::try_from(serial.checked_sub(self.oldest)?).ok()?;
        self.entries.get(index).map(|entry| entry.sent)
    }

    fn expire(&mut self, now: Nanos, lost: &mut impl FnMut(Sent, GivenUp)) {
        while let Some(front) = self.entries.front() {
            if front.sent.at.saturating_add(self.settings.timeout) >= now {
                break;
            }
            self.forget_oldest(GivenUp::Overdue, lost);
        }
    }

    fn clear(&mut self, lost: &mut impl FnMut(Sent, GivenUp)) {
        while !self.entries.is_empty() {
            self.forget_oldest(GivenUp::Overdue, lost);
        }
    }
}
