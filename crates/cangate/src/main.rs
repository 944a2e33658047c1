//! cangate on the command line: thin, every command is a call into the other rooms.

mod cli;
mod commands;
mod demo;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    commands::run(cli)
}
