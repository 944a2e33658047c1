//! The command line: one definition for parsing, help, man pages and completions.

#[cfg(feature = "bound")]
pub(crate) mod bound;
#[cfg(feature = "capture")]
pub(crate) mod capture;
#[cfg(feature = "capture")]
pub(crate) mod convert;
#[cfg(feature = "decode")]
pub(crate) mod decode;
#[cfg(feature = "list")]
pub(crate) mod list;
#[cfg(feature = "ping")]
pub(crate) mod ping;
#[cfg(feature = "send")]
pub(crate) mod send;
#[cfg(feature = "demo")]
pub(crate) mod simulate;
mod time;
#[cfg(feature = "watch")]
pub(crate) mod watch;

use clap::{Args, Parser, Subcommand, ValueEnum};
use console::Color;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Route CAN frames between buses, and know to the microsecond what it costs.
#[derive(Parser, Debug)]
#[command(
    name = "cangate",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Start with `cangate demo`. docs/gateway-toml.md describes the gateway file.\n\
    Exit status: 0: success; 1: the command failed; 2: the options or the input are wrong; 4: standard\n\
    output was closed before everything was written. `cangate run` has more: `cangate help run`."
)]
pub(crate) struct Cli {
    /// When to use colours in the output.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// With --version: also print the licences of all parts, the BPF object's compiler and the
    /// features.
    // clap stops at --version, so `commands::version` looks for this option itself.
    #[arg(id = "licences", long = "verbose", requires = "version")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Route traffic between two simulated buses, time every frame and draw charts.
    #[cfg(feature = "demo")]
    Demo(Demo),
    /// Run a gateway until SIGINT or SIGTERM; SIGHUP reloads the gateway file.
    Run(Run),
    /// Describe in words what a gateway file does, or list every mistake in it.
    Check(Check),
    /// Print the counters of a running gateway.
    Stats(StatsWatch),
    /// Show a running gateway's ports and routes with their rates, live on the terminal.
    #[cfg(feature = "top")]
    Top(Top),
    /// Print the routes of a running gateway with their counters, or the routes in the kernel.
    Routes(Routes),
    /// Make a running gateway read its file again; a file with a mistake changes nothing.
    Reload(Control),
    /// Serve memory that two machines or processes share (ports of kind "shm"), until SIGINT or
    /// SIGTERM.
    #[cfg(feature = "shm")]
    Shm(Shm),
    /// Print the number of bits and the duration of a frame on the wire.
    Timing(Timing),
    /// Compute the worst-case response time of each message of a set, and show a case that
    /// reaches it.
    #[cfg(feature = "bound")]
    Bound(Box<bound::Bound>),
    /// Convert can-gw rules (output of `cangw -L`, or a script of `cangw -A` lines) to a gateway
    /// file.
    Import(Import),
    /// Convert a gateway file to can-gw rules, or list the routes that can-gw cannot express.
    Export(Export),
    /// Measure round trips: one port asks, another answers.
    #[cfg(feature = "ping")]
    Ping(Box<ping::Ping>),
    /// Send frames by a port of any kind: once, in a period, from a file, or a message by its name.
    #[cfg(feature = "send")]
    Send(Box<send::Send>),
    /// Show the frames of ports live: the last one of each ID, what has changed, and the periods.
    #[cfg(feature = "watch")]
    Watch(Box<watch::Watch>),
    /// List the CAN interfaces: driver, state, bit rate, USB path, serial number.
    #[cfg(feature = "list")]
    List(list::List),
    /// Record CAN interfaces to candump text, Vector ASC, pcapng or Parquet, with an exact count of
    /// the frames that were lost.
    #[cfg(feature = "capture")]
    Capture(Box<capture::Capture>),
    /// Convert a log of any format that cangate reads into another format.
    #[cfg(feature = "capture")]
    Convert(convert::Convert),
    /// Decode the signals in the frames of a log by a database of messages (DBC).
    #[cfg(feature = "decode")]
    Decode(decode::Decode),
    /// cangate-lab: run commands and experiments on real kernels in virtual machines.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Lab(ForwardedArgs),
    /// cangate-lab: measure the latency of a gateway, by frames sent into it.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bench(ForwardedArgs),
    /// cangate-lab: make a site (HTML pages) from a folder of results.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Report(ForwardedArgs),
    /// cangate-lab: make an image that routes without an operating system.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Image(ForwardedArgs),
    /// Print the JSON schema of gateway.toml, with which editors complete and check it.
    ///
    /// `#:schema PATH` in the first line of a file names it, for editors with taplo (Even Better
    /// TOML).
    Schema,
    /// Print the completion script for a shell.
    #[cfg(feature = "man")]
    Completions(Completions),
    /// Write the man pages into a folder.
    #[cfg(feature = "man")]
    Man(Man),
    /// Hand a PCI card back to its driver when standard input ends. The gateway starts this on its
    /// own.
    #[cfg(feature = "direct")]
    #[command(hide = true, name = port::direct::keeper::COMMAND)]
    KeepCard(KeepCard),
}

/// The command line of a command that the program `cangate-lab` runs.
#[derive(Args, Debug)]
#[command(
    after_help = "The program cangate-lab runs this command; `cangate lab help` describes its options."
)]
pub(crate) struct ForwardedArgs {
    /// Options and arguments, as cangate-lab takes them.
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<OsString>,
}

#[cfg(feature = "direct")]
#[derive(Args, Debug)]
pub(crate) struct KeepCard {
    /// The card's PCI address.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// The kernel's driver that is to get it; without one, none gets it.
    #[arg(long, value_name = "DRIVER")]
    pub(crate) driver: Option<String>,
    /// The settings of an interface of the card.
    #[arg(long, value_name = "SETTINGS")]
    pub(crate) interface: Vec<port::direct::keeper::CardInterface>,
}

#[cfg(feature = "demo")]
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Replay this log instead of the SAE class C messages.
    ///
    /// Any format that `cangate convert` reads (`cangate convert --help` lists them), also
    /// compressed by gzip or zstd. `-` is standard input. An interface that has the name of a bus
    /// of the gateway file is put on this bus, the others on the remaining buses, in their order;
    /// with --map, or if the file has interfaces, each needs the name of a bus or port. A line
    /// `wait can0 7E8 500ms` waits for an answer of the gateway. Example: --log drive.log
    #[arg(long, visible_alias = "replay", value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Write report.html, results.parquet, outgoing.log and a log of each bus into this folder.
    ///
    /// The logs of the buses are in its folder `buses`, with all frames on each bus: those that the
    /// gateway has sent are marked T. Logs that ports of the gateway file write are here, too.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this gateway file. Its interfaces become buses with the bit rates of the file.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The bit rate of buses in place of interfaces for which the file states none, or of the bus
    /// of one port.
    ///
    /// Repeat it for several ports. With PORT=, a port of any kind becomes a bus. Examples:
    /// 500k, 500k/2M (with CAN FD), body=125k
    #[arg(long, value_name = "[PORT=]RATE[/DATARATE]", value_parser = simulate::as_bus, requires = "config")]
    pub(crate) as_bus: Vec<simulate::AsBus>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Send the SAE messages for this many seconds of bus time.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seed of all random values; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop at the first bad line of the log; without this option, bad lines are skipped.
    #[arg(long, requires = "log")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) replay: simulate::ReplayArgs,
}

#[derive(Args, Debug)]
#[command(after_help = crate::commands::outcome::STATUSES)]
pub(crate) struct Run {
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
    /// Stop when every log has been read to its end and all frames are sent.
    #[arg(long)]
    pub(crate) until_end: bool,
    /// Print the summary at the end as JSON.
    ///
    /// It goes to standard output. If a port writes its log to standard output, the summary goes to
    /// standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop at the first bad line of a log; without this option, bad lines are skipped.
    #[arg(long)]
    pub(crate) strict: bool,
    /// At the end, leave the routes that run in the kernel (`offload`) there.
    ///
    /// They keep routing. The next start with the same gateway file takes them over, with their
    /// counters.
    #[arg(long)]
    pub(crate) persist: bool,
    /// Print more on standard error.
    ///
    /// Each port and each route with its data path and the reason, each change in the kernel, each
    /// route that a reload changes.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print only errors and warnings on standard error, and no summary.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// The format of the gateway's messages on standard error.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    #[cfg(feature = "demo")]
    #[command(flatten)]
    pub(crate) simulation: RunSimulation,
}

/// The options of a run on embedded buses in place of interfaces.
#[cfg(feature = "demo")]
#[derive(Args, Debug)]
pub(crate) struct RunSimulation {
    /// Put an embedded bus in place of each interface, with the bit rates of the file.
    ///
    /// No CAN hardware, no CAN in the kernel and no rights are needed. Routes in the kernel run in
    /// this process.
    #[arg(long)]
    pub(crate) simulate: bool,
    /// The bit rate of buses for which the file states none, or of the bus of one port.
    ///
    /// Repeat it for several ports. With PORT=, a port of any kind becomes a bus. Examples:
    /// 500k, 500k/2M (with CAN FD), body=125k
    #[arg(long, value_name = "[PORT=]RATE[/DATARATE]", value_parser = simulate::as_bus, requires = "simulate")]
    pub(crate) as_bus: Vec<simulate::AsBus>,
    /// Let other nodes on the buses send the frames of this log, and stop when all are routed.
    ///
    /// The interfaces of the log must have the names of buses (those of interfaces) or ports;
    /// otherwise, use --map. A line `wait can0 7E8 500ms` waits for an answer of the gateway;
    /// without one, the command fails.
    #[arg(
        id = "log",
        long = "replay",
        value_name = "FILE",
        requires = "simulate"
    )]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replay: simulate::ReplayArgs,
    /// Write a log of each bus into the folder `buses` in this folder.
    ///
    /// Frames that the gateway has sent are marked T. Logs that ports write are in the folder, too.
    #[arg(long, value_name = "DIR", requires = "simulate")]
    pub(crate) out: Option<PathBuf>,
}

/// The format of the messages of `run` on standard error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line with a time stamp (UTC); for the journal of systemd a priority instead.
    Text,
    /// One JSON object on each line; docs/guide.md describes its fields.
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
    /// Also print the names of all messages of each route, and everything that is doubtful in the
    /// databases.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[cfg(feature = "shm")]
#[derive(Args, Debug)]
#[command(
    after_help = "A process: a port with kind = \"shm\" and socket = \"SOCKET\". A virtual machine: \
    `qemu-system-x86_64 … -chardev socket,path=SOCKET,id=shm -device ivshmem-doorbell,vectors=1,chardev=shm`; inside it a \
    port with kind = \"shm\" and device = \"ADDRESS\" (`lspci -d 1af4:1110`), or the driver kmod/shmcan."
)]
pub(crate) struct Shm {
    /// The socket at which the two sides connect; it is removed at the end.
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// Capacity in frames in each direction, rounded up.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) frames: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Control {
    /// The gateway file of the running gateway; not needed if only one gateway runs.
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
pub(crate) struct StatsWatch {
    #[command(flatten)]
    pub(crate) stats: Stats,
    /// Print rates repeatedly: frames per second of each port and route.
    ///
    /// With --json, one object per line: `rates`, and the `counters` at their end.
    #[arg(long)]
    pub(crate) watch: bool,
    /// The time over which a rate is measured, for example 500ms or 10s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, requires = "watch")]
    pub(crate) interval: Duration,
    /// Stop after this many rates.
    #[arg(long, value_name = "N", requires = "watch")]
    pub(crate) count: Option<u64>,
}

#[cfg(feature = "top")]
#[derive(Args, Debug)]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) control: Control,
    /// The time over which a rate is measured, for example 500ms or 10s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,
}

/// Parses a time from 50 ms to an hour: shorter intervals would keep a gateway busy with answers.
fn interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(50)..=Duration::from_secs(3600);
    time::within(text, &range, "from 50ms to 1h")
}

#[derive(Args, Debug)]
pub(crate) struct Routes {
    #[command(flatten)]
    pub(crate) stats: Stats,
    /// Print all routes in the kernel: can-gw rules and cangate's BPF tables.
    ///
    /// These are all can-gw rules of this network namespace, in the order in which the kernel tries
    /// them, and all BPF tables of any cangate. No gateway needs to run.
    #[arg(long, conflicts_with_all = ["file", "socket"])]
    pub(crate) kernel: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Timing {
    /// Frames as cansend takes them: 123#DEADBEEF, 12345678#R, 123##1AABBCC.
    #[arg(value_name = "FRAME", required = true)]
    pub(crate) frames: Vec<String>,
    /// Bit rate of the arbitration phase in bit/s, for example 500k, 1M or 83.333k.
    #[arg(long, value_name = "RATE", default_value = "500k")]
    pub(crate) bitrate: String,
    /// Bit rate of the data phase of FD frames with BRS, for example 2M.
    #[arg(long, value_name = "RATE", default_value = "2M")]
    pub(crate) data_bitrate: String,
    /// Print JSON: one object per frame, one per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Output of `cangw -L`, or a script of `cangw -A` lines; `-` is standard input.
    #[arg(value_name = "CANGW.TXT")]
    pub(crate) file: PathBuf,
    /// Write the gateway file here instead of to standard output; refused if the file exists.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Print a script of `cangw -A` lines.
    #[arg(long, required = true)]
    pub(crate) cangw: bool,
    /// The gateway file.
    #[arg(value_name = "GATEWAY.TOML")]
    pub(crate) file: PathBuf,
}

#[cfg(feature = "man")]
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(feature = "man")]
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[cfg(feature = "demo")]
/// Parses a duration that can be simulated, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "give a number of seconds, for example 10 or 0.5".to_owned())?;
    if value > 0.0 && value <= 86_400.0 {
        Ok(value)
    } else {
        Err("give more than 0 and at most 86400 seconds (one day)".to_owned())
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
