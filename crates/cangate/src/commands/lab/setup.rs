//! `cangate lab setup`, and the progress of everything that sets up.

use crate::cli::lab::{Place, Setup};
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use lab::{Kernel, Lab, Progress};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs the command.
pub(crate) fn run(args: &Setup) -> Result<(), Failure> {
    let kernels = args
        .kernels
        .iter()
        .map(|text| text.trim().parse())
        .collect::<Result<Vec<Kernel>, lab::Error>>()
        .map_err(Failure::input)?;
    let lab = open(&args.place)?;
    let shown = Shown::new(false);
    lab.setup(&kernels, &shown).map_err(lab_failure)?;
    shown.finish();
    println!("the lab is set up in {}", lab.folder().display());
    for kernel in kernels {
        for (name, version) in lab.versions(kernel, &lab::Silent).map_err(lab_failure)? {
            if name.starts_with("linux-image") {
                println!("  kernel {kernel}: {name} {version}");
            }
        }
    }
    Ok(())
}

/// Opens the lab at the place that was named.
pub(crate) fn open(place: &Place) -> Result<Lab, Failure> {
    let place = lab::Place {
        cache: place.cache.clone(),
        mirror: place.mirror.clone(),
    };
    Lab::open(&place).map_err(lab_failure)
}

/// What was asked for wrongly is the asker's; the rest happened.
pub(crate) fn lab_failure(error: lab::Error) -> Failure {
    match error {
        lab::Error::Asked(words) => Failure::Input(format!("cangate: {words}")),
        other => Failure::Run(other.to_string()),
    }
}

/// Shows stages on standard error: a bar on a terminal, else a line a stage.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    state: Mutex<State>,
}

struct State {
    began: Option<(String, Instant)>,
}

impl Shown {
    /// With `quiet`, a line is written only where something takes long.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1000);
            bar.set_style(waiting());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            bar,
            quiet,
            state: Mutex::new(State { began: None }),
        }
    }

    /// Nothing more is to come.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        } else if !self.quiet
            && let Ok(mut state) = self.state.lock()
        {
            say_done(&mut state);
        }
    }
}

fn waiting() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn going() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} {bar:30} {percent} % {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn say_done(state: &mut State) {
    if let Some((what, began)) = state.began.take() {
        eprintln!("{what}: {:.1} s", began.elapsed().as_secs_f64());
    }
}

impl Progress for Shown {
    fn stage(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(waiting());
            bar.reset();
            bar.set_message(what.to_owned());
        } else if !self.quiet
            && let Ok(mut state) = self.state.lock()
        {
            say_done(&mut state);
            state.began = Some((what.to_owned(), Instant::now()));
        }
    }

    fn part(&self, fraction: f64) {
        if let Some(bar) = &self.bar {
            bar.set_style(going());
            bar.set_position((fraction.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
