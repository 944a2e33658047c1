//! The command line: one definition for parsing, help, man pages and completions.

pub(crate) mod bench;
pub(crate) mod bench_capture;
pub(crate) mod experiment;
pub(crate) mod image;
pub(crate) mod lab;
pub(crate) mod report;
pub(crate) mod settings;

use clap::{Args, Parser, Subcommand};
use console::Color;
use std::path::PathBuf;

/// Run CAN experiments on real kernels in virtual machines, and measure gateways to the nanosecond.
#[derive(Parser, Debug)]
#[command(
    name = "cangate-lab",
    bin_name = "cangate lab",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Start with `cangate lab setup`, then `cangate lab measure`. docs/lab.md describes the lab.\n\
    Exit status: 0: success; 1: the command failed; 2: the options or the input are wrong; 4: standard\n\
    output was closed before everything was written."
)]
pub(crate) struct Cli {
    /// When to use colours in the output.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// With --version: also print the licences of all parts.
    // clap stops at --version, so `console::version` looks for this option itself.
    #[arg(id = "licences", long = "verbose", requires = "version")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Fetch and build everything that guests need into a cache folder; nothing is installed.
    Setup(lab::Setup),
    /// Run a command as root in a guest with CAN interfaces.
    Exec(lab::Exec),
    /// Start a root shell in a guest with CAN interfaces, in real time.
    Shell(lab::Shell),
    /// Run several machines, joined by CAN buses and Ethernet, in one virtual time.
    Machines(lab::Machines),
    /// Run one experiment and print its latencies.
    Measure(Box<experiment::Measure>),
    /// Search for the highest frame rate at which a gateway loses no frame.
    Rate(Box<experiment::Rate>),
    /// Run the experiments of a matrix; experiments that have a result are not run again.
    Run(lab::Run),
    /// List the experiments of a matrix, or the results of a folder.
    List(lab::List),
    /// Test the papers' claims, and write a page with the verdicts.
    Reproduce(lab::Reproduce),
    /// Measure the latency of a gateway: send frames into it and stamp the frames that come out.
    Bench(Box<bench::Bench>),
    /// Make a site (HTML pages) from a folder of results, with filters, charts and a table.
    Report(report::Report),
    /// Make an image that routes without an operating system, from a gateway file.
    Image(image::Image),
    /// Print the completion script for a shell.
    Completions(Completions),
    /// Write the man pages into a folder.
    Man(Man),
    /// Measure the cost of recorders: cangate capture, candump, tcpdump. The lab runs it in a
    /// guest.
    #[command(hide = true)]
    BenchCapture(bench_capture::BenchCapture),
    /// Inside a guest: run the job that the host gave. Not for users.
    #[command(hide = true)]
    Agent,
    /// Inside a guest of the bench vm: run a command as root in an inner machine.
    #[command(hide = true)]
    Inner(lab::Inner),
    /// Inside a guest of the bench vm: be the monitor of an inner machine. Not for users.
    #[command(hide = true)]
    Monitor(lab::Monitor),
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
