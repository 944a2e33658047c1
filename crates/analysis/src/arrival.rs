//! The times at which a message is released.

use crate::curve::{ArrivalCurve, ArrivalError, divided};
use core::num::{NonZeroU8, NonZeroU64};
use frame::Nanos;

/// The releases of a message: given either by a period, or by a list of least distances.
///
/// **By a period**, according to the standard event model: a period, a jitter and a least distance
/// (Richter, *Compositional Scheduling Analysis Using Standard Event Models*, 2005, §3.2). Event
/// number n is due at n · period. It releases a frame at most `jitter` later, and at least
/// `distance` after the frame before it. A message without a fixed period (a sporadic one) has its
/// least distance as its period, and no jitter.
///
/// **By a list** of the least time that 2, 3, 4 … consecutive events span, an arrival curve:
/// [`mod@crate::curve`]. Each releases a frame at once; gateways and queues add a jitter.
///
/// An event can release several frames ([`Arrival::in_parts`]), each within the jitter: release
/// number n, from 0, is then of event ⌊n / parts⌋.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    due: EventTimes,
    jitter: Nanos,
    distance: Nanos,
    /// The number of frames that an event releases.
    parts: NonZeroU64,
}

/// The due times of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventTimes {
    Period(Nanos),
    Curve(ArrivalCurve),
}

impl Arrival {
    /// Creates an arrival by a period. Times in ns.
    ///
    /// # Errors
    /// [`ArrivalError`]
    pub const fn new(period: Nanos, jitter: Nanos, distance: Nanos) -> Result<Self, ArrivalError> {
        if period == 0 {
            return Err(ArrivalError::NoPeriod);
        }
        if distance > period {
            return Err(ArrivalError::Distance);
        }
        Ok(Self {
            due: EventTimes::Period(period),
            jitter,
            distance,
            parts: NonZeroU64::MIN,
        })
    }

    /// Creates an arrival by a list of the least times that 2, 3, 4 … releases span, ns; at most
    /// [`MAX_DISTANCES`](crate::MAX_DISTANCES).
    ///
    /// # Errors
    /// [`ArrivalError`]
    pub const fn curve(distances: &[Nanos]) -> Result<Self, ArrivalError> {
        match ArrivalCurve::new(distances) {
            Ok(curve) => Ok(Self {
                due: EventTimes::Curve(curve),
                jitter: 0,
                distance: 0,
                parts: NonZeroU64::MIN,
            }),
            Err(error) => Err(error),
        }
    }

    /// Returns the period of the events, ns; by a list, the mean distance of the densest ones in
    /// the long run, rounded down.
    #[must_use]
    pub const fn period(&self) -> Nanos {
        match &self.due {
            EventTimes::Period(period) => *period,
            EventTimes::Curve(curve) => {
                let mean = curve.part_span() / curve.part();
                if mean == 0 { 1 } else { mean }
            }
        }
    }

    /// Returns the list of distances, ns; `None` by a period.
    #[must_use]
    pub fn distances(&self) -> Option<&[Nanos]> {
        match &self.due {
            EventTimes::Period(_) => None,
            EventTimes::Curve(curve) => Some(curve.list()),
        }
    }

    /// Returns the greatest time from an event to the release of its frame, ns.
    #[must_use]
    pub const fn jitter(&self) -> Nanos {
        self.jitter
    }

    /// Returns the least time between two releases, ns; 0 where the jitter, or the list, alone
    /// decides.
    #[must_use]
    pub const fn distance(&self) -> Nanos {
        self.distance
    }

    /// Returns the same events with another jitter; the releases keep `distance` ns apart, or the
    /// period if that is less.
    #[must_use]
    pub const fn with_jitter(self, jitter: Nanos, distance: Nanos) -> Self {
        let period = self.period();
        Self {
            due: self.due,
            jitter,
            distance: if distance < period { distance } else { period },
            parts: self.parts,
        }
    }

    /// Returns the same events, each of which releases this number of frames for one that it
    /// releases now. Nothing keeps them apart.
    #[must_use]
    pub fn in_parts(self, parts: NonZeroU8) -> Self {
        Self {
            parts: self.parts.saturating_mul(parts.into()),
            distance: 0,
            ..self
        }
    }

    /// Returns the same events, each of which releases one frame for this number that it releases
    /// now. If it does not release a multiple of that number, it keeps all.
    #[must_use]
    pub fn joined(self, parts: NonZeroU8) -> Self {
        let parts = NonZeroU64::from(parts);
        let whole = (self.parts.get() % parts == 0).then(|| self.parts.get() / parts);
        let whole = whole.and_then(NonZeroU64::new);
        Self {
            parts: whole.unwrap_or(self.parts),
            ..self
        }
    }

    /// Returns the number of frames that an event releases.
    #[must_use]
    pub const fn parts(&self) -> NonZeroU64 {
        self.parts
    }

    /// Returns the same releases after each was delayed by 0 to `delay` ns more, and kept at least
    /// `distance` ns apart.
    #[must_use]
    pub const fn delayed(self, delay: Nanos, distance: Nanos) -> Self {
        if delay == 0 {
            return self;
        }
        self.with_jitter(self.jitter.saturating_add(delay), distance)
    }

    /// Returns the same with all distances between events divided by `thousandths` / 1000; the
    /// jitter stays.
    #[must_use]
    pub fn faster(self, thousandths: u64) -> Self {
        let due = match self.due {
            EventTimes::Period(period) => EventTimes::Period(divided(period, thousandths).max(1)),
            EventTimes::Curve(curve) => EventTimes::Curve(curve.faster(thousandths)),
        };
        Self { due, ..self }.with_jitter(self.jitter, self.distance)
    }

    /// Returns a count and a time in ns: in the long run, at most that many releases come in that
    /// time. In a time t, both ends included, there are at most count · (t + jitter) / time + count
    /// of them.
    #[must_use]
    pub const fn long_run(&self) -> (u64, Nanos) {
        let parts = self.parts.get();
        match &self.due {
            EventTimes::Period(period) => (parts, *period),
            EventTimes::Curve(curve) => (parts.saturating_mul(curve.part()), curve.part_span()),
        }
    }

    /// Returns the number of releases per nanosecond in the long run.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let (count, time) = self.long_run();
        count as f64 / time as f64
    }

    /// Returns the least time from the event of release 0 to that of release number `n`, ns.
    #[must_use]
    pub fn due(&self, n: u64) -> Nanos {
        let n = n / self.parts;
        match &self.due {
            EventTimes::Period(period) => n.saturating_mul(*period),
            EventTimes::Curve(curve) => curve.span(n),
        }
    }

    /// Returns the greatest number of releases in any interval from t to t + `span` ns, both ends
    /// included.
    ///
    /// Events due from t − jitter to t + span can fall into it: ⌊(span + jitter) / period⌋ + 1,
    /// each with all its frames; and releases that keep their distance: ⌊span / distance⌋ + 1.
    #[must_use]
    pub fn most_within(&self, span: Nanos) -> u64 {
        let due = span.saturating_add(self.jitter);
        let due = match &self.due {
            EventTimes::Period(period) => due / period + 1,
            EventTimes::Curve(curve) => curve.most(due).saturating_add(1),
        };
        let due = due.saturating_mul(self.parts.get());
        if self.distance == 0 {
            return due;
        }
        due.min(span / self.distance + 1)
    }

    /// Returns the same without the interval's last instant: from t to before t + `span` ns.
    #[must_use]
    pub fn most_before(&self, span: Nanos) -> u64 {
        match span {
            0 => 0,
            _ => self.most_within(span - 1),
        }
    }

    /// Returns the earliest time at which release number `n` (from 0) can follow release 0, ns. The
    /// first event was released as late as its jitter allows, the others as early as they can be.
    #[must_use]
    pub fn earliest(&self, n: u64) -> Nanos {
        let by_event = self.due(n).saturating_sub(self.jitter);
        by_event.max(n.saturating_mul(self.distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(Arrival::new(0, 0, 0), Err(ArrivalError::NoPeriod));
        assert_eq!(Arrival::new(9, 0, 10), Err(ArrivalError::Distance));
    }

    #[test]
    fn all_parts_of_an_event_come_at_once() {
        let parts = NonZeroU8::new(3).unwrap();
        let arrival = Arrival::new(100, 10, 5).unwrap().in_parts(parts);
        let times = [0, 1, 2, 3, 4, 5, 6].map(|n| arrival.earliest(n));
        assert_eq!(times, [0, 0, 0, 90, 90, 90, 190]);
        assert_eq!(
            [0, 89, 90, 190].map(|t| arrival.most_within(t)),
            [3, 3, 6, 9]
        );
        assert_eq!([2, 3].map(|n| arrival.due(n)), [0, 100]);
        assert_eq!((arrival.period(), arrival.long_run()), (100, (3, 100)));
        assert_eq!(arrival.joined(parts), Arrival::new(100, 10, 0).unwrap());
        assert_eq!(arrival.joined(NonZeroU8::new(2).unwrap()), arrival);
        let curve = Arrival::curve(&[5, 20]).unwrap().in_parts(parts);
        assert_eq!([0, 5, 20].map(|t| curve.most_within(t)), [3, 6, 9]);
        assert_eq!(curve.long_run(), (6, 20));
    }

    proptest! {
        /// The two representations agree: a release can follow within a span if the earliest one
        /// that does is not later.
        #[test]
        fn counts_and_times_agree(
            period in 1..50_u64,
            jitter in 0..200_u64,
            part in 0..=100_u64,
            span in 0..500_u64,
            parts in 1..5_u8,
        ) {
            let parts = NonZeroU8::new(parts).unwrap();
            let arrival = Arrival::new(period, jitter, 0).unwrap().in_parts(parts);
            let arrival = arrival.with_jitter(jitter, period * part / 100);
            let count = (0..5000).filter(|&n| arrival.earliest(n) <= span).count() as u64;
            // Without a distance and with a long jitter, all delayed releases come at once.
            prop_assert_eq!(arrival.most_within(span), count);
            let before = (0..5000).filter(|&n| arrival.earliest(n) < span).count() as u64;
            prop_assert_eq!(arrival.most_before(span), before);
        }

        /// The same with a list, which a gateway has passed on; and the line is an upper bound.
        #[test]
        fn counts_and_times_of_a_list_agree(
            base in 1..50_u64,
            jitter in 0..200_u64,
            distance in 0..20_u64,
            span in 0..500_u64,
        ) {
            let arrival = Arrival::curve(&[0, base, base, 3 * base]).unwrap();
            let arrival = arrival.delayed(jitter, distance);
            let count = (0..4000).filter(|&n| arrival.earliest(n) <= span).count() as u64;
            prop_assert_eq!(arrival.most_within(span), count);
            let (releases, time) = arrival.long_run();
            let jitter = arrival.jitter();
            prop_assert!(count <= releases * (span + jitter) / time + releases);
            prop_assert_eq!(arrival.period(), (time / releases).max(1));
        }
    }
}
