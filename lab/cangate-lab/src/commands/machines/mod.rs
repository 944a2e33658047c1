//! `cangate lab machines`.

mod lines;
mod logs;
mod summary;

use super::setup::{SetupStages, lab_failure, open};
use crate::cli::lab::Machines;
use console::Failure;
use console::input::read_source;
use console::output;
use experiment::lockstep;
use experiment::passage::Passage;
use guest::lockstep::{LockstepError, LockstepOutcome, LockstepPlan};
use lines::MachineLines;
use std::path::Path;
use std::time::Duration;

/// Runs the machines of a plan.
pub(crate) fn run(args: &Machines, color: bool) -> Result<(), Failure> {
    let plan = read(args, color)?;
    let passages = args.matches.iter();
    let passages = passages.map(|text| Passage::parse(text, &plan).map_err(Failure::input));
    let passages = passages.collect::<Result<Vec<_>, _>>()?;
    if let Some(folder) = &args.log {
        output::folder(folder)?;
    }
    let lab = open(&args.locations)?;
    let stages = SetupStages::new();
    let lines = MachineLines::new(&plan, args.log.as_deref(), &stages)?;
    let outcome = lab.run_lockstep(&plan, &stages, &lines);
    stages.finish();
    lines.finish()?;
    if let Some(folder) = &args.log {
        let links = match &outcome {
            Ok(outcome) => &outcome.links,
            Err(failed) => {
                for reason in &failed.missing {
                    eprintln!("warning: the logs lack records: {reason}");
                }
                &failed.links
            }
        };
        let written = logs::write(&plan, links, folder);
        // The reason why the run failed comes before that of a log that could not be written.
        if outcome.is_ok() {
            written?;
        }
    }
    let outcome = outcome.map_err(|failed| failure(*failed.error))?;
    summary::print(&plan, &outcome)?;
    for (passage, name) in passages.iter().zip(&args.matches) {
        summary::print_passage(name, &passage.report(&plan, &outcome.links))?;
    }
    status(&outcome)
}

fn read(args: &Machines, color: bool) -> Result<LockstepPlan, Failure> {
    let source = read_source(&args.plan)?;
    let folder = args.plan.parent().unwrap_or(Path::new(""));
    let mut plan = lockstep::read(&source, folder)
        .map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))?;
    for machine in &mut plan.machines {
        machine.guest.timeout = Duration::from_secs(args.timeout);
    }
    Ok(plan)
}

fn failure(error: LockstepError) -> Failure {
    match error {
        LockstepError::Lab(error) => lab_failure(error),
        LockstepError::Plan(error) => Failure::input(error),
        error => Failure::run(error),
    }
}

/// Ends with the first exit status that is not 0.
fn status(outcome: &LockstepOutcome) -> Result<(), Failure> {
    for outcome in &outcome.machines {
        // A machine in the background that the run has ended has no status.
        if let Some(status) = outcome.guest.status.filter(|status| *status != 0) {
            return Err(Failure::Status(u8::try_from(status).unwrap_or(255)));
        }
    }
    Ok(())
}
