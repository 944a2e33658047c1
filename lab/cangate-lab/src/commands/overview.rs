//! The progress of many experiments, on standard error.

use super::units::{clock, micros};
use experiment::Experiment;
use experiment::estimate::TimeEstimate;
use experiment::rate::RateSearch;
use experiment::schedule::ScheduleEvent;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// The remaining time, over all rounds of a command.
pub(super) struct TimeLeft {
    estimate: TimeEstimate,
    began: Instant,
    jobs: usize,
    /// Number of experiments of the rounds before: numbering continues from there.
    before: usize,
}

impl TimeLeft {
    /// Starts now, for this many guests at a time.
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            estimate: TimeEstimate::new(jobs),
            began: Instant::now(),
            jobs,
            before: 0,
        }
    }

    /// Sets the searches that will follow. Of those in `now`, one attempt is about to be made.
    pub(super) fn expect(&mut self, searches: &[RateSearch], now: &[Experiment]) {
        let about_to = |search: &RateSearch| {
            let of_it = |e: &&Experiment| search.is_for(e);
            now.iter().filter(of_it).count()
        };
        let tries = searches.iter().map(|search| {
            let left = search.tries_left().saturating_sub(about_to(search));
            (search.base(), left)
        });
        self.estimate.expect(tries);
    }

    /// Returns the time in words; `None` while there is no basis for an estimate.
    fn words(&self) -> Option<String> {
        let left = self.estimate.left(self.began.elapsed())?;
        if left.is_zero() {
            return None;
        }
        Some(format!("about {} left", clock(left)))
    }
}

/// Shows the progress: a bar on a terminal, otherwise a line for each experiment.
pub(super) struct RunOverview<'e> {
    experiments: &'e [Experiment],
    bar: Option<ProgressBar>,
    left: &'e mut TimeLeft,
    announced: bool,
    started: Vec<Option<Instant>>,
    ended: usize,
    failures: Vec<(String, String)>,
}

impl<'e> RunOverview<'e> {
    /// Creates an overview of these experiments.
    pub(super) fn new(experiments: &'e [Experiment], left: &'e mut TimeLeft) -> Self {
        left.estimate.plan(experiments);
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(experiments.len() as u64);
            let style =
                ProgressStyle::with_template("{spinner} {bar:30} {pos}/{len} {elapsed} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            experiments,
            bar,
            left,
            announced: false,
            started: vec![None; experiments.len()],
            ended: 0,
            failures: Vec::new(),
        }
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: ScheduleEvent) {
        match event {
            ScheduleEvent::Kept(n) => self.has_ended(n, false, None),
            ScheduleEvent::FailedBefore(n, failed) => {
                self.failures.push((self.name(n), failed.why));
                self.has_ended(n, false, None);
            }
            ScheduleEvent::Again(n, why) => {
                self.line(&format!("{}: run again: {why}", self.name(n)));
            }
            ScheduleEvent::Started(n) => {
                self.announce();
                let (of, name) = (self.experiments.len(), self.name(n));
                if let Some(e) = self.experiments.get(n) {
                    let now = self.left.began.elapsed();
                    self.left.estimate.started(self.left.before + n, e, now);
                    if self.bar.is_none() {
                        eprintln!("{} of {of} begins: {name}, {} frames", n + 1, e.frames);
                    }
                }
                if let Some(started) = self.started.get_mut(n) {
                    *started = Some(Instant::now());
                }
            }
            ScheduleEvent::Made(n, figures) => {
                let latency = match figures.latency_ns {
                    Some(l) => format!("p50 {} µs, max {} µs", micros(l.p50), micros(l.max)),
                    None if figures.received > 0 => format!("{} received", figures.received),
                    None => "no frame came back".to_owned(),
                };
                self.has_ended(n, true, Some(format!("{latency}, lost {}", figures.lost)));
            }
            ScheduleEvent::Failed(n, failed) => {
                self.has_ended(n, true, Some(format!("failed: {}", failed.why)));
                self.failures.push((self.name(n), failed.why));
            }
        }
    }

    fn name(&self, n: usize) -> String {
        self.experiments
            .get(n)
            .map(Experiment::name)
            .unwrap_or_default()
    }

    fn has_ended(&mut self, n: usize, made: bool, words: Option<String>) {
        self.ended += 1;
        if let Some(e) = self.experiments.get(n) {
            if made {
                let now = self.left.began.elapsed();
                self.left.estimate.ended(self.left.before + n, now);
            } else {
                self.left.estimate.leave_out(e);
            }
        }
        let left = self.left.words().unwrap_or_default();
        if let Some(words) = words {
            let took = self.started.get(n).copied().flatten();
            let took = took.map_or(0.0, |t| t.elapsed().as_secs_f64());
            let text = format!(
                "{}/{} {}: {words} ({took:.1} s{})",
                self.ended,
                self.experiments.len(),
                self.name(n),
                if left.is_empty() {
                    String::new()
                } else {
                    format!("; {left}")
                }
            );
            self.line(&text);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.ended as u64);
            bar.set_message(left);
        }
    }

    /// Prints the amount of work, before the first experiment is done.
    fn announce(&mut self) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        let all = self.experiments.len();
        let todo = all - self.ended;
        let what = if all == 1 {
            "experiment"
        } else {
            "experiments"
        };
        let mut text = match self.ended {
            0 => format!("{all} {what} to run"),
            _ => format!("{todo} of {all} {what} to run"),
        };
        if all > 1 {
            text.push_str(&format!(", {} at a time", self.left.jobs.min(todo)));
        }
        if self.ended > 0 {
            text.push_str(&format!("; {} have results", self.ended));
        }
        self.line(&text);
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    /// Ends the overview; prints the number of failures.
    pub(super) fn finish(self, dir: &Path) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.left.before += self.experiments.len();
        if !self.failures.is_empty() {
            eprintln!(
                "failed: {} (their consoles are in {}/*.failed.json; --retry-failed runs them again)",
                self.failures.len(),
                dir.display()
            );
        }
    }
}
