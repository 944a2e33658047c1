//! The laboratory on the command line: a thin layer, in which every command is a call into the
//! crates that this one depends on.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod log_lines;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(end) if console::is_verbose_version(&end, std::env::args_os()) => {
            return console::exit_code(commands::version::run());
        }
        Err(end) => end.exit(),
    };
    // Warnings of the dependencies, on standard error: standard output may be a guest's.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .event_format(log_lines::LogLines)
        .init();
    commands::run(cli)
}
