//! The laboratory on the command line: a thin layer, in which every command is a call into the
//! crates that this one depends on.

#![forbid(unsafe_code)]

mod cli;
mod commands;

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
    commands::run(cli)
}
