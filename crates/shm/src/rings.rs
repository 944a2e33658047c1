//! One side of the shared memory.

use crate::SharedWords;
use crate::layout::{self, SLOT, ShmSide, VERSION, WANTS_FRAMES, WANTS_ROOM, WORDS, at};
use frame::{Frame, FrameRef, Nanos};

/// Interval at which a side updates its beat, ns.
pub const BEAT: Nanos = 500_000_000;
/// Time without a beat after which a side is taken to be gone, ns.
pub const SILENT: Nanos = 2_000_000_000;

/// The error that the memory is shorter than [`layout::LEAST`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} bytes of shared memory are not enough: use at least {least}", least = layout::LEAST)]
pub struct TooSmall(pub usize);

/// State of the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerLink {
    /// It has never connected, or it has announced that it leaves.
    Absent,
    /// It was connected, and does not beat any more.
    Silent,
    /// It is not a cangate, or one with another version of the layout.
    Foreign,
    /// Frames pass.
    Up,
}

/// Reason why a frame was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotSent {
    /// The other side is not up: see [`PeerLink`].
    Down,
    /// The ring is full until the other side has read some frames.
    Full,
    /// A kind of frame that the slots cannot hold.
    Unsupported,
}

/// Events that happened while a side announced that it waits for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArmResult {
    /// Frames are there.
    pub frames: bool,
    /// There is room in the ring.
    pub room: bool,
}

/// Counters of frames. `taken = sent + lost +` [`ShmRings::held`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingCounters {
    /// Frames that were put into the ring.
    pub taken: u64,
    /// Frames that the other side has read.
    pub sent: u64,
    /// Frames that were in the ring when the other side left or returned.
    pub lost: u64,
    /// Frames received from the other side.
    pub received: u64,
    /// Slots of the other side without a valid frame in them.
    pub malformed: u64,
    /// Number of times that the other side's counts were invalid; each ended the session.
    pub broken: u64,
    /// Number of sessions: how often the other side has connected.
    pub sessions: u64,
}

/// One side.
pub struct ShmRings<W> {
    words: W,
    mine: ShmSide,
    slots: u32,
    life: u32,
    /// Life of the other side; 0 while it is not connected.
    theirs: u32,
    foreign: bool,
    session: u32,
    /// Frames written in this session, and how many of them the other side can see, and has read.
    written: u32,
    shown: u32,
    passed: u32,
    /// Frames read in this session, and how many of them were reported to the other side.
    read: u32,
    released: u32,
    beat: u64,
    beaten: Nanos,
    their_beat: u64,
    /// Time of its last beat, as far as this side knows.
    heard: Nanos,
    looked: Nanos,
    silent: bool,
    armed: bool,
    counters: RingCounters,
}

const fn pack(session: u32, count: u32) -> u64 {
    (session as u64) << 32 | count as u64
}

impl<W: SharedWords> ShmRings<W> {
    /// Takes over its side of the memory. `life` must be another number at each start, such as one
    /// from a clock.
    ///
    /// # Errors
    /// [`TooSmall`]
    pub fn new(words: W, mine: ShmSide, life: u32, now: Nanos) -> Result<Self, TooSmall> {
        if words.len() < layout::LEAST {
            return Err(TooSmall(words.len()));
        }
        let slots = layout::slots(words.len());
        let mut rings = Self {
            words,
            mine,
            slots,
            life: life.max(1),
            theirs: 0,
            foreign: false,
            session: 0,
            written: 0,
            shown: 0,
            passed: 0,
            read: 0,
            released: 0,
            beat: 0,
            beaten: now,
            their_beat: 0,
            heard: now,
            looked: now,
            silent: false,
            armed: false,
            counters: RingCounters::default(),
        };
        // The other side ignores the rest of the block before its life is there.
        rings.set(at::LIFE, 0);
        rings.set(at::WANTS, 0);
        rings.begin();
        rings.beat(now);
        Ok(rings)
    }

    fn get(&self, at: usize) -> u64 {
        self.words.get(self.mine.other().block() + at)
    }

    fn set(&self, at: usize, word: u64) {
        self.words.set(self.mine.block() + at, word);
    }

    fn beat(&mut self, now: Nanos) {
        self.beat = self.beat.wrapping_add(1);
        self.beaten = now;
        self.set(at::BEAT, self.beat);
        // The other side can write here, too. This repairs what it has overwritten.
        self.set(at::VERSION, VERSION);
        self.set(at::HEAD, pack(self.session, self.shown));
        self.publish_tail();
        self.set(at::LIFE, u64::from(self.life));
    }

    /// Writes the count of frames that were read in this session. As long as this side has not read
    /// any frame of the session, the word keeps the count of the previous session, which the other
    /// side may not have processed yet.
    fn publish_tail(&self) {
        if self.released != 0 {
            self.set(at::TAIL, pack(self.session, self.released));
        }
    }

    /// Begins the session of the current two lives.
    fn begin(&mut self) {
        self.counters.lost += u64::from(self.held());
        self.session = match self.mine {
            ShmSide::First => layout::session(self.life, self.theirs),
            ShmSide::Second => layout::session(self.theirs, self.life),
        };
        (self.written, self.shown, self.passed) = (0, 0, 0);
        (self.read, self.released) = (0, 0);
        // Written before the life, for a side that reads the life first.
        self.set(at::HEAD, pack(self.session, 0));
        self.set(at::LIFE, u64::from(self.life));
    }

    /// Begins another life of this side, because the other side's counts are invalid.
    fn broke(&mut self) {
        self.counters.broken += 1;
        self.life = self.life.wrapping_add(0x9E37_79B9).max(1);
        self.begin();
    }

    /// Processes changes of the other side. Returns true if the result of [`ShmRings::link`] has
    /// changed.
    pub fn watch_peer(&mut self, now: Nanos) -> bool {
        let before = self.link();
        if std::mem::take(&mut self.armed) {
            self.set(at::WANTS, 0);
        }
        let life = self.get(at::LIFE) as u32;
        let version = self.get(at::VERSION);
        self.foreign = life != 0 && version != VERSION;
        let theirs = if self.foreign { 0 } else { life };
        let beat = self.get(at::BEAT);
        // Checks whether it was this side that slept.
        let away = now.saturating_sub(self.looked) > SILENT / 2;
        self.looked = now;
        if theirs != self.theirs {
            // Counts the frames that it read before it left.
            self.progress();
            self.theirs = theirs;
            self.begin();
            self.counters.sessions += u64::from(theirs != 0);
            self.heard = now;
        } else if beat != self.their_beat || away {
            self.heard = now;
        }
        self.their_beat = beat;
        self.silent = now.saturating_sub(self.heard) >= SILENT;
        if now.saturating_sub(self.beaten) >= BEAT {
            self.beat(now);
        }
        self.progress();
        self.link() != before
    }

    /// Processes the other side's count of read frames.
    pub fn progress(&mut self) {
        let tail = self.get(at::TAIL);
        if self.theirs == 0 || (tail >> 32) as u32 != self.session {
            return;
        }
        let more = (tail as u32).wrapping_sub(self.passed);
        if more > self.shown.wrapping_sub(self.passed) {
            return self.broke();
        }
        self.passed = self.passed.wrapping_add(more);
        self.counters.sent += u64::from(more);
    }

    /// Returns the state of the other side, as of the last [`watch_peer`](Self::watch_peer).
    pub const fn link(&self) -> PeerLink {
        match (self.foreign, self.theirs, self.silent) {
            (true, _, _) => PeerLink::Foreign,
            (_, 0, _) => PeerLink::Absent,
            (_, _, true) => PeerLink::Silent,
            _ => PeerLink::Up,
        }
    }

    /// Puts a frame into the ring. The other side sees it after [`publish`](Self::publish).
    ///
    /// # Errors
    /// [`NotSent`]
    pub fn send(&mut self, frame: &FrameRef<'_>) -> Result<(), NotSent> {
        if self.link() != PeerLink::Up {
            return Err(NotSent::Down);
        }
        let (words, used) = layout::encode(frame).ok_or(NotSent::Unsupported)?;
        if self.held() >= self.slots {
            self.progress();
            if self.held() >= self.slots {
                return Err(NotSent::Full);
            }
        }
        let slot = self.slot(self.mine, self.written);
        for (i, word) in words.iter().take(used).enumerate() {
            self.words.set(slot + 8 * i, *word);
        }
        self.written = self.written.wrapping_add(1);
        self.counters.taken += 1;
        Ok(())
    }

    fn slot(&self, side: ShmSide, count: u32) -> usize {
        side.ring(self.words.len()) + (count % self.slots) as usize * SLOT
    }

    /// Makes the frames in the ring visible to the other side; returns their number, and whether
    /// the other side wants its doorbell to be rung.
    pub fn publish(&mut self) -> (u32, bool) {
        let more = self.written.wrapping_sub(self.shown);
        if more == 0 {
            return (0, false);
        }
        self.shown = self.written;
        self.set(at::HEAD, pack(self.session, self.written));
        (more, self.wants(WANTS_FRAMES))
    }

    /// Returns whether the other side waits for this.
    fn wants(&self, what: u64) -> bool {
        // The counts are written before this read of whether the other side sleeps; the other side
        // does it in the opposite order.
        self.words.fence();
        self.theirs != 0 && self.get(at::WANTS) & what != 0
    }

    fn waiting(&self) -> u32 {
        let head = self.get(at::HEAD);
        if self.theirs == 0 || (head >> 32) as u32 != self.session {
            return 0;
        }
        (head as u32).wrapping_sub(self.read)
    }

    /// Takes up to `budget` frames out of the other side's ring. Returns true if there may be more.
    pub fn receive(&mut self, budget: usize, take: &mut dyn FnMut(Frame)) -> bool {
        let waiting = self.waiting();
        if waiting > self.slots {
            self.broke();
            return false;
        }
        let many = (waiting as usize).min(budget);
        for _ in 0..many {
            let slot = self.slot(self.mine.other(), self.read);
            let header = self.words.get(slot);
            let mut words = [0; WORDS];
            let used = layout::words_of(header);
            for (i, word) in words.iter_mut().take(used).enumerate() {
                *word = self.words.get(slot + 8 * i);
            }
            // The header that determined the number of words is the one that is decoded.
            words[0] = header;
            // A side that died and returned overwrites its ring, after it has written its new life.
            if self.get(at::LIFE) as u32 != self.theirs {
                return false;
            }
            self.read = self.read.wrapping_add(1);
            match layout::decode(&words) {
                Some(frame) => {
                    self.counters.received += 1;
                    take(frame);
                }
                None => self.counters.malformed += 1,
            }
        }
        waiting as usize > many
    }

    /// Reports to the other side which frames were read; returns whether it wants its doorbell to
    /// be rung.
    pub fn release(&mut self) -> bool {
        if self.released == self.read {
            return false;
        }
        self.released = self.read;
        self.publish_tail();
        self.wants(WANTS_ROOM)
    }

    /// Announces what this side waits for: always frames, room if `room`. Returns what is there
    /// already; then this side must not wait. The next [`watch_peer`](Self::watch_peer) withdraws
    /// the announcement.
    pub fn arm(&mut self, room: bool) -> ArmResult {
        self.armed = true;
        let what = WANTS_FRAMES | if room { WANTS_ROOM } else { 0 };
        self.set(at::WANTS, what);
        self.words.fence();
        let tail = self.get(at::TAIL);
        ArmResult {
            frames: self.waiting() > 0 || self.get(at::LIFE) as u32 != self.theirs && !self.foreign,
            room: room
                && tail != pack(self.session, self.passed)
                && (tail >> 32) as u32 == self.session,
        }
    }

    /// Returns the number of frames of this side in its ring that the other side has not read.
    pub const fn held(&self) -> u32 {
        self.written.wrapping_sub(self.passed)
    }

    /// Returns the number of frames for which there is room.
    pub const fn room(&self) -> u32 {
        self.slots - self.held()
    }

    /// Returns the capacity of the ring, frames.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the latest time for the next call of [`watch_peer`](Self::watch_peer).
    pub const fn deadline(&self) -> Nanos {
        self.beaten + BEAT
    }

    /// Returns the counters.
    pub const fn counters(&self) -> RingCounters {
        self.counters
    }

    /// Returns the memory.
    pub const fn words(&self) -> &W {
        &self.words
    }
}

impl<W> ShmRings<W> {
    /// Returns the side.
    pub const fn side(&self) -> ShmSide {
        self.mine
    }
}

/// Announces the end: the other side's frames are lost immediately, and not after [`SILENT`].
impl<W: SharedWords> ShmRings<W> {
    /// Leaves. Returns true if the other side is connected and should be rung, so that it looks.
    pub fn leave(&mut self) -> bool {
        self.set(at::LIFE, 0);
        self.words.fence();
        self.theirs != 0
    }
}
