//! The lab as what runs experiments, and how the way is shown.

use super::setup::{Shown, open};
use crate::cli::lab::Place;
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use lab::bursts::STDOUT;
use lab::experiment::Experiment;
use lab::machine::{Outcome, Spec};
use lab::schedule::{Estimate, Event, ScheduleError};
use lab::trial::Machine;
use lab::{Kernel, Lab, Silent, Sink};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Guests of the lab.
pub(super) struct Guests {
    lab: Lab,
    /// One guest only: its stages are shown, and what its agent says.
    one: bool,
}

impl Guests {
    /// The lab at this place.
    pub(super) fn open(place: &Place, one: bool) -> Result<Self, Failure> {
        let lab = open(place)?;
        Ok(Self { lab, one })
    }
}

/// What a guest prints: kept; what its agent says: on standard error, where it is the only one.
struct Heard {
    stdout: Vec<u8>,
    aloud: bool,
}

impl Sink for Heard {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.extend_from_slice(bytes);
    }
    fn stderr(&mut self, bytes: &[u8]) {
        if self.aloud {
            eprint!("{}", String::from_utf8_lossy(bytes));
        }
    }
}

impl Machine for Guests {
    fn versions(&self, kernel: &str) -> Result<Vec<(String, String)>, String> {
        let kernel: Kernel = kernel.parse().map_err(|e: lab::Error| e.to_string())?;
        // This may fetch things: shown whatever follows.
        let shown = Shown::new(true);
        let versions = self.lab.versions(kernel, &shown).map_err(|e| e.to_string());
        shown.finish();
        versions
    }

    fn run(&self, spec: &Spec) -> Result<Outcome, String> {
        let mut heard = Heard {
            stdout: Vec::new(),
            aloud: self.one,
        };
        let outcome = if self.one {
            let shown = Shown::new(true);
            let outcome = self.lab.run(spec, &shown, &mut heard);
            shown.finish();
            outcome
        } else {
            self.lab.run(spec, &Silent, &mut heard)
        };
        let mut outcome = outcome.map_err(|e| e.to_string())?;
        if !heard.stdout.is_empty() {
            outcome.outputs.push((STDOUT.to_owned(), heard.stdout));
        }
        Ok(outcome)
    }

    fn stop(&self) {
        // Results are whole or not there, and QEMU ends with us: nothing is to be waited for.
        eprintln!(
            "cangate: stopped; what is made is kept, and the same command goes on from there"
        );
        std::process::exit(130);
    }
}

/// Set by Ctrl-C and SIGTERM.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, flag.clone())
            .map_err(|e| Failure::Run(format!("cannot watch for Ctrl-C: {e}")))?;
    }
    Ok(flag)
}

/// How many guests at a time.
pub(super) fn jobs(asked: Option<usize>) -> Result<usize, Failure> {
    match asked {
        Some(0) => Err(Failure::input("--jobs 0: at least one guest must run")),
        Some(jobs) => Ok(jobs),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// An error of many experiments as one of ours.
pub(super) fn failure(error: ScheduleError) -> Failure {
    Failure::run(error)
}

/// Shows how far it is: a bar on a terminal, else a line for each experiment.
pub(super) struct Way<'e> {
    experiments: &'e [Experiment],
    bar: Option<ProgressBar>,
    estimate: Estimate,
    started: Vec<Option<Instant>>,
    seen: usize,
    failures: Vec<(String, String)>,
}

impl<'e> Way<'e> {
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
            seen: 0,
            failures: Vec::new(),
        }
    }

    /// Something happened.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Kept(n) => self.ended(n, false, None),
            Event::FailedBefore(n, failed) => {
                self.failures.push((self.name(n), failed.why));
                self.ended(n, false, None);
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
                self.ended(n, true, Some(format!("{latency}, lost {}", figures.lost)));
            }
            Event::Failed(n, failed) => {
                self.ended(n, true, Some(format!("failed: {}", failed.why)));
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

    fn ended(&mut self, n: usize, made: bool, words: Option<String>) {
        self.seen += 1;
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
                self.seen,
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
            bar.set_position(self.seen as u64);
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

/// Nanoseconds as microseconds.
pub(super) fn micros(ns: i64) -> String {
    format!("{:.2}", ns as f64 / 1000.0)
}

/// A time as people say it.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}
