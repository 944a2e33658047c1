//! The busy period, the basis of all bounds.
//!
//! # The argument
//! A frame is *open* from its release to the end of the intermission after it. Let a frame wait for
//! the bus, and let *s* be the last instant up to its release before which no frame was open that
//! can precede it. From *s* on, until the frame starts, at least one such frame or the frame
//! itself takes part in every arbitration, or is being sent. So the winner is always one of them,
//! and the bus is never idle. The time from *s* to the start of the frame, *w*, therefore consists
//! of
//!
//! * **blocking**: a frame that cannot precede it, and was on the bus at *s* already. It started
//!   before *s*, so at most one such frame, whole;
//! * frames that precede it: no more than are released from *s* to *w*. One that is released at
//!   *w* itself still takes part in that arbitration, and so does one that is released
//!   [`crate::BusSpec::joins`] later;
//! * errors, each with its cost.
//!
//! Each frame occupies the bus until the end of its intermission. *w* is at most the smallest
//! solution of *w* = blocking + frames ahead + errors (*w* + own length) + Σ releases (*w* + joins)
//! · length: by that time all frames that were released have been sent, and no further ones have
//! been released. Its own length is part of the term of errors because an error may hit the frame
//! itself.
//!
//! # The cost of an error
//! An error destroys at most the whole frame that it hits: an attempt is over at the latest with
//! its end of frame. The flags take at most 12 bits, the delimiter 8, the intermission 3
//! ([`frame::wire::ERROR_FLAGS_MAX_BITS`], [`frame::wire::ERROR_DELIMITER_BITS`]); then the frame
//! competes again. So an error lengthens *w* by at most the longest of the frames that can
//! precede this one, itself included, and 20 bits in addition to its intermission. An error in the
//! blocking frame costs the 20 bits only: its next attempt loses against the waiting frames. At
//! most ⌊t / T_e⌋ + 1 errors with a distance of T_e happen in a time t. (Tindell, Burns, Wellings,
//! *Calculating Controller Area Network (CAN) message response times*, Control Engineering Practice
//! 3, 1995, §5, with the distance as its error model.) Of an error in a lower frame before *s*, at
//! most 23 bits are left at *s*; they take the place of the blocking.
//!
//! Not included: overload frames, and error-passive nodes.

use crate::offset::JointMessages;
use crate::stream::RivalStream;
use crate::train::{FrameTrain, ONE, occupied};
use alloc::vec::Vec;
use frame::Nanos;

/// The longest bound that is searched for, ns: an hour.
pub const LONGEST: Nanos = 3_600_000_000_000;

/// The load from which on a busy period need not end; 1 is the whole bus. The difference to 1
/// covers the rounding of the sum.
pub(crate) const FULL: f64 = 1.0 - 1e-9;

/// The reason why there is no bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NoBound {
    /// The message and all frames that precede it occupy this part of the bus or more (1 is all
    /// of it), with errors.
    Overload(f64),
    /// A busy period may last longer than [`LONGEST`].
    TooLong,
    /// A message that precedes it, by its index, has no bound.
    Follows(usize),
    /// A message that comes from another bus has no bound there.
    Upstream,
    /// Jitter grows without end around a circle of buses.
    Circle,
    /// The token bucket of a tunnel is smaller than its longest datagram, which has this many
    /// bytes: the datagram would wait for ever.
    Bucket(u64),
}

/// The cost of an error, and the distance between errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorCost {
    /// The least distance, ns.
    pub(crate) distance: Nanos,
    /// The cost of each, ns.
    pub(crate) cost: Nanos,
}

/// Everything that delays a frame, except the frames of its own queue.
#[derive(Clone, Debug)]
pub(crate) struct BusyWindow {
    /// A frame that cannot precede it, and pauses of nodes ([`mod@crate::refill`]) that are
    /// counted once, ns.
    pub(crate) blocking: Nanos,
    /// The part of that which is pauses, ns.
    pub(crate) once: Nanos,
    /// The time that pauses of its own node add to each frame of that node, ns.
    pub(crate) pause: Nanos,
    /// Messages that precede it.
    pub(crate) rivals: Vec<RivalStream>,
    /// Further ones: those that share the clock of another node.
    pub(crate) joint: Vec<JointMessages>,
    /// The trains in which some of them come: [`mod@crate::train`].
    pub(crate) trains: Vec<FrameTrain>,
    /// The trains of the messages that [`BusyWindow::busy`] is called for.
    pub(crate) own: Vec<FrameTrain>,
    pub(crate) errors: Option<ErrorCost>,
    pub(crate) joins: Nanos,
}

/// A start of frame, and the delays before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameStart {
    /// Time since *s*, ns.
    pub(crate) at: Nanos,
    pub(crate) errors: Nanos,
    pub(crate) interference: Nanos,
}

impl BusyWindow {
    /// Returns the latest time at which a frame starts, ns after *s*. `ahead`: frames of its own
    /// queue that precede it; `frame`: its own length; `overtaking`: frames of its own queue that
    /// are released later and still precede it, up to a start of frame; `from`: a time before
    /// which it does not start.
    pub(crate) fn start(
        &self,
        ahead: Nanos,
        frame: Nanos,
        from: Nanos,
        overtaking: impl Fn(Nanos) -> Nanos,
    ) -> Result<FrameStart, NoBound> {
        let fixed = self.blocking.saturating_add(ahead);
        let mut at = fixed.max(from);
        loop {
            let errors = self.errors.map_or(0, |e| {
                let count = at.saturating_add(frame) / e.distance + 1;
                count.saturating_mul(e.cost)
            });
            let until = at.saturating_add(self.joins);
            let interference = self.interference(until).saturating_add(overtaking(until));
            let next = fixed.saturating_add(errors).saturating_add(interference);
            if next <= at {
                return Ok(FrameStart {
                    at,
                    errors,
                    interference,
                });
            }
            if next > LONGEST {
                return Err(NoBound::TooLong);
            }
            at = next;
        }
    }

    fn interference(&self, until: Nanos) -> Nanos {
        let count = |rival: &RivalStream| rival.within(until);
        let alone = occupied(self.rivals.iter(), &self.trains, until, count);
        let joint = self.joint.iter().map(|joint| joint.within(until));
        joint.fold(alone, Nanos::saturating_add)
    }

    /// Returns the time by which a frame can be released later, ns, if it then starts no later than
    /// just before the next release of a rival, or the next error: it starts at `start` now, and
    /// the frames before it grow as these trains do.
    pub(crate) fn steady(&self, start: Nanos, frame: Nanos, trains: &[FrameTrain]) -> Nanos {
        let until = start.saturating_add(self.joins);
        let next = |rival: &RivalStream| {
            let count = rival.within(until);
            rival.earliest(count).saturating_sub(until)
        };
        let joint = self.joint.iter().map(|joint| joint.next(until));
        let error = self.errors.map(|e| {
            let end = start.saturating_add(frame);
            (end / e.distance + 1).saturating_mul(e.distance) - end
        });
        let slack = self.rivals.iter().map(next).chain(joint).chain(error).min();
        let slack = u128::from(slack.unwrap_or(Nanos::MAX));
        let slope = trains.iter().map(|train| u128::from(train.ratio));
        let time = slack * u128::from(ONE) / slope.sum::<u128>().max(1);
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Returns the longest time for which the bus can be busy with these messages and all frames
    /// that precede them, ns.
    pub(crate) fn busy(&self, own: &[RivalStream]) -> Result<Nanos, NoBound> {
        let of_errors = self
            .errors
            .map_or(0.0, |e| e.cost as f64 / e.distance as f64);
        let joint: f64 = self.joint.iter().map(JointMessages::load).sum();
        let load = load(&self.rivals, &self.trains) + load(own, &self.own) + joint + of_errors;
        if load >= FULL {
            return Err(NoBound::Overload(load));
        }
        let mut busy: Nanos = 1;
        loop {
            let errors = self
                .errors
                .map_or(0, |e| busy.div_ceil(e.distance).saturating_mul(e.cost));
            let count = |stream: &RivalStream| stream.before(busy);
            let rivals = occupied(self.rivals.iter(), &self.trains, busy, count);
            let own = occupied(own.iter(), &self.own, busy, count);
            let joint = self.joint.iter().map(|joint| joint.within(busy - 1));
            let rivals = joint.fold(rivals, Nanos::saturating_add);
            let fixed = self.blocking.saturating_add(errors);
            let next = fixed.saturating_add(rivals).saturating_add(own);
            if next <= busy {
                return Ok(busy);
            }
            if next > LONGEST {
                return Err(NoBound::TooLong);
            }
            busy = next;
        }
    }
}

/// Returns the part of the bus that these streams occupy.
fn load(streams: &[RivalStream], trains: &[FrameTrain]) -> f64 {
    let of = |place: Option<usize>| {
        let all = streams.iter().filter(move |stream| stream.train == place);
        all.map(RivalStream::load).sum::<f64>()
    };
    let trains = trains.iter().enumerate();
    let capped = trains.map(|(place, train)| of(Some(place)).min(train.ratio as f64 / ONE as f64));
    of(None) + capped.sum::<f64>()
}
