//! Estimate of the time that many experiments will take, based on those already made.

use crate::settings::Experiment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The estimate of the remaining time. The current time is passed in, as the time since the
/// beginning.
///
/// The work is of two kinds, which follow each other: experiments that are known, and the attempts
/// of searches, which are only expected. The attempts of one search come one after the other.
#[derive(Clone, Debug)]
pub struct TimeEstimate {
    jobs: usize,
    /// The cost of known experiments that have not begun.
    waiting: f64,
    /// By number: the cost of each running experiment, and the time at which it began.
    running: BTreeMap<usize, (f64, Duration)>,
    /// The number of first experiments that have not yet begun. Their guests may have to be booted
    /// and saved, which is not necessary for later ones: estimates are not based on them.
    first: usize,
    /// The numbers of the first experiments that are running.
    not_judged: BTreeSet<usize>,
    /// The cost of all expected attempts, and of those of the longest search.
    expected: (f64, f64),
    /// The completed experiments: their cost, the seconds that they took in their guests, and their
    /// number.
    made: (f64, f64, usize),
}

impl TimeEstimate {
    /// Creates an estimate for this many concurrent guests, with no planned experiment.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self {
            jobs: jobs.max(1),
            waiting: 0.0,
            running: BTreeMap::new(),
            first: jobs.max(1),
            not_judged: BTreeSet::new(),
            expected: (0.0, 0.0),
            made: (0.0, 0.0, 0),
        }
    }

    /// Adds planned experiments.
    pub fn plan<'e>(&mut self, experiments: impl IntoIterator<Item = &'e Experiment>) {
        for experiment in experiments {
            self.waiting += cost(experiment);
        }
    }

    /// Sets the expected attempts, in addition to the planned experiments: for each search its
    /// experiment and the number of attempts, which come one after the other. This replaces the
    /// previous expectation.
    pub fn expect<'e>(&mut self, searches: impl IntoIterator<Item = (&'e Experiment, usize)>) {
        self.expected = (0.0, 0.0);
        for (base, tries) in searches {
            let cost = cost(base) * tries as f64;
            self.expected.0 += cost;
            self.expected.1 = self.expected.1.max(cost);
        }
    }

    /// Removes an experiment that need not be made.
    pub fn leave_out(&mut self, experiment: &Experiment) {
        self.waiting = (self.waiting - cost(experiment)).max(0.0);
    }

    /// Records the start of an experiment; `number` distinguishes it from others that are running.
    pub fn started(&mut self, number: usize, experiment: &Experiment, now: Duration) {
        self.leave_out(experiment);
        self.running.insert(number, (cost(experiment), now));
        if self.first > 0 {
            self.first -= 1;
            self.not_judged.insert(number);
        }
    }

    /// Records the end of an experiment.
    pub fn ended(&mut self, number: usize, now: Duration) {
        if let Some((cost, began)) = self.running.remove(&number)
            && !self.not_judged.remove(&number)
        {
            self.made.0 += cost;
            self.made.1 += now.saturating_sub(began).as_secs_f64();
            self.made.2 += 1;
        }
    }

    /// Returns the remaining time; `None` until an experiment was completed apart from the first
    /// ones, of which there are as many as run at the same time.
    #[must_use]
    pub fn left(&self, now: Duration) -> Option<Duration> {
        let (cost, seconds, number) = self.made;
        if number == 0 {
            return None;
        }
        let pace = seconds / cost;
        let (mut rest, mut longest) = (0.0, 0.0_f64);
        for (cost, began) in self.running.values() {
            let for_it = pace * cost - now.saturating_sub(*began).as_secs_f64();
            rest += for_it.max(0.0);
            longest = longest.max(for_it);
        }
        let jobs = self.jobs as f64;
        let known = ((pace * self.waiting + rest) / jobs).max(longest);
        let (all, one) = self.expected;
        let expected = pace * (all / jobs).max(one);
        Duration::try_from_secs_f64(known + expected).ok()
    }
}

/// Returns the relative cost of an experiment: the start of a guest is equivalent to some 3000
/// frames.
fn cost(experiment: &Experiment) -> f64 {
    3000.0 + f64::from(experiment.frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(n: u64) -> Vec<Experiment> {
        let one = |seed| Experiment {
            seed,
            ..Experiment::default()
        };
        (0..n).map(one).collect()
    }

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn nothing_is_reported_before_there_is_something_to_judge_by() {
        let all = some(7);
        let mut estimate = TimeEstimate::new(2);
        estimate.plan(&all);
        estimate.leave_out(&all[0]);
        assert_eq!(estimate.left(S(0)), None);
        // Their guests are booted and saved: 100 s that do not recur.
        estimate.started(1, &all[1], S(0));
        estimate.started(2, &all[2], S(0));
        estimate.ended(1, S(110));
        estimate.ended(2, S(110));
        assert_eq!(estimate.left(S(110)), None, "nothing else was made");
        estimate.started(3, &all[3], S(110));
        estimate.started(4, &all[4], S(110));
        estimate.ended(3, S(120));
        estimate.ended(4, S(120));
        assert_eq!(estimate.left(S(120)), Some(S(10)), "two, side by side");
        estimate.started(5, &all[5], S(120));
        estimate.started(6, &all[6], S(120));
        assert_eq!(estimate.left(S(124)), Some(S(6)));
        estimate.ended(5, S(130));
        estimate.ended(6, S(130));
        assert_eq!(estimate.left(S(130)), Some(S(0)));
    }

    #[test]
    fn rounds_that_are_to_come_count() {
        let base = some(3);
        let mut estimate = TimeEstimate::new(2);
        estimate.plan(&base);
        estimate.expect([(&base[0], 11)]);
        for (number, experiment) in base.iter().enumerate() {
            estimate.started(number, experiment, S(0));
            estimate.ended(number, S(8));
        }
        // One after the other, whatever could run at the same time.
        assert_eq!(estimate.left(S(8)), Some(S(88)));
        estimate.expect([(&base[0], 2), (&base[0], 2), (&base[0], 2)]);
        assert_eq!(
            estimate.left(S(8)),
            Some(S(24)),
            "three of two tries on two guests"
        );
    }

    /// Runs all experiments by a simulated clock, each in its time; returns the estimates with
    /// their times, and the end.
    fn simulate(seconds: &[u64], jobs: usize) -> (Vec<(Duration, Duration)>, Duration) {
        let all = some(seconds.len() as u64);
        let mut estimate = TimeEstimate::new(jobs);
        estimate.plan(&all);
        let (mut output, mut now, mut next) = (Vec::new(), Duration::ZERO, 0);
        let mut running: Vec<(Duration, usize)> = Vec::new();
        loop {
            while running.len() < jobs && next < all.len() {
                estimate.started(next, &all[next], now);
                running.push((now + S(seconds[next]), next));
                next += 1;
            }
            running.sort();
            if running.is_empty() {
                return (output, now);
            }
            let (end, number) = running.remove(0);
            now = end;
            estimate.ended(number, now);
            output.extend(estimate.left(now).map(|left| (now, left)));
        }
    }

    proptest! {
        /// Experiments of equal cost take between 20 and 60 s, in any order. Once a quarter of them
        /// is made, the estimated remaining time is at most twice and at least half of the actual
        /// one, plus or minus the longest experiment.
        #[test]
        fn what_is_reported_holds_within_a_factor_of_two(
            seconds in prop::collection::vec(20u64..=60, 8..60),
            jobs in 1usize..5,
        ) {
            let (output, end) = simulate(&seconds, jobs);
            let quarter = seconds.len() / 4;
            for (now, left) in output.iter().skip(quarter) {
                let truth = end.saturating_sub(*now);
                prop_assert!(*left <= truth * 2 + S(60), "{left:?} of {truth:?} at {now:?}");
                prop_assert!(*left * 2 + S(60) >= truth, "{left:?} of {truth:?} at {now:?}");
            }
            // The last estimate is correct.
            prop_assert_eq!(output.last().map(|last| last.1), Some(Duration::ZERO));
        }
    }
}
