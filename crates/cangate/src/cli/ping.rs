//! The options of `cangate ping`.

use clap::Args;
use console::value::{bit_rate, can_id};
use frame::CanId;
use port::socketcan::{ReceiveBy, TransmitBy};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Ping {
    /// The port of the master, and the port of the slave; each is a CAN interface or a character
    /// device, or with --config a port of that file.
    ///
    /// A character device is a path such as /dev/can0.
    ///
    /// With one port, another program or device answers: `cangate ping --slave` on another machine,
    /// or any device that sends the answer.
    #[arg(value_name = "PORT", required = true, num_args = 1..=2)]
    pub(crate) ports: Vec<String>,
    /// Only answer, on all given ports, until SIGINT or SIGTERM.
    #[arg(long)]
    pub(crate) slave: bool,
    /// Measure without a slave: wait for the interface's own echo of each frame.
    ///
    /// Most drivers echo a frame when it was on the bus. So the measured time is that of sending a
    /// frame, and of the notification that it was sent.
    #[arg(long, conflicts_with_all = ["slave", "config", "answer"])]
    pub(crate) own: bool,
    /// The gateway file whose ports are used; its routes are not used.
    #[arg(long, value_name = "GATEWAY.TOML")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Frames")]
    pub(crate) frames: FrameArgs,
    #[command(flatten, next_help_heading = "Timing")]
    pub(crate) timing: TimingArgs,
    #[command(flatten, next_help_heading = "Ways of a CAN interface")]
    pub(crate) ways: WayArgs,
    #[command(flatten, next_help_heading = "Results")]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  How long does a round trip take on this machine? Two interfaces on one bus
      cangate ping can0 can1
  The papers' measurement: 10000 round trips, one after the other, 8 bytes
      cangate ping can0 can1 --count 10000 --period 0
  Two machines
      cangate ping --slave can0            (on the one)
      cangate ping can0 --count 10000      (on the other)
  How long does it take to send a frame, and to learn that it was on the bus?
      cangate ping --own can0 --period 0
  A histogram, and every round trip for `cangate report`
      cangate ping can0 can1 --histogram 10 --out trips.parquet
  Ports of every kind, as a gateway file names them
      cangate ping --config gateway.toml engine-bus spare

A round trip begins just before the call that sends, and ends just after the call that brings the
answer. The first four bytes of a frame are its number.

Exit status: 0: every frame was answered in time; 1: a port failed; 2: the options or the file are
wrong; 3: frames were not answered in time.";

#[derive(Args, Debug)]
pub(crate) struct FrameArgs {
    /// CAN ID of the frames to send, in hexadecimal: 3 digits for SFF, 8 digits for EFF.
    #[arg(long, value_name = "ID", default_value = "7E0", value_parser = can_id)]
    pub(crate) id: CanId,
    /// CAN ID of the answer [default: the next one].
    #[arg(long, value_name = "ID", value_parser = can_id)]
    pub(crate) answer: Option<CanId>,
    /// Payload bytes: 0 to 8, or to 64 with --fd.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) payload: usize,
    /// Send FD frames.
    #[arg(long)]
    pub(crate) fd: bool,
    /// With --fd: send the data phase at the data bit rate (BRS).
    #[arg(long, requires = "fd")]
    pub(crate) brs: bool,
    /// Number of simultaneous masters, each with a slave of its own; their IDs follow each other.
    /// The other side (`--slave`) needs the same number: masters without a slave get no answer.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "answer",
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) masters: u16,
}

#[derive(Args, Debug)]
pub(crate) struct TimingArgs {
    /// Number of round trips of each master; 0: until SIGINT or SIGTERM.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) count: u64,
    /// Time from one frame to the next, in microseconds; 0: the next one when the answer has come.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(0..=3_600_000_000))]
    pub(crate) period: u64,
    /// Time after which a missing answer counts as lost, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(crate) timeout: u64,
    /// Real-time priority (SCHED_FIFO) of masters and slaves, 1 to 99; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 80,
          value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
    /// Bit rate of the bus, for example 500k [default: the rate set on the interface].
    ///
    /// It determines how much of a round trip the two frames are on the bus. A character device
    /// that is stopped is started with it.
    #[arg(long, value_name = "RATE", value_parser = bit_rate)]
    pub(crate) bitrate: Option<u32>,
    /// Data bit rate of the bus, for example 2M; for FD frames with --brs.
    #[arg(long, value_name = "RATE", value_parser = bit_rate, requires = "bitrate")]
    pub(crate) data_bitrate: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct WayArgs {
    /// Way to receive frames: read, read-nonblock, read-busypoll, recvmmsg, ring, ring-busy,
    /// io_uring.
    #[arg(long, value_name = "WAY", default_value = "read", value_parser = receive,
          conflicts_with = "config")]
    pub(crate) receive: ReceiveBy,
    /// Way to send frames: write, sendmmsg, ring, io_uring.
    #[arg(long, value_name = "WAY", default_value = "write", value_parser = transmit,
          conflicts_with = "config")]
    pub(crate) transmit: TransmitBy,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print a histogram with bins of this width, in microseconds.
    #[arg(long, value_name = "MICROSECONDS",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) histogram: Option<u64>,
    /// Write every round trip to this Parquet file.
    #[arg(long, value_name = "FILE", conflicts_with = "slave")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no display during the run.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn receive(text: &str) -> Result<ReceiveBy, String> {
    way(&ReceiveBy::ALL, text)
}

fn transmit(text: &str) -> Result<TransmitBy, String> {
    way(&TransmitBy::ALL, text)
}

fn way<T: Copy>(all: &[(&'static str, T)], text: &str) -> Result<T, String> {
    let found = all.iter().find(|(word, _)| *word == text);
    found.map(|(_, way)| *way).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        format!("give one of {}", words.join(", "))
    })
}
