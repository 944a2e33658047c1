//! How far many experiments are, on standard error.

use super::units::{clock, micros};
use experiment::Experiment;
use experiment::estimate::Estimate;
use experiment::schedule::Event;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Shows how far it is: a bar on a terminal, else a line for each experiment.
pub(super) struct Overview<'e> {
    experiments: &'e [Experiment],
    bar: Option<ProgressBar>,
    estimate: Estimate,
    started: Vec<Option<Instant>>,
    ended: usize,
    failures: Vec<(String, String)>,
}

impl<'e> Overview<'e> {
    /// For these experiments.
    pub(super) fn new(experiments: &'e [Experiment]) -> Self {
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
            estimate: Estimate::new(experiments),
            started: vec![None; experiments.len()],
            ended: 0,
            failures: Vec::new(),
        }
    }

    /// Something happened.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Kept(n) => self.has_ended(n, false, None),
            Event::FailedBefore(n, failed) => {
                self.failures.push((self.name(n), failed.why));
                self.has_ended(n, false, None);
            }
            Event::Again(n, why) => self.line(&format!("{}: made again: {why}", self.name(n))),
            Event::Started(n) => {
                if let Some(started) = self.started.get_mut(n) {
                    *started = Some(Instant::now());
                }
            }
            Event::Made(n, figures) => {
                let latency = figures
                    .latency_ns
                    .map_or("no frame came back".to_owned(), |l| {
                        format!("p50 {} µs, max {} µs", micros(l.p50), micros(l.max))
                    });
                self.has_ended(n, true, Some(format!("{latency}, lost {}", figures.lost)));
            }
            Event::Failed(n, failed) => {
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
                self.estimate.done(e);
            } else {
                self.estimate.leave_out(e);
            }
        }
        let left = self
            .estimate
            .left()
            .map_or(String::new(), |left| format!("{} left", clock(left)));
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

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    /// The end; names what failed.
    pub(super) fn finish(self, dir: &Path) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if !self.failures.is_empty() {
            eprintln!(
                "failed: {} (their consoles are in {}/*.failed.json; --retry-failed makes them again)",
                self.failures.len(),
                dir.display()
            );
        }
    }
}
