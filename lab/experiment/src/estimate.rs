//! How long many experiments will take, judged by those that were made.

use crate::experiment::Experiment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long the rest will take. Time is passed in: it is the time since the beginning.
///
/// The work is of two kinds, which follow each other: experiments that are known, and the tries of
/// searches, which are only expected. The tries of one search come one after the other.
#[derive(Clone, Debug)]
pub struct Estimate {
    jobs: usize,
    /// The cost of known experiments that have not begun.
    waiting: f64,
    /// By number: the cost of those that run, and when they began.
    running: BTreeMap<usize, (f64, Duration)>,
    /// How many of the first ones are still to begin. Their guests may have to be booted and saved,
    /// which later ones need not: they are not judged by.
    first: usize,
    /// The numbers of the first ones that run.
    not_judged: BTreeSet<usize>,
    /// The cost of all tries that are expected, and of those of the longest search.
    expected: (f64, f64),
    /// What was made: its cost, the seconds that it took in its guests, and its number.
    made: (f64, f64, usize),
}

impl Estimate {
    /// With so many guests at a time; nothing is to be made yet.
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

    /// These are to be made, too.
    pub fn plan<'e>(&mut self, experiments: impl IntoIterator<Item = &'e Experiment>) {
        for experiment in experiments {
            self.waiting += cost(experiment);
        }
    }

    /// Besides what is planned, so many tries of these experiments are expected, each list one
    /// after the other. It takes the place of what was expected before.
    pub fn expect<'e>(&mut self, searches: impl IntoIterator<Item = (&'e Experiment, usize)>) {
        self.expected = (0.0, 0.0);
        for (base, tries) in searches {
            let cost = cost(base) * tries as f64;
            self.expected.0 += cost;
            self.expected.1 = self.expected.1.max(cost);
        }
    }

    /// This one need not be made.
    pub fn leave_out(&mut self, experiment: &Experiment) {
        self.waiting = (self.waiting - cost(experiment)).max(0.0);
    }

    /// This one begins; `number` tells it from others that run.
    pub fn started(&mut self, number: usize, experiment: &Experiment, now: Duration) {
        self.leave_out(experiment);
        self.running.insert(number, (cost(experiment), now));
        if self.first > 0 {
            self.first -= 1;
            self.not_judged.insert(number);
        }
    }

    /// It has ended.
    pub fn ended(&mut self, number: usize, now: Duration) {
        if let Some((cost, began)) = self.running.remove(&number)
            && !self.not_judged.remove(&number)
        {
            self.made.0 += cost;
            self.made.1 += now.saturating_sub(began).as_secs_f64();
            self.made.2 += 1;
        }
    }

    /// What is left; `None` until an experiment was made besides the first ones, of which there are
    /// as many as run at the same time.
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

/// What an experiment costs against others: a guest's start is worth some 3000 frames.
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
    fn nothing_is_said_before_there_is_something_to_judge_by() {
        let all = some(7);
        let mut estimate = Estimate::new(2);
        estimate.plan(&all);
        estimate.leave_out(&all[0]);
        assert_eq!(estimate.left(S(0)), None);
        // Their guests are booted and saved: 100 s that do not come again.
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
        let mut estimate = Estimate::new(2);
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

    /// Makes all by a simulated clock, each in its time; gives what was estimated when, and the
    /// end.
    fn simulate(seconds: &[u64], jobs: usize) -> (Vec<(Duration, Duration)>, Duration) {
        let all = some(seconds.len() as u64);
        let mut estimate = Estimate::new(jobs);
        estimate.plan(&all);
        let (mut said, mut now, mut next) = (Vec::new(), Duration::ZERO, 0);
        let mut running: Vec<(Duration, usize)> = Vec::new();
        loop {
            while running.len() < jobs && next < all.len() {
                estimate.started(next, &all[next], now);
                running.push((now + S(seconds[next]), next));
                next += 1;
            }
            running.sort();
            if running.is_empty() {
                return (said, now);
            }
            let (end, number) = running.remove(0);
            now = end;
            estimate.ended(number, now);
            said.extend(estimate.left(now).map(|left| (now, left)));
        }
    }

    proptest! {
        /// Experiments of equal cost take between 20 and 60 s, in any order. Once a quarter of them
        /// is made, what is said to be left is at most twice and at least half of what is, give or
        /// take the longest experiment.
        #[test]
        fn what_is_said_holds_within_a_factor_of_two(
            seconds in prop::collection::vec(20u64..=60, 8..60),
            jobs in 1usize..5,
        ) {
            let (said, end) = simulate(&seconds, jobs);
            let quarter = seconds.len() / 4;
            for (now, left) in said.iter().skip(quarter) {
                let truth = end.saturating_sub(*now);
                prop_assert!(*left <= truth * 2 + S(60), "{left:?} of {truth:?} at {now:?}");
                prop_assert!(*left * 2 + S(60) >= truth, "{left:?} of {truth:?} at {now:?}");
            }
            // The last word is right.
            prop_assert_eq!(said.last().map(|last| last.1), Some(Duration::ZERO));
        }
    }
}
