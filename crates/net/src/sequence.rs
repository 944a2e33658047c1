//! Sequence numbers of 8 bits: what a network lost, doubled and delayed.

use frame::Nanos;
use std::hash::{DefaultHasher, Hasher as _};

/// Number of the newest datagrams among which a late one is recognised.
const WINDOW: usize = 64;

/// Time after which a datagram that has not arrived counts as missing, ns.
const PATIENCE: Nanos = 1_000_000_000;

/// Result of a comparison of a datagram's sequence number with the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It is newer than all before.
    InOrder,
    /// It is older than one that arrived before: the network changed the order.
    Overtaken,
    /// The same datagram arrived before: leave it out.
    Duplicate,
    /// It arrived when it already counted as missing: leave it out.
    Late,
    /// The sender has begun anew.
    Restart,
}

impl Arrival {
    /// Returns whether the frames of the datagram are to be handed over.
    #[must_use]
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::InOrder | Self::Overtaken | Self::Restart)
    }
}

/// The numbers of datagrams by their arrival. They only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceCounters {
    /// Datagrams that did not arrive within a second, or before 64 newer ones.
    pub missing: u64,
    /// Datagrams that arrived after newer ones.
    pub overtaken: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
    /// Number of times that the sender began anew.
    pub restarts: u64,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// It arrived, with this content.
    Here(u64),
    /// It has not arrived; it was first missed at this time.
    Gap(Nanos),
    /// It counts as missing.
    Settled,
    /// It is older than the first datagram that arrived.
    Before,
}

/// The newest datagrams of one sender by their sequence numbers of 8 bits.
///
/// A sender that begins anew is recognised: a number far from the last one, a known number with
/// another content, or an older number after a second of silence. 128 or more datagrams that are
/// lost in a row look like a restart or like fewer losses, because the number has only 8 bits.
#[derive(Clone, Debug)]
pub struct SequenceWindow {
    /// Places of the newest numbers, the newest first.
    places: [Place; WINDOW],
    newest: Option<u8>,
    last_arrival: Nanos,
    counters: SequenceCounters,
}

impl Default for SequenceWindow {
    fn default() -> Self {
        Self {
            places: [Place::Before; WINDOW],
            newest: None,
            last_arrival: 0,
            counters: SequenceCounters::default(),
        }
    }
}

impl SequenceWindow {
    /// Records the arrival of a datagram at a time.
    pub fn arrive(&mut self, sequence: u8, datagram: &[u8], now: Nanos) -> Arrival {
        self.settle(now);
        let content = hash(datagram);
        let silence = now.saturating_sub(self.last_arrival) >= PATIENCE;
        self.last_arrival = now;
        let Some(newest) = self.newest else {
            self.begin(sequence, content);
            return Arrival::InOrder;
        };
        let ahead = sequence.wrapping_sub(newest);
        if (1..128).contains(&ahead) {
            self.advance(usize::from(ahead), content, now);
            self.newest = Some(sequence);
            return Arrival::InOrder;
        }
        let back = usize::from(newest.wrapping_sub(sequence));
        match self.places.get_mut(back) {
            Some(Place::Settled) => Arrival::Late,
            Some(place @ (Place::Gap(_) | Place::Before)) if !silence => {
                *place = Place::Here(content);
                self.counters.overtaken += 1;
                Arrival::Overtaken
            }
            Some(Place::Here(known)) if *known == content && !silence => {
                self.counters.duplicates += 1;
                Arrival::Duplicate
            }
            _ => {
                self.give_up();
                self.counters.restarts += 1;
                self.begin(sequence, content);
                Arrival::Restart
            }
        }
    }

    /// Counts the datagrams as missing that have not arrived in time.
    pub fn settle(&mut self, now: Nanos) {
        for place in &mut self.places {
            if let Place::Gap(since) = place
                && now.saturating_sub(*since) >= PATIENCE
            {
                *place = Place::Settled;
                self.counters.missing += 1;
            }
        }
    }

    /// Returns the time of the next [`SequenceWindow::settle`], if a datagram is awaited.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let gaps = self.places.iter().filter_map(|place| match place {
            Place::Gap(since) => Some(since.saturating_add(PATIENCE)),
            _ => None,
        });
        gaps.min()
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> SequenceCounters {
        self.counters
    }

    fn begin(&mut self, sequence: u8, content: u64) {
        self.places = [Place::Before; WINDOW];
        self.places[0] = Place::Here(content);
        self.newest = Some(sequence);
    }

    /// Moves the window on by this many numbers. Those between are gaps.
    fn advance(&mut self, by: usize, content: u64, now: Nanos) {
        let leaving = WINDOW.saturating_sub(by);
        let gone = self.places[leaving..].iter();
        let gaps = gone.filter(|place| matches!(place, Place::Gap(_))).count();
        // Numbers that pass through the whole window at once.
        let beyond = (by - 1).saturating_sub(WINDOW - 1);
        self.counters.missing += (gaps + beyond) as u64;
        if by < WINDOW {
            self.places.copy_within(..leaving, by);
        }
        self.places[..by.min(WINDOW)].fill(Place::Gap(now));
        self.places[0] = Place::Here(content);
    }

    /// Counts all datagrams as missing that are still awaited.
    fn give_up(&mut self) {
        let gaps = self.places.iter();
        let gaps = gaps.filter(|place| matches!(place, Place::Gap(_))).count();
        self.counters.missing += gaps as u64;
    }
}

/// Returns a number for the content of a datagram. It is compared in this process only.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
