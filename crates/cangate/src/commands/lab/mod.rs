//! `cangate lab …`: one file a command.

mod agent;
mod exec;
mod guests;
mod inner;
mod list;
mod measure;
mod monitor;
mod overview;
mod played;
mod rate;
mod reproduce;
mod run;
mod setup;
mod shell;
mod terminal;
mod units;

use crate::cli::lab::{Lab, LabCommand};
use crate::failure::Failure;

/// Runs one of the lab's commands.
pub(crate) fn run(args: Lab, color: bool) -> Result<(), Failure> {
    match args.command {
        LabCommand::Setup(args) => setup::run(&args),
        LabCommand::Exec(args) => exec::run(&args),
        LabCommand::Shell(args) => shell::run(&args),
        LabCommand::Measure(args) => measure::run(&args),
        LabCommand::Rate(args) => rate::run(&args),
        LabCommand::Run(args) => run::run(&args, color),
        LabCommand::List(args) => list::run(&args, color),
        LabCommand::Reproduce(args) => reproduce::run(&args),
        LabCommand::Agent => agent::run(),
        LabCommand::Inner(args) => inner::run(&args),
        LabCommand::Monitor(args) => monitor::run(args),
    }
}
