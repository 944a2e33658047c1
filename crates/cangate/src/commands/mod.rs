//! One file a command.

mod bound;
mod capture;
mod convert;
mod demo;
pub(crate) mod forward;
mod generate;
mod kernel;
mod offline;
pub(crate) mod outcome;
mod ping;
mod service;
mod shm;
mod timing;
mod top;
pub(crate) mod version;
mod watch;

use crate::cli::{Cli, Command};
use console::{Failure, exit_code};
use std::process::ExitCode;

/// Runs a command and says how it ended.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let color = cli.color.is_used();
    let done = match cli.command {
        Command::Completions(args) => generate::completions(&args),
        Command::Schema => generate::schema(),
        Command::Man(args) => generate::man(&args),
        Command::Timing(args) => timing::run(&args),
        Command::Bound(args) => bound::run(&args, color),
        Command::Check(args) => offline::check(&args, color),
        Command::Import(args) => offline::import(&args, color),
        Command::Export(args) => offline::export(&args, color),
        Command::Demo(args) => demo::run(&args, color),
        Command::Run(args) => service::run(&args, color),
        Command::Stats(args) => service::stats(&args, color),
        Command::Top(args) => top::run(&args, color),
        Command::Routes(args) => service::routes(&args, color),
        Command::Reload(args) => service::reload(&args, color),
        Command::Shm(args) => shm::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Ping(args) => ping::run(&args, color),
        Command::Lab(args) => Err(forward::run(None, cli.color, &args.arguments)),
        Command::Bench(args) => Err(forward::run(Some("bench"), cli.color, &args.arguments)),
        Command::Report(args) => Err(forward::run(Some("report"), cli.color, &args.arguments)),
        Command::Image(args) => Err(forward::run(Some("image"), cli.color, &args.arguments)),
        Command::KeepCard(args) => {
            port::direct::keeper::run(&args.address, args.driver.as_deref(), &args.interface)
                .map_err(Failure::Run)
        }
    };
    exit_code(done)
}
