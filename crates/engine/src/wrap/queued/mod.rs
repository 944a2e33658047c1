//! A transmit queue with an order, an age limit, and a rule for when it is full.

mod heap;
mod waiting;

use crate::error::PortError;
use crate::half::Transmit;
use crate::passing::{OutgoingFrame, Token};
use crate::report::{Accepted, FlushReport, TransmitRefusal, TxCounters};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use frame::{FrameRef, Nanos};
use waiting::{WaitingFrames, WaitingPlace};

/// The order in which waiting frames leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum QueueOrder {
    /// In the order of arrival.
    #[default]
    Fifo,
    /// The highest priority first, as in arbitration ([`frame::wire::arbitration_field`]); frames
    /// of the same priority in the order of arrival.
    Priority,
}

/// The action when a frame arrives and the queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WhenFull {
    /// The new frame is refused.
    #[default]
    Refuse,
    /// The oldest waiting frame of the lowest priority makes room and counts as
    /// [displaced](TxCounters::displaced); without priorities it is simply the oldest. A new frame
    /// of a lower priority than all waiting frames is refused.
    DropOldest,
    /// No frames are taken from the ports that route to this one until there is room:
    /// [`Transmit::makes_wait`].
    Wait,
}

/// The rules of a transmit queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRules {
    /// The order in which frames leave.
    pub order: QueueOrder,
    /// Time after which a waiting frame is dropped and counts as [expired](TxCounters::expired),
    /// ns; `None`: no limit.
    pub max_age: Option<Nanos>,
    /// The action when the queue is full.
    pub when_full: WhenFull,
    /// Maximum number of waiting frames; at least 1.
    pub frames: usize,
    /// The longest payload of a frame, bytes. Longer ones are refused as unsupported.
    pub longest: usize,
}

/// Reason why a queue has given up a frame that it had taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GivenUp {
    /// The frame had waited for [`QueueRules::max_age`].
    Expired,
    /// The frame made room for another one.
    Displaced,
    /// The half behind the queue was down, or does not carry frames of this kind.
    Lost,
}

/// A function that is called for each frame that a queue gives up.
pub type Witness = Box<dyn FnMut(Token, FrameRef<'_>, GivenUp) + Send>;

/// A transmitting half behind a queue.
///
/// The half itself is given one frame at a time, and the next one when its counters show that it
/// holds none. A frame that waits here can be overtaken, expire, or make room. A frame that the
/// half holds can be overtaken and expire only if the half [gives it back](Transmit::recall);
/// otherwise the half alone decides about it.
///
/// Counters stay true, and every sum adds up: [`TxCounters::equation`].
pub struct QueuedTransmitter<H> {
    half: H,
    rules: QueueRules,
    waiting: WaitingFrames,
    /// Frames taken, and those that were given up here.
    counters: TxCounters,
    witness: Option<Witness>,
}

impl<H: Transmit> QueuedTransmitter<H> {
    /// Creates a queue in front of `half`. It allocates all its memory here.
    pub fn new(half: H, rules: QueueRules) -> Self {
        Self {
            half,
            waiting: WaitingFrames::new(&rules),
            rules,
            counters: TxCounters::default(),
            witness: None,
        }
    }

    /// Returns the same queue with a `witness` that is called for each frame that is given up, for
    /// a caller that must know which frames these were, and not only how many.
    #[must_use]
    pub fn with_witness(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Removes a frame from the queue and counts it by its reason.
    fn give_up(&mut self, place: WaitingPlace, why: GivenUp) {
        self.notify_witness(place, why);
        self.waiting.remove(place);
        self.count(why);
    }

    #[inline]
    fn notify_witness(&mut self, place: WaitingPlace, why: GivenUp) {
        if let Some(witness) = &mut self.witness
            && let Some((token, frame)) = self.waiting.at(place)
        {
            witness(token, frame, why);
        }
    }

    const fn count(&mut self, why: GivenUp) {
        let counter = match why {
            GivenUp::Expired => &mut self.counters.expired,
            GivenUp::Displaced => &mut self.counters.displaced,
            GivenUp::Lost => &mut self.counters.lost,
        };
        *counter += 1;
    }

    /// Returns the half behind the queue.
    #[must_use]
    pub const fn half(&self) -> &H {
        &self.half
    }

    /// Drops frames that have waited too long.
    fn expire(&mut self, now: Nanos) {
        let Some(max_age) = self.rules.max_age else {
            return;
        };
        while let Some((place, since)) = self.waiting.oldest()
            && now.saturating_sub(since) >= max_age
        {
            self.give_up(place, GivenUp::Expired);
        }
        let too_old = |since| now.saturating_sub(since) >= max_age;
        if self.waiting.lent_since().is_some_and(too_old) && self.half.recall() {
            if let Some(place) = self.waiting.lent() {
                self.notify_witness(place, GivenUp::Expired);
            }
            self.waiting.end_loan();
            self.count(GivenUp::Expired);
        }
    }

    /// Gives frames to the half, as long as it holds none.
    fn pass_on(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let mut all = FlushReport::default();
        if self.waiting.overtakes() && self.half.recall() {
            self.waiting.take_back();
        }
        loop {
            let report = self.half.flush(now)?;
            all.sent += report.sent;
            all.held = report.held;
            if self.half.counters().held > 0 {
                break;
            }
            self.waiting.end_loan();
            let Some((place, outgoing)) = self.waiting.next() else {
                break;
            };
            match self.half.transmit(now, outgoing) {
                Ok(Accepted) => self.waiting.lend(place),
                Err(TransmitRefusal::Full) => break,
                Err(TransmitRefusal::Unsupported) => {
                    self.give_up(place, GivenUp::Lost);
                }
                Err(TransmitRefusal::Down) => {
                    self.lose_all();
                    break;
                }
            }
        }
        all.held += self.waiting.len();
        Ok(all)
    }

    /// Drops all waiting frames as lost, because the half behind the queue is down, as in any other
    /// half.
    fn lose_all(&mut self) {
        while let Some((place, _)) = self.waiting.oldest() {
            self.give_up(place, GivenUp::Lost);
        }
    }

    /// Returns the frame that makes room for a new one, if there is one.
    fn displaced_by(&self, outgoing: &OutgoingFrame<'_>) -> Option<WaitingPlace> {
        match self.rules.when_full {
            WhenFull::DropOldest => self.waiting.yields_to(outgoing.frame.header()),
            WhenFull::Refuse | WhenFull::Wait => None,
        }
    }
}

impl<H: Transmit> Transmit for QueuedTransmitter<H> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if let Some(why) = self.half.refuses(now, &outgoing) {
            return Err(why);
        }
        if !self.waiting.fits(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        self.expire(now);
        if self.waiting.room() == 0 {
            // A batch can be larger than the queue, and the half has not been called for it yet.
            // Errors show in the counters.
            let _ = self.pass_on(now);
        }
        if self.waiting.room() == 0 {
            let place = self.displaced_by(&outgoing).ok_or(TransmitRefusal::Full)?;
            self.give_up(place, GivenUp::Displaced);
        }
        if !self.waiting.push(now, &outgoing) {
            return Err(TransmitRefusal::Full);
        }
        self.counters.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.expire(now);
        self.pass_on(now)
    }

    fn deadline(&self) -> Option<Nanos> {
        let too_old = self.rules.max_age.and_then(|max_age| {
            let (_, since) = self.waiting.oldest()?;
            Some(since.saturating_add(max_age))
        });
        too_old.into_iter().chain(self.half.deadline()).min()
    }

    fn counters(&self) -> TxCounters {
        let mut all = self.half.counters();
        // What the half took, it took from this queue.
        all.taken = 0;
        all.held += self.waiting.len() as u64;
        all.add(&self.counters);
        all
    }

    fn room(&self) -> usize {
        match self.half.room() {
            // The half refuses frames for another reason.
            usize::MAX => usize::MAX,
            _ => self.waiting.room(),
        }
    }

    fn refuses(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        let fits = self.waiting.fits(&outgoing.frame);
        let other = (!fits).then_some(TransmitRefusal::Unsupported);
        self.half.refuses(now, outgoing).or(other)
    }

    /// Only without frames in the queue: those were counted as lost when the port failed.
    fn retry_at(&self) -> Option<Nanos> {
        self.half.retry_at().filter(|_| self.waiting.len() == 0)
    }

    fn makes_wait(&self) -> bool {
        self.rules.when_full == WhenFull::Wait
    }

    fn remarks(&self) -> Vec<String> {
        self.half.remarks()
    }
}
