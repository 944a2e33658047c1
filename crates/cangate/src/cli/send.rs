//! The options of `cangate send`.

use super::time;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(
    after_long_help = EXAMPLES,
    override_usage = "cangate send [OPTIONS] PORT [FRAME]…\n       \
        cangate send [OPTIONS] --config GATEWAY.TOML --port NAME [FRAME]…\n       \
        cangate send [OPTIONS] --to NAME [FRAME]…"
)]
pub(crate) struct Send {
    /// The port, unless --port or --to names it: a CAN interface, or the path of a character device
    /// such as /dev/can0. Then frames as cansend takes them: 123#DEADBEEF, 18DAF110#R,
    /// 123##1AABBCC (FD with BRS).
    ///
    /// 123 is a standard identifier, 00000123 an extended one. The digit after ## has the flags of
    /// an FD frame: 1 for BRS, 2 for ESI. 45123#81:00:12345678#AA is an XL frame: VCID, priority,
    /// flags, SDT, acceptance field, payload.
    #[arg(value_name = "PORT|FRAME", verbatim_doc_comment)]
    pub(crate) words: Vec<String>,
    #[command(flatten, next_help_heading = "Where to")]
    pub(crate) place: PlaceArgs,
    #[command(flatten, next_help_heading = "Which frames")]
    pub(crate) frames: FrameArgs,
    #[command(flatten, next_help_heading = "When")]
    pub(crate) timing: TimingArgs,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing if every frame was sent.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  A frame, and an FD frame with bit rate switch
      cangate send can0 123#DEADBEEF 18DAF110##1AABB
  Every 10 ms for a second
      cangate send can0 123#1122 --every 10ms --count 100
  A message by its name, until Ctrl-C; its end-to-end protection is computed
      cangate send can0 --database body.dbc --message DoorState --signal Locked=1 --every 100ms
  A log, with its times; and what another program prints
      cangate send can0 --read drive.log --keep-timing
      candump -L can1 | cangate send can0 --read -
  A port of any kind, as a gateway file has it
      cangate send --config gateway.toml --port tunnel 123#1122
  A port of a running gateway, whose file has `inject = true`
      cangate send --to body 123#1122

Of a message, signals without a --signal have the start value that the database states
(GenSigStartValue), or else raw 0; bits that belong to no signal are 0.

Exit status: 0: every frame was sent; 1: the port failed; 2: the options or the file are wrong; 3: a
frame was not sent, or a line was not a frame.";

#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// The gateway file whose port is used; its routes are not used.
    #[arg(
        long,
        value_name = "GATEWAY.TOML",
        requires = "port",
        conflicts_with = "to"
    )]
    pub(crate) config: Option<PathBuf>,
    /// The port of that file.
    #[arg(long, value_name = "NAME", requires = "config")]
    pub(crate) port: Option<String>,
    /// A port of a running gateway, whose file allows it by `inject = true`.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// The file of the running gateway; not needed if only one gateway runs.
    #[arg(
        long,
        value_name = "GATEWAY.TOML",
        requires = "to",
        conflicts_with = "socket"
    )]
    pub(crate) gateway: Option<PathBuf>,
    /// The control socket of the running gateway.
    #[arg(long, value_name = "PATH", requires = "to")]
    pub(crate) socket: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct FrameArgs {
    /// Read frames from a file, one a line: as cansend takes them, or lines of candump's logs; `-`
    /// is standard input.
    ///
    /// They are sent while the file is read. The interface of a line makes no difference.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["message", "every", "count"])]
    pub(crate) read: Option<PathBuf>,
    /// Keep the times of the log, from its first frame on.
    #[arg(long, requires = "read")]
    pub(crate) keep_timing: bool,
    /// Send this message of the database.
    #[arg(long, value_name = "NAME", requires = "database")]
    pub(crate) message: Option<String>,
    /// A signal of the message and its value: a number, with the unit of the signal or without, or
    /// the name of a value. Can be given several times.
    #[arg(long = "signal", value_name = "SIGNAL=VALUE", requires = "message")]
    pub(crate) signals: Vec<String>,
    /// The database of the message (DBC).
    #[arg(long, value_name = "FILE", requires = "message")]
    pub(crate) database: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct TimingArgs {
    /// Send all frames again after this time, for example 10ms, until SIGINT or SIGTERM, or --count
    /// times.
    ///
    /// Each round is due a multiple of this time after the first one: a late frame does not move
    /// the next ones.
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) every: Option<Duration>,
    /// Send all frames this many times; without --every as fast as the port takes them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Give a frame up that the port does not take within this time [default: 1s; with --every the
    /// time to the next round, at least 50ms].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
}

/// The longest period, and the longest timeout.
const LONGEST: Duration = Duration::from_secs(86_400);

fn period(text: &str) -> Result<Duration, String> {
    time::within(
        text,
        &(Duration::from_micros(10)..=LONGEST),
        "from 10us to 24h",
    )
}

fn timeout(text: &str) -> Result<Duration, String> {
    time::within(text, &(Duration::ZERO..=LONGEST), "from 0ms to 24h")
}
