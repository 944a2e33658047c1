//! The options of `cangate bound`.

use clap::Args;
use std::num::NonZeroU8;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_help = "A message set has buses, nodes and messages:\n\n  \
    [buses.body]\n  bitrate = \"500k\"\n\n  \
    [nodes.engine]\n  mailboxes = 3\n\n  \
    [[messages]]\n  id = \"100\"\n  node = \"engine\"\n  period = \"10ms\"\n  len = 8\n\n\
    docs/bound.md describes all keys, and what a bound covers.\n\n\
    Exit status: 0: every deadline is kept; 1: it failed; 2: the options or the message set are wrong; \
    3: a deadline can be missed, a timeout can expire, a queue can overflow, or a message has no bound; with --check, a frame took longer \
    than its bound; 4: standard output was closed.")]
pub(crate) struct Bound {
    /// The message set; `-` is standard input.
    #[arg(value_name = "SET.toml", required_unless_present_any = ["from_log", "from_dbc"])]
    pub(crate) set: Option<PathBuf>,
    /// Print a message set that is estimated from this log, with how well each period fits; `-` is
    /// standard input.
    ///
    /// With --gateway the set is not printed but used: what would that gateway do with this
    /// traffic?
    ///
    /// Example: cangate bound --from-log drive.log > set.toml
    #[arg(long, value_name = "FILE", conflicts_with = "set")]
    pub(crate) from_log: Option<PathBuf>,
    /// Print a message set from this DBC: its messages with their senders and cycle times.
    ///
    /// The other formats of `cangate decode` are read, too.
    ///
    /// A message whose period is not in the file becomes a comment that states what is missing.
    ///
    /// Example: cangate bound --from-dbc body.dbc > set.toml
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["set", "from_log", "gateway", "json", "margin", "witness", "check"]
    )]
    pub(crate) from_dbc: Option<PathBuf>,
    /// With --from-log and --from-dbc: the bit rate of the buses; 500k/2M for FD.
    ///
    /// A log does not contain it: 500k is assumed. A DBC can contain it.
    #[arg(long, value_name = "RATE")]
    pub(crate) bitrate: Option<String>,
    /// With --from-log and --gateway: a port that is not of kind "bus", the log's interface on
    /// whose bus it is, and how many transmit buffers its controller has.
    ///
    /// Example: --mailboxes can1:can1=3
    #[arg(long, value_name = "PORT:INTERFACE=N", requires_all = ["from_log", "gateway"], value_parser = buffers)]
    pub(crate) mailboxes: Vec<(String, String, NonZeroU8)>,
    /// Also follow the messages through a gateway with this gateway file, to other buses of the
    /// set.
    ///
    /// A port of kind "bus" is on the bus that it names; another one is on the bus of [nodes.PORT],
    /// or of its own name.
    ///
    /// With several files, the messages are followed through several gateways; a table
    /// [tunnels.NAME] of the set describes the network between two of them. Example: --gateway
    /// near.toml --gateway far.toml
    #[arg(long, value_name = "GATEWAY.TOML")]
    pub(crate) gateway: Vec<PathBuf>,
    /// The most time that the gateway itself takes, from the end of a frame until the next
    /// controller has it.
    ///
    /// `cangate bench` and `cangate lab measure` measure it. Example: --gateway-delay 50us
    #[arg(long, value_name = "TIME", requires = "gateway", value_parser = super::time::nanos)]
    pub(crate) gateway_delay: Option<u64>,
    /// Use the longest latency of these results as the most time that the gateway itself takes.
    ///
    /// `cangate bench --out` and `cangate lab measure --out` write such results: of the same
    /// gateway, in the data path where its routes run, one frame at a time. A measured time is not
    /// a bound; the output states where it comes from.
    #[arg(
        long,
        value_name = "RESULTS",
        requires = "gateway",
        conflicts_with = "gateway_delay"
    )]
    pub(crate) gateway_delay_from: Option<PathBuf>,
    /// Compare each frame of these results with its bound; the gateway was that of the file.
    ///
    /// `cangate demo --out`, `cangate bench --out` and `cangate lab measure --out` write such
    /// results. A port of the results is the port of the gateway file with its name, or the only
    /// one on the bus with its name; --port assigns other names. A latency is from the end of frame
    /// in to the start of frame out.
    #[arg(long, value_name = "RESULTS", requires = "gateway", conflicts_with_all = ["json", "witness"])]
    pub(crate) check: Option<PathBuf>,
    /// With --check: the name NAME in the results means this port of the gateway file, or its bus.
    ///
    /// The timed bench of the lab calls its buses "bus 0" and "bus 1". Example: --port "bus
    /// 1=to_logger"
    #[arg(long, value_name = "NAME=PORT", requires = "check", value_parser = renamed)]
    pub(crate) port: Vec<(String, String)>,
    /// Print JSON: all parts of each bound, in ns.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also print how much more often messages and errors may come, and how low bit rates may be,
    /// until a deadline can be missed.
    #[arg(long, conflicts_with_all = ["json", "witness"])]
    pub(crate) margin: bool,
    /// Write bound.html into this folder: a page that shows the parts of each bound, in any
    /// browser.
    ///
    /// With --check it also shows the measured latencies next to each bound, with --margin also how
    /// much worse it may become. It needs no network, and can be sent on its own.
    #[arg(long, value_name = "DIR", conflicts_with = "witness")]
    pub(crate) report: Option<PathBuf>,
    /// Find releases that make this message wait as long as its bound, and replay them on a
    /// simulated bus.
    ///
    /// ID, or BUS:ID if several buses have it. For queues in order of priority, the releases are
    /// constructed. For queues in order of arrival, and for messages that a gateway sends on, a
    /// search reports how near it came. Examples: --witness 100, --witness body:18FEF100
    #[arg(long, value_name = "ID", conflicts_with = "json")]
    pub(crate) witness: Option<String>,
    /// Write these releases as a candump log; its interfaces have the names of the buses.
    #[arg(long, value_name = "FILE", requires = "witness")]
    pub(crate) out: Option<PathBuf>,
    /// Maximum number of scenarios that a search for --witness may simulate.
    #[arg(long, value_name = "N", default_value_t = 2_000, requires = "witness")]
    pub(crate) plays: u32,
    /// Seed of the search for --witness; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "witness")]
    pub(crate) seed: u64,
}

/// Parses a port, its bus and its number of transmit buffers.
fn buffers(text: &str) -> Result<(String, String, NonZeroU8), String> {
    let parts = text.rsplit_once('=').and_then(|(names, n)| {
        let (port, bus) = names.split_once(':')?;
        Some((port, bus, n.parse().ok()?))
    });
    match parts {
        Some((port, bus, n)) if !port.is_empty() && !bus.is_empty() => {
            Ok((port.to_owned(), bus.to_owned(), n))
        }
        _ => Err("give PORT:INTERFACE=N, N from 1 to 255".to_owned()),
    }
}

/// Parses a port name of results, and the port of the gateway file that it means.
fn renamed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, port)) if !name.is_empty() && !port.is_empty() => {
            Ok((name.to_owned(), port.to_owned()))
        }
        _ => Err(
            "give NAME=PORT: the name in the results, and the port of the gateway file".to_owned(),
        ),
    }
}
