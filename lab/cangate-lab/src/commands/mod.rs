//! One file per command.

mod agent;
mod bench;
mod bench_capture;
mod exec;
mod generate;
mod guests;
mod image;
mod inner;
mod list;
mod machines;
mod measure;
mod monitor;
mod overview;
mod played;
mod rate;
mod report;
mod reproduce;
mod run;
mod setup;
mod shell;
mod syscalls;
mod terminal;
mod units;
pub(crate) mod version;

use crate::cli::{Cli, Command};
use console::exit_code;
use std::process::ExitCode;

/// Runs a command and returns its exit status.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let color = cli.color.is_used();
    let done = match cli.command {
        Command::Setup(args) => setup::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Shell(args) => shell::run(&args),
        Command::Machines(args) => machines::run(&args, color),
        Command::Measure(args) => measure::run(&args),
        Command::Rate(args) => rate::run(&args),
        Command::Run(args) => run::run(&args, color),
        Command::List(args) => list::run(&args, color),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Image(args) => image::run(&args, color),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
        Command::BenchCapture(args) => bench_capture::run(&args),
        Command::Agent => agent::run(),
        Command::Inner(args) => inner::run(&args),
        Command::Monitor(args) => monitor::run(args),
    };
    exit_code(done)
}
