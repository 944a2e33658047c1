//! How long many experiments will take.

use crate::experiment::Experiment;
use std::time::{Duration, Instant};

/// How long the rest will take, judged by what was done.
#[derive(Clone, Debug)]
pub struct Estimate {
    started: Instant,
    cost_left: f64,
    cost_done: f64,
}

impl Estimate {
    /// For these experiments, from now on.
    #[must_use]
    pub fn new<'e>(experiments: impl IntoIterator<Item = &'e Experiment>) -> Self {
        Self {
            started: Instant::now(),
            cost_left: experiments.into_iter().map(cost).sum(),
            cost_done: 0.0,
        }
    }

    /// This one need not be made.
    pub fn leave_out(&mut self, experiment: &Experiment) {
        self.cost_left = (self.cost_left - cost(experiment)).max(0.0);
    }

    /// This one is made.
    pub fn done(&mut self, experiment: &Experiment) {
        self.leave_out(experiment);
        self.cost_done += cost(experiment);
    }

    /// What is left; `None` before anything was done.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = elapsed * self.cost_left / self.cost_done;
        Duration::try_from_secs_f64(left).ok()
    }
}

/// What an experiment costs against others: a guest's start is worth some 3000 frames.
fn cost(experiment: &Experiment) -> f64 {
    3000.0 + f64::from(experiment.frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(n: u64) -> Vec<Experiment> {
        let one = |seed| Experiment {
            seed,
            ..Experiment::default()
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn what_is_left_is_judged_by_what_was_done() {
        let all = some(4);
        let mut estimate = Estimate::new(&all);
        assert_eq!(estimate.left(), None);
        estimate.leave_out(&all[0]);
        estimate.done(&all[1]);
        let elapsed = estimate.started.elapsed().as_secs_f64();
        let left = estimate.left().unwrap().as_secs_f64();
        assert!(
            left >= 2.0 * elapsed && left < 2.0 * estimate.started.elapsed().as_secs_f64() + 1e-3
        );
        estimate.done(&all[2]);
        estimate.done(&all[3]);
        assert_eq!(estimate.left(), Some(Duration::ZERO));
    }
}
