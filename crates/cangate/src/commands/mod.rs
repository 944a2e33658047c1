//! One file a command.

mod bench;
mod bench_capture;
mod bound;
mod capture;
mod convert;
mod demo;
mod generate;
mod image;
mod kernel;
mod lab;
mod offline;
pub(crate) mod outcome;
mod ping;
mod report;
mod service;
mod shm;
mod syscalls;
mod timing;
mod top;
pub(crate) mod version;
mod watch;

use crate::cli::{Cli, Color, Command};
use crate::failure::Failure;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

/// Runs a command and says how it ended.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let color = match cli.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    };
    let done = match cli.command {
        Command::Completions(args) => generate::completions(&args),
        Command::Schema => generate::schema(),
        Command::Man(args) => generate::man(&args),
        Command::Timing(args) => timing::run(&args),
        Command::Bound(args) => bound::run(&args, color),
        Command::Check(args) => offline::check(&args, color),
        Command::Image(args) => image::run(&args, color),
        Command::Import(args) => offline::import(&args, color),
        Command::Export(args) => offline::export(&args, color),
        Command::Demo(args) => demo::run(&args, color),
        Command::Run(args) => service::run(&args, color),
        Command::Stats(args) => service::stats(&args, color),
        Command::Top(args) => top::run(&args, color),
        Command::Routes(args) => service::routes(&args, color),
        Command::Reload(args) => service::reload(&args, color),
        Command::Shm(args) => shm::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Ping(args) => ping::run(&args, color),
        Command::BenchCapture(args) => bench_capture::run(&args),
        Command::Lab(args) => lab::run(*args, color),
        Command::Report(args) => report::run(&args),
        Command::KeepCard(args) => {
            port::direct::keeper::run(&args.address, args.driver.as_deref(), &args.interface)
                .map_err(Failure::Run)
        }
    };
    exit_code(done)
}

/// Prints why a command failed, and gives its exit status.
pub(crate) fn exit_code(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silent) => ExitCode::from(Failure::CLOSED),
        Err(Failure::Status(status)) => ExitCode::from(status),
        Err(Failure::Ended { status, text }) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(status)
        }
        Err(Failure::Mistakes(text)) => {
            say(text.trim_end());
            ExitCode::from(2)
        }
        Err(Failure::Input(text)) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(2)
        }
        Err(Failure::Run(text)) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(1)
        }
    }
}

/// On standard error. Nobody may be there to read it, and the exit status says the rest.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
