//! The commands, one file each.

#[cfg(feature = "bound")]
mod bound;
#[cfg(feature = "capture")]
mod capture;
mod choice;
#[cfg(feature = "capture")]
mod convert;
#[cfg(feature = "decode")]
mod decode;
#[cfg(feature = "demo")]
mod demo;
pub(crate) mod features;
pub(crate) mod forward;
mod generate;
mod kernel;
#[cfg(feature = "list")]
mod list;
#[cfg(feature = "decode")]
mod messages;
mod offline;
pub(crate) mod outcome;
#[cfg(feature = "ping")]
mod ping;
#[cfg(feature = "top")]
mod screen;
#[cfg(feature = "send")]
mod send;
mod service;
#[cfg(feature = "shm")]
mod shm;
#[cfg(feature = "demo")]
mod simulation;
mod stats_watch;
#[cfg(feature = "top")]
mod terminal;
mod timing;
#[cfg(feature = "top")]
mod top;
pub(crate) mod version;
#[cfg(feature = "watch")]
mod watch;

use crate::cli::{Cli, Command};
#[cfg(any(feature = "send", feature = "watch"))]
pub(crate) use choice::understand;
use console::exit_code;
use std::process::ExitCode;

/// Runs a command and returns its exit status.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let color = cli.color.is_used();
    let done = match cli.command {
        #[cfg(feature = "man")]
        Command::Completions(args) => generate::completions(&args),
        Command::Schema => generate::schema(),
        #[cfg(feature = "man")]
        Command::Man(args) => generate::man(&args),
        Command::Timing(args) => timing::run(&args),
        #[cfg(feature = "bound")]
        Command::Bound(args) => bound::run(&args, color),
        Command::Check(args) => offline::check(&args, color),
        Command::Import(args) => offline::import(&args, color),
        Command::Export(args) => offline::export(&args, color),
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::run(&args, color),
        Command::Run(args) => service::run(&args, color),
        Command::Stats(args) => service::stats(&args, color),
        #[cfg(feature = "top")]
        Command::Top(args) => top::run(&args, color),
        Command::Routes(args) => service::routes(&args, color),
        Command::Reload(args) => service::reload(&args, color),
        #[cfg(feature = "shm")]
        Command::Shm(args) => shm::run(&args),
        #[cfg(feature = "capture")]
        Command::Capture(args) => capture::run(&args),
        #[cfg(feature = "capture")]
        Command::Convert(args) => convert::run(&args),
        #[cfg(feature = "decode")]
        Command::Decode(args) => decode::run(&args),
        #[cfg(feature = "ping")]
        Command::Ping(args) => ping::run(&args, color),
        #[cfg(feature = "send")]
        Command::Send(args) => send::run(&args, color),
        #[cfg(feature = "watch")]
        Command::Watch(args) => watch::run(&args, color),
        #[cfg(feature = "list")]
        Command::List(args) => list::run(&args),
        Command::Lab(args) => Err(forward::run(None, cli.color, &args.arguments)),
        Command::Bench(args) => Err(forward::run(Some("bench"), cli.color, &args.arguments)),
        Command::Report(args) => Err(forward::run(Some("report"), cli.color, &args.arguments)),
        Command::Image(args) => Err(forward::run(Some("image"), cli.color, &args.arguments)),
        #[cfg(feature = "direct")]
        Command::KeepCard(args) => {
            port::direct::keeper::run(&args.address, args.driver.as_deref(), &args.interface)
                .map_err(console::Failure::Run)
        }
    };
    exit_code(done)
}
