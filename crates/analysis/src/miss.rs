//! Errors that occur at random, and the probability that a deadline is missed.
//!
//! # The model
//! Errors on a bus are a Poisson process: they do not depend on one another, nor on the traffic,
//! and 1 / μ of them occur in a second, μ being their mean distance. (Broster, Burns,
//! Rodríguez-Navas, *Probabilistic analysis of CAN with faults*, RTSS 2002, use this process, and
//! examine how many errors a deadline allows. They consider the first frame of a busy period and
//! deadlines up to the period. The following is derived here; it considers all frames, arbitrary
//! deadlines, and queues.)
//!
//! # The argument
//! Let a frame be due to end at t, its event plus its deadline, and let it end later. Let *s* be
//! the beginning of its busy period in the sense of [`mod@crate::queue`]'s second derivation, which
//! does not depend on how long others wait: *s* is the last instant up to its release before which
//! no frame of H was open. Let L = t − *s*. It is released at most its jitter J after its event, so
//! L is at least deadline − J =: L₀, and it is released at most L − L₀ after *s*.
//!
//! Let the frame be released x after *s*, so that L = L₀ + x or less, and let k errors occur from
//! *s* to t, each at a cost of c ([`mod@crate::window`]). The frame starts at the latest at w after
//! *s*, the smallest solution of
//!
//! > w = blocking + ahead (x) + Σ releases (w + joins) · length + k · c,
//!
//! where `ahead` is the frames of its own message, and of its own queue, that are released up to
//! it. It ends in time if w + C, where C is its length, is at most L₀ + x. Between the instants at
//! which `ahead` steps up, a later x only gives more time. So let L_k be the greatest w + C of all
//! instants x at which w + C > L₀ + x. If L > L_k, or if there is no such instant, k errors are not
//! enough. So a frame that is late has a k with L ≤ L_k and at least k errors in the time L before
//! t (the least number that is enough), and so at least k errors in the time L_k before t. t does
//! not depend on errors, so their number in this time has a Poisson distribution with the mean L_k
//! / μ:
//!
//! > P (late) ≤ Σ P (Poisson (L_k / μ) ≥ k), over all k for which there is an L_k.
//!
//! (A message that follows only its own frames is considered frame by frame: with q before it, its
//! event is at least q periods after the earliest event of the first, so L is at least L₀ + q ·
//! period, or L₀ + [`Arrival::due`] (q); L_k is then the greatest w + C of those above this.)
//!
//! If the sum includes k = 0, the deadline can be missed without errors, and the bound is 1. L_k is
//! at most (the terms that do not depend on w + k · c) / (1 − load), which ends the list of
//! instants. The sum ends where the rest is small, by P (Poisson (m) ≥ k) ≤ (x · e^(1 − x))^k with
//! x = m / k below 1 (Chernoff). The rest is included in the result.
//!
//! Not included: nodes that go error-passive because errors are frequent; errors that occur in
//! bursts.

use crate::compiled::CompiledBus;
use crate::model::SendOrder;
use crate::window::{BusyWindow, LONGEST};
use crate::{Arrival, QueueService};
use alloc::vec::Vec;
use frame::Nanos;

/// The number of errors up to which each is considered individually.
const MAX_ERRORS: u64 = 10_000;
/// The rest of the sum is at most this part of it.
const REST: f64 = 1e-3;

/// Smaller probabilities are returned as this: it is far below the accuracy of any model of errors.
pub const LEAST_PROBABILITY: f64 = 1e-30;

/// A frame that must end in time.
struct DeadlineFrame<'w> {
    window: &'w BusyWindow,
    /// Its length, ns.
    frame: Nanos,
    /// L₀, ns.
    shortest: Nanos,
    /// The messages of its own and of its queue, with the time that a frame of each occupies, ns;
    /// whether they count only up to its release.
    own: Vec<(Arrival, Nanos, bool)>,
    /// The time that a frame of its own message occupies, ns: the frame itself is among those
    /// ahead.
    itself: Nanos,
    /// c, ns.
    cost: Nanos,
}

impl CompiledBus {
    /// For each message, returns an upper bound on the probability that a frame misses its
    /// deadline, with errors at random, one in [`crate::BusSpec::random_errors`] on average. `None`
    /// without such errors, and for messages that a gateway passes on: their releases depend on
    /// errors. `deadlines` are those of the messages, in their order.
    #[must_use]
    pub fn misses(&self, deadlines: &[Nanos]) -> Vec<Option<f64>> {
        let mean = self.random_errors;
        let services: Vec<QueueService> = self
            .orders
            .iter()
            .map(|order| match order {
                SendOrder::Priority => QueueService::Priority,
                // Whether buffers hold all frames that can wait is not known for an arbitrary
                // number of errors.
                SendOrder::Mailboxes(_) => QueueService::Queue,
            })
            .collect();
        let arrivals = self.arrivals();
        let each = (0..self.messages.len()).zip(deadlines);
        each.map(|(i, deadline)| {
            let passed_on = self.messages.iter().any(|m| m.source.is_some());
            match mean {
                Some(mean) if !passed_on => {
                    Some(self.miss(i, *deadline, mean, &arrivals, &services))
                }
                _ => None,
            }
        })
        .collect()
    }

    fn miss(
        &self,
        index: usize,
        deadline: Nanos,
        mean: Nanos,
        arrivals: &[Arrival],
        services: &[QueueService],
    ) -> f64 {
        let sent = self.messages[index];
        let queue = services[sent.node] == QueueService::Queue;
        let own = match queue {
            true => self.of_node(sent.node),
            false => [index].into(),
        };
        let overtaken = |i: usize| match self.orders[sent.node] {
            SendOrder::Mailboxes(n) if n.get() > 1 => self.messages[i].key < sent.key,
            _ => false,
        };
        // With any phase: offsets are not used here, which is safe.
        let window = self.window(self.all_but(&own, arrivals, services), &own);
        let occupied = |i: usize| self.messages[i].occupied.saturating_add(window.pause);
        let longest = own.iter().map(|&i| occupied(i));
        let longest = longest
            .chain(window.rivals.iter().map(|r| r.occupied))
            .max();
        let wanted = DeadlineFrame {
            frame: sent.frame,
            shortest: deadline.saturating_sub(sent.arrival.jitter()),
            own: own
                .iter()
                .map(|&i| (arrivals[i], occupied(i), !overtaken(i)))
                .collect(),
            itself: sent.occupied,
            cost: longest.unwrap_or(0).saturating_add(self.error_frame()),
            window: &window,
        };
        wanted.missed(mean)
    }
}

impl DeadlineFrame<'_> {
    fn missed(&self, mean: Nanos) -> f64 {
        let Some((fixed, part)) = self.line() else {
            return 1.0;
        };
        let mut sum = 0.0;
        for k in 0..MAX_ERRORS {
            let Some(window) = self.longest(k, fixed, part) else {
                return 1.0;
            };
            if window > 0 {
                sum += at_least(k, window as f64 / mean as f64);
            }
            if sum >= 1.0 {
                return 1.0;
            }
            // Bound on all further terms, whose L_k are on or below the line.
            let next = (k + 1) as f64;
            let most = (fixed + next * self.cost as f64) / part;
            let x = most / mean as f64 / next;
            if x < 1.0 {
                let base = x * libm::exp(1.0 - x);
                let rest = libm::pow(base, next) / (1.0 - base);
                if rest <= (sum * REST).max(LEAST_PROBABILITY) {
                    return (sum + rest).clamp(LEAST_PROBABILITY, 1.0);
                }
            }
        }
        1.0
    }

    /// Returns the part that does not depend on L, ns, and the part of the bus that is left: L_k ≤
    /// (first + k · c) / second. `None` if nothing is left.
    fn line(&self) -> Option<(f64, f64)> {
        let rivals = self.window.rivals.iter().map(|r| (r.arrival, r.occupied));
        let own = self
            .own
            .iter()
            .map(|(arrival, occupied, _)| (*arrival, *occupied));
        let mut part = 1.0;
        let mut fixed = (self.frame + self.window.blocking) as f64;
        for (arrival, occupied) in rivals.chain(own) {
            let of_it = occupied as f64 * arrival.rate();
            part -= of_it;
            // ⌊(t + jitter) / period⌋ + 1 ≤ (t + jitter + period) / period, with t up to L + joins.
            // By a list, the time in which releases repeat takes the place of the period.
            let (_, time) = arrival.long_run();
            let more = arrival.jitter() as f64 + time as f64;
            fixed += of_it * (more + self.window.joins as f64);
        }
        (part > 1e-9).then_some((fixed, part))
    }

    /// Returns L_k, 0 if there is none; `None` if it can be too long for a search.
    fn longest(&self, errors: u64, fixed: f64, part: f64) -> Option<Nanos> {
        let errors = errors.saturating_mul(self.cost);
        let most = (fixed + errors as f64) / part;
        if most >= LONGEST as f64 {
            return None;
        }
        // Released later than this, there is no L_k. Plus a margin for the rounding of the numbers.
        let last =
            (most as Nanos + most as Nanos / 1_000_000_000 + 1).saturating_sub(self.shortest);
        if let [(arrival, occupied, _)] = self.own[..] {
            return self.longest_alone(arrival, occupied, errors, last);
        }
        let counts = self.own.iter().flat_map(|(arrival, _, _)| {
            let count = arrival.most_within(last);
            (0..count).map(|n| arrival.earliest(n))
        });
        let mut instants: Vec<Nanos> = counts.collect();
        instants.sort_unstable();
        instants.dedup();
        let (mut longest, mut from) = (0, 0);
        for released in instants {
            let own = |until: Nanos| {
                let each = self.own.iter().map(|(arrival, occupied, ahead_only)| {
                    let until = match ahead_only {
                        true => released,
                        false => until.max(released),
                    };
                    arrival.most_within(until).saturating_mul(*occupied)
                });
                each.fold(0, u64::saturating_add)
            };
            let ahead = own(released);
            let others = ahead.saturating_sub(self.itself).saturating_add(errors);
            let overtaking = |until: Nanos| own(until).saturating_sub(ahead);
            let start = self
                .window
                .start(others, self.frame, from, overtaking)
                .ok()?;
            from = start.at;
            let end = start.at.saturating_add(self.frame);
            if end > self.shortest.saturating_add(released) {
                longest = longest.max(end);
            }
        }
        Some(longest)
    }
}

impl DeadlineFrame<'_> {
    /// Returns L_k of a message that only follows frames of its own: the event of frame q, which
    /// follows q of them, is at least q periods after the earliest event of the first.
    fn longest_alone(
        &self,
        arrival: Arrival,
        occupied: Nanos,
        errors: Nanos,
        last: Nanos,
    ) -> Option<Nanos> {
        let (mut longest, mut from) = (0, 0);
        for q in 0..arrival.most_within(last) {
            let ahead = q.saturating_mul(occupied).saturating_add(errors);
            let start = self.window.start(ahead, self.frame, from, |_| 0).ok()?;
            from = start.at;
            let end = start.at.saturating_add(self.frame);
            let since = arrival.due(q);
            if end > self.shortest.saturating_add(since) {
                longest = longest.max(end);
            }
        }
        Some(longest)
    }
}

/// Returns P (Poisson (mean) ≥ k), or a value above it.
fn at_least(k: u64, mean: f64) -> f64 {
    if k == 0 || mean >= k as f64 {
        return 1.0;
    }
    let n = k as f64;
    // The first term, and the others by their ratio, which is at most mean / (k + 1).
    let first =
        libm::exp(n * libm::log(mean.max(f64::MIN_POSITIVE)) - mean - libm::lgamma(n + 1.0));
    (first / (1.0 - mean / (n + 1.0))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_poisson_distribution() {
        // 1 − e^(−m) − … by hand.
        for (k, mean, exact) in [
            (1, 0.1, 0.095_162_581_964_040_48),
            (2, 0.1, 0.004_678_840_160_444_49),
            (3, 1.5, 0.191_153_169_461_941_8),
            (10, 2.0, 4.649_807_501_726_38e-5),
        ] {
            let found = at_least(k, mean);
            assert!(found >= exact * (1.0 - 1e-9), "{k} {mean}: {found}");
            assert!(found <= exact * 1.2, "{k} {mean}: {found}");
        }
        assert_eq!(at_least(0, 0.0), 1.0);
        assert_eq!(at_least(3, 3.5), 1.0);
        assert_eq!(at_least(5, 0.0), 0.0);
    }
}
