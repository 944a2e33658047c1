//! Sequence numbers of datagrams: what a network lost, doubled and delayed.

use frame::Nanos;
use std::hash::{DefaultHasher, Hasher as _};

/// Number of the newest datagrams among which a late one is recognised by a number of 8 bits.
const SHORT_WINDOW: usize = 64;

/// The same for numbers of 32 bits.
const LONG_WINDOW: usize = 4096;

/// Time after which a datagram that has not arrived counts as missing, ns.
const PATIENCE: Nanos = 1_000_000_000;

/// A sender that begins anew begins with a long number below this.
const FIRST_NUMBERS: u32 = 256;

/// Long numbers that are further ahead than this are those of a sender that began anew.
const FARTHEST: u32 = 1 << 24;

/// The sequence number of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramNumber {
    /// The number of the stream.
    pub short: u8,
    /// The number of the association, where the protocol has one. It is used as long as it grows as
    /// `short` does: other streams of the same association would make it grow faster.
    pub long: Option<u32>,
}

impl From<u8> for DatagramNumber {
    fn from(short: u8) -> Self {
        Self { short, long: None }
    }
}

/// Result of a comparison of a datagram's sequence number with the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It is newer than all before.
    InOrder,
    /// It is older than one that arrived before: the network changed the order.
    Overtaken,
    /// The same datagram arrived before: leave it out. A long number so far behind that it has no
    /// place counts as one, too, if no missing datagram is without a place.
    Duplicate,
    /// It arrived when it already counted as missing: leave it out.
    Late,
    /// The sender has begun anew.
    Restart,
}

impl Arrival {
    /// Returns whether the receiver hands the frames of the datagram over.
    #[must_use]
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::InOrder | Self::Overtaken | Self::Restart)
    }
}

/// The numbers of datagrams by their arrival. They only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceCounters {
    /// Datagrams of which the frames are handed over.
    pub taken: u64,
    /// Datagrams that did not arrive within a second, or before as many newer ones as the window
    /// has places.
    pub missing: u64,
    /// Datagrams among the missing ones that arrived after all.
    pub late: u64,
    /// Datagrams among the taken ones that arrived after newer ones.
    pub overtaken: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
    /// Number of times that the sender began anew.
    pub restarts: u64,
}

impl SequenceCounters {
    /// Returns the sums of two senders.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            taken: self.taken + other.taken,
            missing: self.missing + other.missing,
            late: self.late + other.late,
            overtaken: self.overtaken + other.overtaken,
            duplicates: self.duplicates + other.duplicates,
            restarts: self.restarts + other.restarts,
        }
    }
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

/// The newest datagrams of one sender by their sequence numbers.
///
/// With numbers of 8 bits, the window has 64 places; 128 or more datagrams that are lost in a row
/// look like a restart or like fewer losses. With numbers of 32 bits, it has 4096 places, and up to
/// 16 million datagrams in a row can be lost.
///
/// A sender that begins anew is recognised: a number far from the last one, a known number with
/// another content, or an older number after a second of silence. A long number far behind the last
/// one is a late datagram unless it is one of the first numbers; if each missing datagram still has
/// a place, it is a duplicate.
#[derive(Clone, Debug, Default)]
pub struct SequenceWindow {
    /// The places in a ring: that of the datagram with index `i` is `i` modulo their number.
    places: Vec<Place>,
    newest: Option<DatagramNumber>,
    /// Index of the newest datagram.
    head: u64,
    /// Index of the oldest gap, or the head.
    open: u64,
    /// Number of gaps.
    gaps: u64,
    /// Number of settled places.
    settled: u64,
    last_arrival: Nanos,
    /// See [`SequenceWindow::order`].
    order: u64,
    counters: SequenceCounters,
}

impl SequenceWindow {
    /// Records the arrival of a datagram at a time.
    pub fn arrive(
        &mut self,
        number: impl Into<DatagramNumber>,
        datagram: &[u8],
        now: Nanos,
    ) -> Arrival {
        let number = number.into();
        self.settle(now);
        let arrival = self.place(number, hash(datagram), now);
        self.counters.taken += u64::from(arrival.is_taken());
        self.skip();
        arrival
    }

    fn place(&mut self, number: DatagramNumber, content: u64, now: Nanos) -> Arrival {
        let silence = now.saturating_sub(self.last_arrival) >= PATIENCE;
        let Some(newest) = self.newest else {
            self.begin(number, content, now);
            return Arrival::InOrder;
        };
        let (ahead, reach) = self.distance(newest, number);
        if (1..=i64::from(FARTHEST)).contains(&ahead) {
            self.last_arrival = now;
            self.advance(ahead.unsigned_abs(), content, now);
            let long = self.newest.and_then(|newest| newest.long);
            self.newest = Some(DatagramNumber {
                long: long.and(number.long),
                ..number
            });
            return Arrival::InOrder;
        }
        let back = ahead.unsigned_abs();
        if ahead <= 0 && back < reach {
            self.last_arrival = now;
            let at = (self.head - back) as usize % self.places.len();
            match self.places.get_mut(at) {
                Some(place @ Place::Settled) => {
                    *place = Place::Here(content);
                    self.settled -= 1;
                    self.counters.late += 1;
                    return Arrival::Late;
                }
                Some(place @ (Place::Gap(_) | Place::Before)) if !silence => {
                    self.gaps -= u64::from(matches!(place, Place::Gap(_)));
                    *place = Place::Here(content);
                    self.order = self.head - back;
                    self.counters.overtaken += 1;
                    return Arrival::Overtaken;
                }
                Some(Place::Here(known)) if *known == content && !silence => {
                    self.counters.duplicates += 1;
                    return Arrival::Duplicate;
                }
                _ => {}
            }
        } else if ahead <= 0
            && !silence
            && let Some(long) = self.newest.and_then(|newest| newest.long).and(number.long)
            && long >= FIRST_NUMBERS
        {
            // Its place is forgotten. It is late if one of the missing ones has no place any more;
            // those that have a place can still arrive. Else it is a copy, or older than the first.
            if self.counters.late + self.settled < self.counters.missing {
                self.counters.late += 1;
                return Arrival::Late;
            }
            self.counters.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.counters.missing += self.gaps;
        self.counters.restarts += 1;
        self.begin(number, content, now);
        Arrival::Restart
    }

    /// Returns how far a number is ahead of the newest one, and how far back a number can be to
    /// have a place.
    fn distance(&mut self, newest: DatagramNumber, number: DatagramNumber) -> (i64, u64) {
        let short = number.short.wrapping_sub(newest.short) as i8;
        if let (Some(last), Some(long)) = (newest.long, number.long) {
            let ahead = long.wrapping_sub(last) as i32;
            if ahead as i8 == short {
                return (ahead.into(), LONG_WINDOW as u64);
            }
            self.newest = Some(DatagramNumber {
                long: None,
                ..newest
            });
        }
        // -128 is as far ahead as behind, and no number has a place so far behind.
        (short.into(), SHORT_WINDOW as u64)
    }

    /// Returns the place of the datagram that was taken last in the order of the sender, which
    /// grows over its restarts, too.
    #[must_use]
    pub const fn order(&self) -> u64 {
        self.order
    }

    /// Records a statement of the sender: its next datagram has this number, so that those before
    /// it are awaited. Returns the place of that next datagram; `None` if no datagram has come yet,
    /// or the numbers are of 8 bits only, or of another run of the sender.
    pub fn announce(&mut self, next: u32, now: Nanos) -> Option<u64> {
        self.settle(now);
        let newest = self.newest?;
        let ahead = i64::from(next.wrapping_sub(newest.long?) as i32) - 1;
        if !(-(LONG_WINDOW as i64)..=i64::from(FARTHEST)).contains(&ahead) {
            return None;
        }
        // The sender is there, with or without frames.
        self.last_arrival = now;
        if ahead > 0 {
            self.extend(ahead.unsigned_abs(), now);
            let long = next.wrapping_sub(1);
            self.newest = Some(DatagramNumber {
                short: newest.short.wrapping_add(ahead as u8),
                long: Some(long),
            });
            self.skip();
        }
        (self.head + 1).checked_sub((-ahead).max(0).unsigned_abs())
    }

    /// Returns the place of the first datagram that is awaited.
    #[must_use]
    pub const fn awaited(&self) -> u64 {
        if self.gaps > 0 {
            self.open
        } else {
            self.head + 1
        }
    }

    /// Counts the datagrams as missing that have not arrived in time.
    pub fn settle(&mut self, now: Nanos) {
        while self.gaps > 0 {
            match self.oldest_gap() {
                Some((place, since)) if now.saturating_sub(since) >= PATIENCE => {
                    *place = Place::Settled;
                    self.gaps -= 1;
                    self.settled += 1;
                    self.counters.missing += 1;
                    self.skip();
                }
                _ => return,
            }
        }
    }

    /// Returns the time of the next [`SequenceWindow::settle`], if a datagram is awaited.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let at = self.open as usize % self.places.len().max(1);
        match self.places.get(at) {
            Some(Place::Gap(since)) => Some(since.saturating_add(PATIENCE)),
            _ => None,
        }
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> SequenceCounters {
        self.counters
    }

    fn oldest_gap(&mut self) -> Option<(&mut Place, Nanos)> {
        let at = self.open as usize % self.places.len().max(1);
        match self.places.get_mut(at) {
            Some(place) => match *place {
                Place::Gap(since) => Some((place, since)),
                _ => None,
            },
            None => None,
        }
    }

    /// Moves `open` on to the oldest gap.
    fn skip(&mut self) {
        if self.gaps == 0 {
            self.open = self.head;
            return;
        }
        self.open = self
            .open
            .max((self.head + 1).saturating_sub(self.places.len() as u64));
        while self.open < self.head && self.oldest_gap().is_none() {
            self.open += 1;
        }
    }

    fn begin(&mut self, number: DatagramNumber, content: u64, now: Nanos) {
        let places = match number.long {
            Some(_) => LONG_WINDOW,
            None => SHORT_WINDOW,
        };
        self.places.clear();
        self.places.resize(places, Place::Before);
        self.places[0] = Place::Here(content);
        // The places before the first one are behind it, and in front of the last sender's.
        self.head += 2 * places as u64;
        self.head -= self.head % places as u64;
        self.order = self.head;
        (self.open, self.gaps, self.settled) = (self.head, 0, 0);
        self.newest = Some(number);
        self.last_arrival = now;
    }

    /// Moves the window on by this many numbers to one that has arrived. Those between are gaps.
    fn advance(&mut self, by: u64, content: u64, now: Nanos) {
        self.extend(by, now);
        let at = self.head as usize % self.places.len();
        self.places[at] = Place::Here(content);
        self.order = self.head;
        self.gaps -= 1;
    }

    /// Moves the window on by this many numbers, which are gaps.
    fn extend(&mut self, by: u64, now: Nanos) {
        let places = self.places.len() as u64;
        if by >= places {
            // Numbers that pass through the whole window at once are missing.
            self.counters.missing += self.gaps + (by - places);
            self.places.fill(Place::Gap(now));
            (self.gaps, self.settled) = (places, 0);
        } else {
            for index in self.head + 1..=self.head + by {
                let place = &mut self.places[(index % places) as usize];
                let left = std::mem::replace(place, Place::Gap(now));
                match left {
                    Place::Gap(_) => self.counters.missing += 1,
                    _ => self.gaps += 1,
                }
                self.settled -= u64::from(matches!(left, Place::Settled));
            }
        }
        self.head += by;
    }
}

/// Returns a number for the content of a datagram. It is compared in this process only.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
