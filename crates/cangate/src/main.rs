//! cangate on the command line: thin, every command is a call into the other rooms.

#![forbid(unsafe_code)]

mod cli;
mod columns;
mod commands;
mod counters;
mod failure;
mod input;
mod kinds;
mod log;
mod log_lines;
mod output;
mod rates;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(end) if commands::version::is_asked(&end, std::env::args_os()) => {
            return commands::exit_code(commands::version::run());
        }
        Err(end) => end.exit(),
    };
    // Warnings of the rooms below, on standard error: standard output may be a port's.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .event_format(log_lines::LogLines)
        .init();
    commands::run(cli)
}
