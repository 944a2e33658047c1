//! The options of `cangate watch`.

use crate::watching::DatabaseOfPort;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(
    after_long_help = EXAMPLES,
    override_usage = "cangate watch [OPTIONS] PORT…\n       \
        cangate watch [OPTIONS] --config GATEWAY.TOML PORT…\n       \
        cangate watch [OPTIONS] --from NAME…"
)]
pub(crate) struct Watch {
    /// CAN interfaces, and paths of character devices such as /dev/can0; with --config ports of
    /// that file, which are opened here.
    #[arg(value_name = "PORT")]
    pub(crate) ports: Vec<String>,
    #[command(flatten, next_help_heading = "Ports of gateways")]
    pub(crate) place: SourceArgs,
    #[command(flatten, next_help_heading = "Which frames, and their names")]
    pub(crate) frames: SeenArgs,
    #[command(flatten, next_help_heading = "Output and end")]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  What is on two buses
      cangate watch can0 can1
  With the names and signals of a database
      cangate watch can0 --database body.dbc
  The ports of a running gateway, of any kind: what they receive, and what they send
      cangate watch --from body --from tunnel
      cangate watch --gateway gateway.toml
  Lines as candump -L prints them, without a delay, for another program
      cangate watch can0 --filter 700-7FF --lines | grep 7E8
  Ten frames
      cangate watch can0 --lines --count 10

On a terminal it shows a table with a row for each port, ID and frame format; `h` explains its keys.
Elsewhere, or with --lines, it prints a line for each frame at once.

A running gateway receives those frames that its routes can take; `cangate watch` of its interface
shows all. Each frame that a slow reader of this output does not get is counted.

Exit status: 0: ended as asked; 1: a port failed; 2: the options or the file are wrong; 3: frames were
lost, because this program or its reader was too slow; 4: standard output was closed.";

#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    /// The gateway file whose ports are used; its routes are not used.
    #[arg(long, value_name = "GATEWAY.TOML", conflicts_with_all = ["from", "gateway", "socket"])]
    pub(crate) config: Option<PathBuf>,
    /// A port of a running gateway; can be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "ports")]
    pub(crate) from: Vec<String>,
    /// The file of the running gateway; not needed if only one gateway runs. Without --from, all
    /// its ports are watched.
    #[arg(long, value_name = "GATEWAY.TOML", conflicts_with_all = ["ports", "socket"])]
    pub(crate) gateway: Option<PathBuf>,
    /// The control socket of the running gateway, instead of its file.
    #[arg(long, value_name = "PATH", conflicts_with = "ports")]
    pub(crate) socket: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SeenArgs {
    /// Only frames with these IDs: 123, 200-2FF, 100:700, !123; can be given several times.
    ///
    /// A frame is shown if it passes any of the filters.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) filter: Vec<String>,
    /// The database of the messages (DBC); `PORT=FILE` is for one port.
    #[arg(short, long = "database", value_name = "[PORT=]FILE")]
    pub(crate) databases: Vec<DatabaseOfPort>,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print a line for each frame, on a terminal, too.
    ///
    /// The lines are those of `candump -L`; of a gateway's ports they end in R or T (received,
    /// sent) as those of `candump -L -x`. With --database, a comment with the message and its
    /// signals follows each frame.
    #[arg(long)]
    pub(crate) lines: bool,
    /// End after this many frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// End after this time, for example 10s.
    #[arg(long, value_name = "TIME", value_parser = super::time::any)]
    pub(crate) duration: Option<Duration>,
}
