//! Play-out: frames are handed on a fixed time after their stamps, so that they have the gaps again
//! with which they were sent, whatever the network did to them.

mod clock;
mod newest;
mod waiting;

use crate::DatagramFrame;
use clock::{LARGEST_SLEW, TransitClock};
use frame::{FrameRef, Nanos};
use newest::NewestFrames;
use waiting::WaitingFrames;

/// A stamp that is further ahead of the clock than this is taken as the time of arrival, ns.
const FARTHEST_AHEAD: i128 = 1_000_000_000;

/// Time after which such stamps are those of a sender whose clock was set, ns.
const CLOCK_SET: Nanos = 1_000_000_000;

/// The clock of the stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StampClock {
    /// The sender's own: the frames that were under way for the shortest time define the offset.
    #[default]
    Own,
    /// The same as here: stamps are Unix time, and the gateway's clock was 0 at this Unix time.
    Common(Nanos),
}

/// The treatment of a frame that arrives after its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LateRule {
    /// It is handed on at once.
    #[default]
    Send,
    /// It is left out.
    Expire,
}

/// The rules of a play-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlayOutRules {
    /// The time between the stamp and the handing on; without it, frames are handed on as they
    /// arrive, unless they are too old.
    pub delay: Option<Nanos>,
    /// A frame that is older than `delay` and this is left out.
    pub max_age: Option<Nanos>,
    /// The treatment of late frames.
    pub late: LateRule,
    /// The clock of the stamps.
    pub clock: StampClock,
    /// Maximum number of frames that wait.
    pub frames: usize,
    /// A frame without a stamp, which does not wait, has its place in the order of its ID as well:
    /// those before it that wait are left out. For senders whose stamps can come and go.
    pub orders_unstamped: bool,
}

/// The number of frames by what became of them. They only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlayOutCounters {
    /// Frames that came.
    pub taken: u64,
    /// Frames that were handed on.
    pub passed: u64,
    /// Those of them that were handed on after their time.
    pub late: u64,
    /// Those of them that had no stamp.
    pub unstamped: u64,
    /// Frames that were too old, or late by [`LateRule::Expire`].
    pub expired: u64,
    /// Frames of which a later one with the same ID had been handed on.
    pub behind: u64,
    /// Frames that found no room.
    pub refused: u64,
}

impl PlayOutCounters {
    /// Returns the sums of two senders.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            taken: self.taken + other.taken,
            passed: self.passed + other.passed,
            late: self.late + other.late,
            unstamped: self.unstamped + other.unstamped,
            expired: self.expired + other.expired,
            behind: self.behind + other.behind,
            refused: self.refused + other.refused,
        }
    }
}

/// The next step of a frame that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayOutStep {
    /// Hand it on now.
    Pass,
    /// [`PlayOut::next`] returns it when it is due.
    Wait,
    /// It is left out, and counted.
    LeaveOut,
}

/// The frames of one sender on their way from the network to the gateway.
///
/// Every frame that comes has one fate: `taken = passed + expired + behind + refused + waiting`.
/// With a delay, frames of one ID that have stamps are handed on in the order of the sender; with
/// [`PlayOutRules::orders_unstamped`], the others, too.
#[derive(Clone, Debug)]
pub struct PlayOut {
    rules: PlayOutRules,
    clock: TransitClock,
    waiting: WaitingFrames,
    newest: NewestFrames,
    /// The last time at which no frame was due.
    idle: Nanos,
    /// Since this time, all stamps are too far ahead.
    ahead_since: Option<Nanos>,
    counters: PlayOutCounters,
}

impl PlayOut {
    /// Returns a play-out with these rules.
    #[must_use]
    pub fn new(rules: PlayOutRules) -> Self {
        let delay = rules.delay.unwrap_or(0);
        Self {
            rules,
            clock: TransitClock::new((delay / 2).max(1_000_000)),
            waiting: WaitingFrames::new(rules.frames),
            newest: NewestFrames::default(),
            idle: 0,
            ahead_since: None,
            counters: PlayOutCounters::default(),
        }
    }

    /// Records that the sender has begun anew: its clock may be another one.
    pub fn restart(&mut self, now: Nanos) {
        self.clock.restart(now);
        // A stamp that is far ahead is that of another clock.
        self.ahead_since = Some(now.saturating_sub(CLOCK_SET));
    }

    /// Returns the number of frames that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> PlayOutCounters {
        self.counters
    }

    /// Returns the time that is added to stamps to get the gateway's time.
    fn offset(&self) -> i128 {
        match self.rules.clock {
            StampClock::Own => self.clock.offset().unwrap_or(0),
            StampClock::Common(epoch) => -i128::from(epoch),
        }
    }

    /// Returns the time at which a frame with this stamp is due.
    fn due(&self, stamp: Nanos) -> i128 {
        i128::from(stamp) + self.offset() + i128::from(self.rules.delay.unwrap_or(0))
    }

    /// Takes a frame that has come in the datagram with this number in the order of its sender.
    /// `mark` goes with it.
    pub fn take(
        &mut self,
        found: &DatagramFrame<'_>,
        mark: u64,
        datagram: u64,
        now: Nanos,
    ) -> PlayOutStep {
        self.counters.taken += 1;
        let order = (datagram, self.counters.taken);
        let Some(stamp) = found.stamp else {
            if self.rules.orders_unstamped && !self.newest.pass(&found.frame, order) {
                self.counters.behind += 1;
                return PlayOutStep::LeaveOut;
            }
            self.counters.unstamped += 1;
            self.counters.passed += 1;
            return PlayOutStep::Pass;
        };
        let stamp = self.plausible(stamp, now);
        let overdue = i128::from(now) - self.due(stamp);
        if self.is_expired(overdue, overdue > 0) {
            self.counters.expired += 1;
            return PlayOutStep::LeaveOut;
        }
        if self.rules.delay.is_none() {
            self.counters.passed += 1;
            return PlayOutStep::Pass;
        }
        let marked = (&found.frame, mark);
        if self.waiting.push(marked, stamp, order, overdue > 0) {
            PlayOutStep::Wait
        } else {
            self.counters.refused += 1;
            PlayOutStep::LeaveOut
        }
    }

    /// Follows the sender's clock; returns the stamp, or that of a frame that leaves the sender now
    /// if it is too far ahead.
    fn plausible(&mut self, stamp: Nanos, now: Nanos) -> Nanos {
        let is_own = self.rules.clock == StampClock::Own;
        let present = i128::from(now) - self.offset();
        // In the first second, frames of a backlog show the clock one by one.
        let is_known = !is_own || !self.clock.is_new(now);
        if is_known && i128::from(stamp) - present > FARTHEST_AHEAD {
            let since = *self.ahead_since.get_or_insert(now);
            // One wrong stamp must not move the clock: each good frame would look old.
            if !is_own || now.saturating_sub(since) < CLOCK_SET {
                return present.clamp(0, u64::MAX.into()) as u64;
            }
        }
        self.ahead_since = None;
        if is_own {
            let transit = i128::from(now) - i128::from(stamp);
            self.clock.observe(transit, now);
        }
        stamp
    }

    fn is_expired(&self, overdue: i128, late: bool) -> bool {
        let late = late && self.rules.delay.is_some() && self.rules.late == LateRule::Expire;
        late || (self.rules.max_age).is_some_and(|max_age| overdue > i128::from(max_age))
    }

    /// Returns the next frame that is due, with its mark.
    pub fn next(&mut self, now: Nanos) -> Option<(FrameRef<'_>, u64)> {
        let due = loop {
            let first = self.waiting.first();
            let Some((first, due)) = first.map(|first| (first, self.due(first.stamp))) else {
                self.idle = now;
                return None;
            };
            if due > i128::from(now) {
                self.idle = now;
                return None;
            }
            self.waiting.pop();
            // The offset may have become less while it waited.
            let late = first.late || due + LARGEST_SLEW < i128::from(self.idle);
            if self.is_expired(i128::from(now) - due, late) {
                self.counters.expired += 1;
                continue;
            }
            let frame = self.waiting.content(&first);
            if frame.is_some_and(|frame| self.newest.pass(&frame, first.order)) {
                self.counters.passed += 1;
                self.counters.late += u64::from(late);
                break first;
            }
            self.counters.behind += 1;
        };
        let frame = self.waiting.content(&due)?;
        Some((frame, due.mark))
    }

    /// Returns the time at which the next frame is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let first = self.waiting.first()?;
        Some(self.due(first.stamp).clamp(0, u64::MAX.into()) as u64)
    }
}
