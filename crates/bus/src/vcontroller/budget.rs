//! The share of the bus that a function may take.

use frame::{Frame, Nanos, wire};

/// The unit in which a budget is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BudgetUnit {
    /// Frames.
    Frames,
    /// Bits on the wire, including stuff bits, intermission and the bits of a data phase.
    Bits,
}

/// A rate and a burst: a token bucket that fills by `amount` every `per`, up to `burst`, and pays
/// for each attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SendBudget {
    /// The unit of `amount` and `burst`.
    pub unit: BudgetUnit,
    /// Amount per `per`; 0 allows nothing after the first burst.
    pub amount: u32,
    /// The period of `amount`, ns; at least 1.
    pub per: Nanos,
    /// Maximum amount at once after a pause; a frame that costs more than this waits for a full
    /// bucket.
    pub burst: u32,
}

/// The level of a bucket, in parts of which `per` make one unit, so that nothing is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetBucket {
    budget: SendBudget,
    parts: u128,
    at: Nanos,
}

impl BudgetBucket {
    /// Creates a full bucket.
    pub(crate) fn new(budget: SendBudget, now: Nanos) -> Self {
        let mut bucket = Self {
            budget,
            parts: 0,
            at: now,
        };
        bucket.parts = bucket.most();
        bucket
    }

    fn per(&self) -> u128 {
        u128::from(self.budget.per.max(1))
    }

    fn most(&self) -> u128 {
        u128::from(self.budget.burst) * self.per()
    }

    /// Returns the level at a time; a time before the last one counts as the last one.
    fn level(&self, now: Nanos) -> u128 {
        let since = u128::from(now.saturating_sub(self.at));
        let came = since.saturating_mul(u128::from(self.budget.amount));
        self.parts.saturating_add(came).min(self.most())
    }

    /// Returns the level that is required for an attempt with this frame.
    fn needed(&self, frame: &Frame) -> u128 {
        (self.cost(frame) * self.per()).min(self.most())
    }

    fn cost(&self, frame: &Frame) -> u128 {
        match self.budget.unit {
            BudgetUnit::Frames => 1,
            BudgetUnit::Bits => {
                wire::length(frame.view()).map_or(u128::MAX >> 64, |length| length.bits().into())
            }
        }
    }

    /// Returns whether this frame may be tried now.
    pub(crate) fn allows(&self, frame: &Frame, now: Nanos) -> bool {
        self.level(now) >= self.needed(frame)
    }

    /// Returns the time at which the frame may be tried; `None`: never.
    pub(crate) fn allows_at(&self, frame: &Frame, now: Nanos) -> Option<Nanos> {
        let lacks = self.needed(frame).saturating_sub(self.level(now));
        if lacks == 0 {
            return Some(now);
        }
        let amount = u128::from(self.budget.amount);
        let wait = (amount > 0).then(|| lacks.div_ceil(amount))?;
        now.checked_add(u64::try_from(wait).ok()?)
    }

    /// Charges the bucket for an attempt.
    pub(crate) fn pay(&mut self, frame: &Frame, now: Nanos) {
        let level = self.level(now);
        self.parts = level.saturating_sub(self.cost(frame) * self.per());
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::CanId;
    use proptest::prelude::*;

    fn frame() -> Frame {
        Frame::classic(CanId::from_raw(0x123), &[0xAA; 8]).unwrap()
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let budget = SendBudget {
            unit: BudgetUnit::Frames,
            amount: 2,
            per: 1_000,
            burst: 3,
        };
        let mut bucket = BudgetBucket::new(budget, 0);
        for _ in 0..3 {
            assert!(bucket.allows(&frame(), 0));
            bucket.pay(&frame(), 0);
        }
        assert_eq!(bucket.allows_at(&frame(), 0), Some(500));
        assert!(!bucket.allows(&frame(), 499) && bucket.allows(&frame(), 500));
        bucket.pay(&frame(), 500);
        assert_eq!(bucket.allows_at(&frame(), 600), Some(1_000));
        // A long pause fills it only up to the burst.
        assert_eq!(bucket.level(1_000_000), 3_000);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let budget = SendBudget {
            unit: BudgetUnit::Bits,
            amount: 0,
            per: 1,
            burst: 200,
        };
        let mut bucket = BudgetBucket::new(budget, 0);
        bucket.pay(&frame(), 0);
        bucket.pay(&frame(), 0);
        assert_eq!(bucket.allows_at(&frame(), 5), None);
    }

    proptest! {
        /// No span of time has more attempts than its rate and one burst pay for.
        #[test]
        fn no_span_gets_more_than_its_rate_and_a_burst(
            amount in 1u32..50, per in 1u64..10_000, burst in 1u32..20,
            tries in prop::collection::vec(0u64..500, 1..200),
        ) {
            let budget = SendBudget { unit: BudgetUnit::Frames, amount, per, burst };
            let mut bucket = BudgetBucket::new(budget, 0);
            let (mut now, mut paid) = (0, std::vec::Vec::new());
            for pause in tries {
                now += pause;
                if bucket.allows(&frame(), now) {
                    bucket.pay(&frame(), now);
                    paid.push(now);
                } else {
                    let at = bucket.allows_at(&frame(), now).unwrap();
                    prop_assert!(at > now && bucket.allows(&frame(), at) && !bucket.allows(&frame(), at - 1));
                }
            }
            for (i, first) in paid.iter().enumerate() {
                for (n, last) in paid[i..].iter().enumerate() {
                    let most = u128::from(burst) + u128::from(last - first) * u128::from(amount) / u128::from(per);
                    prop_assert!(n as u128 <= most);
                }
            }
        }
    }
}
