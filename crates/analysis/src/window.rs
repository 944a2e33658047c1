//! The busy period, on which all bounds rest.
//!
//! # The argument
//! A frame is *open* from its release to the end of the intermission behind it. Let a frame wait
//! for the bus, and let *s* be the last instant up to its release before which no frame was open
//! that can go before it. From *s* on, until the frame starts, at least one such frame or the frame
//! itself takes part in every arbitration, or is being sent. So the winner is always one of them,
//! and the bus is never idle. The time from *s* to the start of the frame, *w*, therefore consists
//! of
//!
//! * **blocking**: a frame that cannot go before it, and was on the bus at *s* already. It started
//!   before *s*, so at most one such frame, whole;
//! * frames that go before it, of which no more are there than are released from *s* to *w*. One
//!   that is released at *w* itself still takes part in that arbitration, and so does one that is
//!   released [`crate::BusSpec::joins`] later;
//! * errors, each with what it costs.
//!
//! Each frame occupies the bus until the end of its intermission. *w* is at most the smallest
//! solution of *w* = blocking + frames ahead + errors (*w* + own length) + Σ releases (*w* + joins)
//! · length: at that time all that was there to be sent has been sent, and nothing has come since.
//! Its own length stands in the term of errors because an error may hit the frame itself.
//!
//! # What an error costs
//! An error destroys at most the whole frame that it hits: an attempt is over at the latest with
//! its end of frame. The flags take at most 12 bits, the delimiter 8, the intermission 3
//! ([`frame::wire::ERROR_FLAGS_MAX_BITS`], [`frame::wire::ERROR_DELIMITER_BITS`]); then the frame
//! competes again. So an error lengthens *w* by at most the longest of the frames that can go
//! before this one, itself included, and 20 bits beside its intermission. An error in the blocking
//! frame costs the 20 bits only: its next attempt loses against what waits. At most ⌊t / T_e⌋ + 1
//! errors with a distance of T_e happen in a time t. (Tindell, Burns, Wellings, *Calculating
//! Controller Area Network (CAN) message response times*, Control Engineering Practice 3, 1995, §5,
//! with the distance as its error model.) Of an error in a lower frame before *s*, at most 23 bits
//! are left at *s*; they stand in the place of the blocking.
//!
//! Not in it: overload frames, and error-passive nodes.

use crate::Arrival;
use crate::offset::Joint;
use crate::train::{ONE, Train, occupied};
use alloc::vec::Vec;
use frame::Nanos;

/// No bound longer than this is looked for, ns: an hour.
pub const LONGEST: Nanos = 3_600_000_000_000;

/// Where so much of the bus is taken, a busy period need not end; 1 is all of it. What is left
/// covers the rounding of the sum.
const FULL: f64 = 1.0 - 1e-9;

/// Why there is no bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NoBound {
    /// The message and all that goes before it take this part of the bus or more (1 is all of it),
    /// with errors.
    Overload(f64),
    /// A busy period may last longer than [`LONGEST`].
    TooLong,
    /// A message that goes before it has no bound.
    Follows(usize),
    /// A message that comes from another bus has none there.
    Upstream,
    /// Jitter grows without end around a circle of buses.
    Circle,
}

/// Frames of one message, as they compete for the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) arrival: Arrival,
    /// How long a frame occupies the bus, intermission and what pauses of its node add included,
    /// ns.
    pub(crate) occupied: Nanos,
    /// Which train it belongs to, of those of its window.
    pub(crate) train: Option<usize>,
    /// No frame of it is released before this time, ns after *s*: [`mod@crate::offset`]. 0 for any
    /// phase.
    pub(crate) lead: Nanos,
}

impl Stream {
    /// The most releases from *s* to `span` ns later, both included.
    pub(crate) fn within(&self, span: Nanos) -> u64 {
        let left = span.checked_sub(self.lead);
        left.map_or(0, |left| self.arrival.most_within(left))
    }

    /// The same without the last instant.
    pub(crate) fn before(&self, span: Nanos) -> u64 {
        let left = span.checked_sub(self.lead);
        left.map_or(0, |left| self.arrival.most_before(left))
    }

    /// The earliest that release number `n` (from 0) can be, ns after *s*.
    pub(crate) fn earliest(&self, n: u64) -> Nanos {
        self.arrival.earliest(n).saturating_add(self.lead)
    }

    /// The part of the bus that it takes.
    pub(crate) fn load(&self) -> f64 {
        self.occupied as f64 * self.arrival.rate()
    }
}

/// What an error costs, and how often there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errors {
    /// The least distance, ns.
    pub(crate) distance: Nanos,
    /// Each, ns.
    pub(crate) cost: Nanos,
}

/// What delays a frame, but for the frames of its own queue.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// A frame that cannot go before it, and pauses of nodes ([`mod@crate::refill`]) that are
    /// counted once, ns.
    pub(crate) blocking: Nanos,
    /// How much of that is pauses, ns.
    pub(crate) once: Nanos,
    /// What pauses of its own node add to each frame of that node, ns.
    pub(crate) pause: Nanos,
    /// Messages that go before it.
    pub(crate) rivals: Vec<Stream>,
    /// More of them: those that share the clock of another node.
    pub(crate) joint: Vec<Joint>,
    /// Which of them come one after the other: [`mod@crate::train`].
    pub(crate) trains: Vec<Train>,
    /// The same of the messages that [`Window::busy`] is asked about.
    pub(crate) own: Vec<Train>,
    pub(crate) errors: Option<Errors>,
    pub(crate) joins: Nanos,
}

/// A start of frame, and what is before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// Since *s*, ns.
    pub(crate) at: Nanos,
    pub(crate) errors: Nanos,
    pub(crate) interference: Nanos,
}

impl Window {
    /// When a frame starts at the latest, ns after *s*. `ahead`: frames of its own queue that go
    /// before it; `frame`: its own length; `overtaking`: frames of its own queue that are released
    /// later and go before it all the same, up to a start of frame; `from`: a time that it does not
    /// start before.
    pub(crate) fn start(
        &self,
        ahead: Nanos,
        frame: Nanos,
        from: Nanos,
        overtaking: impl Fn(Nanos) -> Nanos,
    ) -> Result<Started, NoBound> {
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
                return Ok(Started {
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
        let count = |rival: &Stream| rival.within(until);
        let alone = occupied(self.rivals.iter(), &self.trains, until, count);
        let joint = self.joint.iter().map(|joint| joint.within(until));
        joint.fold(alone, Nanos::saturating_add)
    }

    /// How much later a frame can be released, ns, if it then starts no later than just before the
    /// next release of a rival, or the next error: it starts at `start` now, and what goes before
    /// it grows as these trains do.
    pub(crate) fn steady(&self, start: Nanos, frame: Nanos, trains: &[Train]) -> Nanos {
        let until = start.saturating_add(self.joins);
        let next = |rival: &Stream| {
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

    /// How long the bus can be busy with these messages and all that go before them, ns.
    pub(crate) fn busy(&self, own: &[Stream]) -> Result<Nanos, NoBound> {
        let of_errors = self
            .errors
            .map_or(0.0, |e| e.cost as f64 / e.distance as f64);
        let joint: f64 = self.joint.iter().map(Joint::load).sum();
        let load = load(&self.rivals, &self.trains) + load(own, &self.own) + joint + of_errors;
        if load >= FULL {
            return Err(NoBound::Overload(load));
        }
        let mut busy: Nanos = 1;
        loop {
            let errors = self
                .errors
                .map_or(0, |e| busy.div_ceil(e.distance).saturating_mul(e.cost));
            let count = |stream: &Stream| stream.before(busy);
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

/// The part of the bus that these take.
fn load(streams: &[Stream], trains: &[Train]) -> f64 {
    let of = |place: Option<usize>| {
        let all = streams.iter().filter(move |stream| stream.train == place);
        all.map(Stream::load).sum::<f64>()
    };
    let trains = trains.iter().enumerate();
    let capped = trains.map(|(place, train)| of(Some(place)).min(train.ratio as f64 / ONE as f64));
    of(None) + capped.sum::<f64>()
}
