//! A half with injected faults.

use crate::error::PortError;
use crate::faults::FaultCounters;
use crate::half::{Receive, Transmit, forward};
use crate::link::LinkState;
use crate::passing::{OutgoingFrame, ReceivedFrame};
use crate::report::{Accepted, FlushReport, RxCounters, RxReport, TransmitRefusal, TxCounters};
use alloc::string::String;
use alloc::vec::Vec;
use frame::{FrameBuf, FrameRef, Nanos};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use route::FrameInterest;

/// Probability of each fault, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FaultChances {
    /// The frame is dropped.
    pub drop: f64,
    /// The frame is received, or sent, twice.
    pub duplicate: f64,
    /// One bit of its payload changes.
    pub corrupt: f64,
    /// A transmitting half refuses the frame as if its queue were full.
    pub refuse: f64,
}

/// The error of an invalid probability.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Debug)]
#[error("a chance of {0}: it must be from 0 to 1")]
pub struct ChancesError(f64);

/// A half with injected faults, determined by the seed: same seed, same frames, same faults.
///
/// Counters stay true, and every sum adds up. A frame that is received a second time counts as any
/// other frame. A frame that is dropped on sending counts as taken and lost. The second copy of a
/// duplicated frame on sending was not given to the port: it is not among the frames taken, and
/// [`FaultCounters::duplicated`] accounts for it among those sent, lost or held.
pub struct FaultyHalf<H> {
    half: H,
    /// Probabilities as shares of 2^64.
    drop: u64,
    duplicate: u64,
    corrupt: u64,
    refuse: u64,
    random: Xoshiro256PlusPlus,
    buffer: FrameBuf,
    counters: FaultCounters,
    /// Whether the last frame that was given to a transmitting half was changed, and given once.
    changed_last: bool,
}

impl<H> FaultyHalf<H> {
    /// Injects faults into `half`.
    ///
    /// # Errors
    /// [`ChancesError`] for a probability below 0, above 1, or not a number.
    pub fn new(half: H, chances: FaultChances, seed: u64) -> Result<Self, ChancesError> {
        Ok(Self {
            half,
            drop: share(chances.drop)?,
            duplicate: share(chances.duplicate)?,
            corrupt: share(chances.corrupt)?,
            refuse: share(chances.refuse)?,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            buffer: FrameBuf::new(),
            counters: FaultCounters::default(),
            changed_last: false,
        })
    }

    /// Returns the half into which faults are injected.
    #[must_use]
    pub const fn half(&self) -> &H {
        &self.half
    }

    /// Returns the faults so far.
    #[must_use]
    pub const fn faults(&self) -> FaultCounters {
        self.counters
    }
}

/// Returns a probability as a share of 2^64 − 1. The cast saturates, so that 1 is all of it.
fn share(chance: f64) -> Result<u64, ChancesError> {
    if (0.0..=1.0).contains(&chance) {
        Ok((chance * u64::MAX as f64) as u64)
    } else {
        Err(ChancesError(chance))
    }
}

fn happens(random: &mut Xoshiro256PlusPlus, share: u64) -> bool {
    // Drawn each time, so that one probability does not affect the other faults.
    let drawn = random.next_u64();
    share == u64::MAX || drawn < share
}

/// Returns the frame with one bit of its payload changed, if it has a payload.
fn corrupted<'a>(
    random: &mut Xoshiro256PlusPlus,
    buffer: &'a mut FrameBuf,
    frame: FrameRef<'_>,
) -> Option<FrameRef<'a>> {
    let bits = frame.data().len() as u64 * 8;
    let bit = random.next_u64().checked_rem(bits)?;
    buffer.set(frame);
    if let Some(byte) = buffer.buffer_mut().get_mut((bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
    Some(buffer.view())
}

#[deny(clippy::missing_trait_methods)]
impl<H: Receive> Receive for FaultyHalf<H> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let (random, counters, buffer) = (&mut self.random, &mut self.counters, &mut self.buffer);
        let (drop, duplicate, corrupt) = (self.drop, self.duplicate, self.corrupt);
        let mut handed = 0;
        // Each frame that may be duplicated needs a second place in the budget. With a budget of
        // one, it may be exceeded by one: which frames are duplicated must not depend on the amount
        // of room.
        let mut left = (budget / 2).max(budget.min(1));
        let mut spare = left;
        if duplicate == 0 {
            (left, spare) = (budget, 0);
        }
        let report = self.half.receive(now, left, &mut |received| {
            if happens(random, drop) {
                counters.dropped += 1;
                return;
            }
            let mut received = received;
            if happens(random, corrupt)
                && let Some(frame) = corrupted(random, buffer, received.frame)
            {
                counters.corrupted += 1;
                received.frame = frame;
            }
            handed += 1;
            take(received);
            if happens(random, duplicate) && spare > 0 {
                spare -= 1;
                counters.duplicated += 1;
                handed += 1;
                take(received);
            }
        })?;
        Ok(RxReport {
            frames: handed,
            ..report
        })
    }

    fn counters(&self) -> RxCounters {
        let mut counters = self.half.counters();
        counters.faults.add(&self.counters);
        counters
    }

    forward! { self => self.half; deadline set_interest is_up can_wait link take_alarm remarks }
}

#[deny(clippy::missing_trait_methods)]
impl<H: Transmit> Transmit for FaultyHalf<H> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if happens(&mut self.random, self.refuse) {
            self.counters.refused += 1;
            return Err(TransmitRefusal::Full);
        }
        if happens(&mut self.random, self.drop) {
            self.counters.dropped += 1;
            return Ok(Accepted);
        }
        let mut changed = None;
        if happens(&mut self.random, self.corrupt) {
            changed = corrupted(&mut self.random, &mut self.buffer, outgoing.frame);
        }
        let corrupted = changed.is_some();
        let outgoing = OutgoingFrame {
            frame: changed.unwrap_or(outgoing.frame),
            ..outgoing
        };
        let accepted = self.half.transmit(now, outgoing)?;
        self.counters.corrupted += u64::from(corrupted);
        let duplicated =
            happens(&mut self.random, self.duplicate) && self.half.transmit(now, outgoing).is_ok();
        self.counters.duplicated += u64::from(duplicated);
        self.changed_last = corrupted && !duplicated;
        Ok(accepted)
    }

    fn counters(&self) -> TxCounters {
        let mut counters = self.half.counters();
        let FaultCounters {
            dropped,
            duplicated,
            ..
        } = self.counters;
        counters.taken = (counters.taken + dropped).saturating_sub(duplicated);
        counters.lost += dropped;
        counters.faults.add(&self.counters);
        counters
    }

    fn room(&self) -> usize {
        // A frame that is sent twice needs two places.
        let places = 1 + usize::from(self.duplicate > 0);
        self.half.room() / places
    }

    fn recall(&mut self) -> bool {
        let recalled = self.half.recall();
        if recalled && core::mem::take(&mut self.changed_last) {
            // The frame will come again, and then it may be changed again.
            self.counters.corrupted -= 1;
        }
        recalled
    }

    forward! { self => self.half; flush deadline refuses makes_wait retry_at remarks }
}
