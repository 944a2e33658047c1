//! `cangate lab run`.

use super::guests::{LabGuests, jobs, stop_flag};
use super::overview::{RunOverview, TimeLeft};
use crate::cli::lab::Run;
use console::Failure;
use console::input::read_source;
use console::output;
use experiment::matrix::{self, ExperimentMatrix};
use experiment::schedule::{self, ScheduleOptions};
use experiment::store::ResultStore;
use experiment::with_floors;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Runs the experiments of a matrix.
pub(crate) fn run(args: &Run, color: bool) -> Result<(), Failure> {
    let mut matrix = read(&args.file, color)?;
    matrix.experiments = with_floors(matrix.experiments);
    let out = args.out.clone().unwrap_or_else(|| folder(&args.file));
    let options = ScheduleOptions {
        jobs: jobs(args.jobs)?,
        retry_failed: args.retry_failed,
    };
    output::folder(&out)?;
    let store = ResultStore::open(&out).map_err(Failure::run)?;
    let guests = LabGuests::open(&args.locations, false)?;
    guests.check(&matrix.experiments)?;
    let stop = stop_flag()?;
    let mut left = TimeLeft::new(options.jobs);
    let mut overview = RunOverview::new(&matrix.experiments, &mut left);
    let tally = schedule::run(
        &guests,
        &store,
        &matrix.experiments,
        options,
        &stop,
        &mut |event| overview.event(event),
    );
    overview.finish(&out);
    let tally = tally.map_err(Failure::run)?;
    writeln!(
        std::io::stdout(),
        "{}: {} run, {} existed already, {} failed; results in {}",
        matrix.title,
        tally.made,
        tally.kept,
        tally.failed,
        out.display()
    )?;
    if tally.failed > 0 {
        return Err(Failure::Run(format!("{} experiments failed", tally.failed)));
    }
    Ok(())
}

/// Reads a matrix file.
pub(super) fn read(path: &Path, color: bool) -> Result<ExperimentMatrix, Failure> {
    let source = read_source(path)?;
    matrix::read(&source).map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))
}

/// Returns the file's name without its extension, in the current folder.
fn folder(file: &Path) -> PathBuf {
    PathBuf::from(file.file_stem().unwrap_or(file.as_os_str()))
}
