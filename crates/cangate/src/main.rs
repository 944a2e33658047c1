//! The command line of cangate. It is thin: every command calls the library crates.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod counters;
#[cfg(any(
    all(feature = "bound", feature = "dbc"),
    feature = "decode",
    feature = "send",
    feature = "watch"
))]
mod database;
mod input;
mod kinds;
mod log;
#[cfg(any(feature = "ping", feature = "send", feature = "watch"))]
mod opening;
mod rates;
#[cfg(feature = "ping")]
mod round_trips;
#[cfg(feature = "send")]
mod sending;
#[cfg(any(
    feature = "decode",
    feature = "send",
    feature = "top",
    feature = "watch"
))]
#[cfg_attr(
    not(all(feature = "decode", feature = "send")),
    allow(
        dead_code,
        reason = "some commands only look at the signal, others wait for it, too"
    )
)]
mod stop_signal;
#[cfg(feature = "watch")]
mod watching;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    linux::signals::ignore_file_size_limit();
    if let Some(failure) = commands::forward::help(std::env::args_os()) {
        return console::exit_code(Err(failure));
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(end) if console::is_verbose_version(&end, std::env::args_os()) => {
            return console::exit_code(commands::version::run());
        }
        Err(end) => match commands::features::missing_command(&end) {
            Some(failure) => return console::exit_code(Err(failure)),
            None => end.exit(),
        },
    };
    commands::run(cli)
}
