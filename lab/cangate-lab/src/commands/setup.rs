//! `cangate lab setup`, and the progress display of everything that sets up.

use super::guests::images;
use super::units::clock;
use crate::cli::lab::{Locations, Setup};
use console::Failure;
use guest::{Kernel, Lab, ProgressReport, SilentProgress, UnknownKernel};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs the command.
pub(crate) fn run(args: &Setup) -> Result<(), Failure> {
    let kernels = args
        .kernels
        .iter()
        .map(|text| text.trim().parse())
        .collect::<Result<Vec<Kernel>, UnknownKernel>>()
        .map_err(Failure::input)?;
    let lab = open(&args.locations)?;
    let stages = SetupStages::new();
    lab.setup(&kernels, &stages).map_err(lab_failure)?;
    stages.finish();
    let mut out = std::io::stdout().lock();
    writeln!(out, "the lab is set up in {}", lab.folder().display())?;
    for kernel in kernels {
        for (name, version) in lab.versions(kernel, &SilentProgress).map_err(lab_failure)? {
            if name.starts_with("linux-image") {
                writeln!(out, "  kernel {kernel}: {name} {version}")?;
            }
        }
    }
    match image::check(image::ImageTarget::Pc, &images(&lab)) {
        Ok(()) => writeln!(out, "  images without an operating system: can be built")?,
        Err(why) => writeln!(
            out,
            "  images without an operating system, which `reproduce` and `--gateway baremetal` need: {why}"
        )?,
    }
    Ok(())
}

/// Opens the lab in the given folders.
pub(crate) fn open(locations: &Locations) -> Result<Lab, Failure> {
    let locations = guest::Locations {
        cache: locations.cache.clone(),
        mirror: locations.mirror.clone(),
        cangate: locations.cangate.clone(),
    };
    Lab::open(&locations).map_err(lab_failure)
}

/// Converts an error of the lab: the request is invalid, or it could not be carried out.
pub(crate) fn lab_failure(error: guest::Error) -> Failure {
    if error.is_wrong_input() {
        Failure::Input(guest::with_causes(&error))
    } else {
        Failure::run(error)
    }
}

/// Shows stages on standard error: a bar on a terminal, otherwise a line when a stage begins, and
/// one when it has ended if it took long.
pub(crate) struct SetupStages {
    bar: Option<ProgressBar>,
    began: Mutex<Option<(String, Instant)>>,
}

/// Duration from which the end of a stage is worth a line.
const LONG: Duration = Duration::from_secs(5);

impl SetupStages {
    /// Creates a display without any stage.
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1000);
            bar.set_style(waiting());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            bar,
            began: Mutex::new(None),
        }
    }

    /// Ends the display.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        } else if let Ok(mut began) = self.began.lock() {
            say_done(&mut began);
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

fn say_done(began: &mut Option<(String, Instant)>) {
    if let Some((what, began)) = began.take()
        && began.elapsed() >= LONG
    {
        eprintln!("{what}: done in {}", clock(began.elapsed()));
    }
}

impl ProgressReport for SetupStages {
    fn stage(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(waiting());
            bar.reset();
            bar.set_message(what.to_owned());
        } else if let Ok(mut began) = self.began.lock() {
            say_done(&mut began);
            eprintln!("{what} …");
            let name = what.split(':').next().unwrap_or(what);
            *began = Some((name.to_owned(), Instant::now()));
        }
    }

    fn job(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(waiting());
            bar.reset();
            bar.set_message(what.to_owned());
        } else {
            // From now on, standard error belongs to the job.
            self.finish();
        }
    }

    fn warning(&self, what: &str) {
        let print = || eprintln!("warning: {what}");
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn part(&self, fraction: f64) {
        if let Some(bar) = &self.bar {
            bar.set_style(going());
            bar.set_position((fraction.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }
}

impl Drop for SetupStages {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
