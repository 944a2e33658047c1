//! What can be typed: one definition, from which help, man pages and completions are made.

pub(crate) mod bench;
pub(crate) mod lab;
pub(crate) mod report;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Route CAN frames between buses, and know to the microsecond what it costs.
#[derive(Parser, Debug)]
#[command(
    name = "cangate",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Start with `cangate demo`. Files are described in docs/gateway-toml.md.\n\
    Exit status: 0 done, 1 it could not be done, 2 what was given is wrong."
)]
pub(crate) struct Cli {
    /// When to colour what is printed.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Route traffic between two simulated buses, time every frame and draw it.
    Demo(Demo),
    /// Run a gateway until it is told to stop (SIGINT, SIGTERM); SIGHUP reloads its file.
    Run(Run),
    /// Say in words what a gateway file does, or everything that is wrong with it.
    Check(Check),
    /// Print the counters of a running gateway.
    Stats(Stats),
    /// Print the routes of a running gateway with their counters, or the kernel's rules.
    Routes(Routes),
    /// Make a running gateway read its file again; a broken file changes nothing.
    Reload(Control),
    /// Print how many bits a frame has on the wire and how long they take.
    Timing(Timing),
    /// Turn can-gw rules (what `cangw -L` prints, or a script of `cangw -A`) into a gateway file.
    Import(Import),
    /// Turn a gateway file into can-gw rules, or name the routes that can-gw cannot express.
    Export(Export),
    /// Time a gateway between real interfaces: send frames in, stamp what comes out.
    Bench(bench::Bench),
    /// Real kernels in virtual machines: run tests and experiments in them.
    Lab(lab::Lab),
    /// Make a site of a folder of results: filters, overlaid profiles, a table.
    Report(report::Report),
    /// Print the completion script of a shell.
    Completions(Completions),
    /// Write the man pages into a folder.
    Man(Man),
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Replay this candump log (made by `candump -l`; - for standard input) in place of the SAE
    /// class C messages.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Write report.html, results.parquet and outgoing.log into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this gateway file; its ports must be of kind "bus".
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// How many seconds of bus time the SAE messages are sent for.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seed of everything that is random. The same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop at the first line of the log that is no frame, instead of leaving it out.
    #[arg(long, requires = "log")]
    pub(crate) strict: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
    /// Stop when every source has come to its end (log files) and all frames are sent.
    #[arg(long)]
    pub(crate) until_end: bool,
    /// Print the closing summary as JSON: on standard output, or on standard error where a port
    /// writes its log to standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop at the first line of a log that is no frame, instead of leaving it out.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Leave routes that run in the kernel (`offload`) there at the end; the next start of the same
    /// file takes them over, counters and all.
    #[arg(long)]
    pub(crate) persist: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Control {
    /// The gateway file of the running gateway; not needed where only one runs.
    #[arg(value_name = "GATEWAY.TOML", conflicts_with = "socket")]
    pub(crate) file: Option<PathBuf>,
    /// The control socket of the running gateway.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) control: Control,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Routes {
    #[command(flatten)]
    pub(crate) stats: Stats,
    /// All rules of the kernel's can-gw in this network namespace, whoever made them, in the order
    /// in which they are tried; and what cangates route there by BPF. Needs no running gateway.
    #[arg(long, conflicts_with_all = ["file", "socket"])]
    pub(crate) kernel: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Timing {
    /// Frames as cansend and candump write them: 123#DEADBEEF, 12345678#R, 123##1AABBCC.
    #[arg(value_name = "FRAME", required = true)]
    pub(crate) frames: Vec<String>,
    /// Bit rate of the arbitration phase in bit/s: 500k, 1M, 83.333k.
    #[arg(long, value_name = "RATE", default_value = "500k")]
    pub(crate) bitrate: String,
    /// Bit rate of the data phase of FD frames with BRS.
    #[arg(long, value_name = "RATE", default_value = "2M")]
    pub(crate) data_bitrate: String,
    /// Print JSON: one object for one frame, one object a line for several.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// What `cangw -L` printed, or a script of `cangw -A` lines; - for standard input.
    #[arg(value_name = "CANGW.TXT")]
    pub(crate) file: PathBuf,
    /// Write the gateway file here instead of to standard output; an existing file is kept.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// As a script of `cangw -A` lines.
    #[arg(long, required = true)]
    pub(crate) cangw: bool,
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder; it is made if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// A length of time that can be simulated.
fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    if value > 0.0 && value <= 86_400.0 {
        Ok(value)
    } else {
        Err("must be more than 0 and at most 86400 seconds (a day)".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
