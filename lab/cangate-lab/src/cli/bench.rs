//! The options of `cangate bench`.

use clap::{Args, Subcommand};
use console::value::{bit_rate, can_id};
use experiment::settings::MAX_STAMP_EVERY;
use frame::CanId;
use probe::traffic::{LONGEST_PAYLOAD, SHORTEST_PAYLOAD, TrafficPattern};
use std::ops::RangeInclusive;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(
    after_long_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    #[command(flatten, next_help_heading = "Interfaces")]
    pub(crate) interfaces: Interfaces,
    #[command(flatten, next_help_heading = "Traffic")]
    pub(crate) traffic: Traffic,
    #[command(flatten, next_help_heading = "Timing")]
    pub(crate) timing: Timing,
    #[command(flatten, next_help_heading = "Results")]
    pub(crate) output: Output,
    #[command(flatten, next_help_heading = "Other measurements")]
    pub(crate) other: Other,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Measure the cost of each way to receive and to send: calls, rings, io_uring.
    ///
    /// It sends bursts of 1 to N frames on one interface, receives them there, and times nothing
    /// but that. The result is a line for each way: the cost of a frame, and the additional cost of
    /// a call. The best interface for this is a virtual one (vcan).
    Syscalls(Syscalls),
}

#[derive(Args, Debug)]
#[command(after_long_help = SYSCALLS_EXAMPLES)]
pub(crate) struct Syscalls {
    /// The interface. On one that is not virtual, test frames go on the bus.
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// The maximum number of frames of a burst, 1 to 50000 [default: 50000, or the length of the
    /// interface's queue].
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u32>,
    /// CAN ID of the frames in hexadecimal: 3 digits for SFF, 8 digits for EFF.
    #[arg(long, value_name = "ID", default_value = "123", value_parser = can_id)]
    pub(crate) id: CanId,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The clock of the machine is virtual. The lab sets this.
    #[arg(long, hide = true)]
    pub(crate) virtual_time: bool,
}

const SYSCALLS_EXAMPLES: &str = "\
Examples:
  On a virtual interface
      ip link add dev vcan0 type vcan && ip link set vcan0 up
      cangate bench syscalls vcan0
  On other kernels, in the lab
      cangate lab exec --kernel 6.12 -- cangate bench syscalls vcan0
  On a bus, with an ID that disturbs no other node; another node must acknowledge the frames
      cangate bench syscalls can0 --id 7FF

The table has for each way:
  frame   cost of each further frame (slope of the line through all bursts)
  call    cost of a burst in addition to its frames (where the line begins)
  alone   a burst of one frame
  off     largest distance of a burst from the line
  ratio   the cost of a frame divided by that of read, or of write
For a way that this kernel or this interface does not have, the line gives the reason.

Exit status: 0: measured, even if ways are missing; 1: the measurement failed; 2: the options or the
interface are wrong.";

const EXAMPLES: &str = "\
Examples:
  The papers' first experiment: 10000 frames, one at a time, 4 bytes
      cangate bench --send can0 --reference can1 --receive can2 --frames 10000
  Only two interfaces: the reference is the sender's own echo
      cangate bench --send can0 --receive can1
  50 % bus load, 8 bytes; write the stamps of every frame to a file for `cangate report`
      cangate bench --send can0 --reference can1 --receive can2 \\
          --traffic load:50 --payload 8 --out half.parquet
  No hardware: a can-gw rule between two virtual interfaces
      cangw -A -e -s vcan0 -d vcan1 && cangate bench --send vcan0 --receive vcan1
  Check the stamps: no gateway, all interfaces on one bus
      cangate bench --self-check --send can0 --reference can1 --receive can2

The reference interface is on the gateway's input bus, beside the sender. Its stamp is the time at
which a frame was on that bus. The latency of a frame is
(end of frame out) - (end of frame in) - (duration of the outgoing frame with its stuff bits).
The first two bytes of each frame are its number. The gateway must not change them.
See docs/bench.md.

Exit status: 0: measured, even if frames were lost; 1: the measurement failed or ended early (the
results until then are printed and written); 2: the options or the input are wrong.";

#[derive(Args, Debug)]
pub(crate) struct Interfaces {
    /// The interface or character device (/dev/can0) that sends the frames.
    #[arg(long, value_name = "IFACE", required_unless_present = "bitcan")]
    pub(crate) send: Option<String>,
    /// A second interface or device on the sender's bus; it stamps the frames that go into the
    /// gateway.
    ///
    /// Without it, the echo of the sender is stamped.
    #[arg(long, value_name = "IFACE", requires = "send")]
    pub(crate) reference: Option<String>,
    /// The interface or device on the gateway's output bus; it stamps the frames that come out.
    #[arg(long, value_name = "IFACE", required_unless_present = "bitcan")]
    pub(crate) receive: Option<String>,
    /// Use the stamps of the CAN controllers instead of the kernel's.
    ///
    /// This works only if reference and receiver are channels of one device: they must have the
    /// same clock.
    #[arg(long, requires = "send")]
    pub(crate) hardware_stamps: bool,
    /// Send and receive as a node on bit-timed buses (kmod/bitcan), without CAN interfaces.
    #[arg(long, conflicts_with_all = ["send", "reference", "receive"])]
    pub(crate) bitcan: bool,
    /// With --bitcan: the number of the gateway's input bus, 0 to 7.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 0)]
    pub(crate) send_bus: u8,
    /// With --bitcan: the number of the gateway's output bus, 0 to 7.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 1)]
    pub(crate) receive_bus: u8,
    /// With --bitcan: stamp only every Nth frame.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STAMP_EVERY)))]
    pub(crate) stamp_every: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Traffic {
    /// When frames are sent: oneatatime, load:PERCENT, flood or period:MICROSECONDS.
    ///
    ///   oneatatime           the next frame after the previous one came out (or was lost)
    ///   load:PERCENT         a bus load of 1 to 100 per cent
    ///   flood                as fast as the bus takes the frames
    ///   period:MICROSECONDS  one frame per period, 0.1 to 60000000 microseconds
    ///
    /// Example: --traffic load:50
    #[arg(
        long,
        value_name = "TRAFFIC",
        verbatim_doc_comment,
        default_value = "oneatatime"
    )]
    pub(crate) traffic: TrafficPattern,
    /// Replay this log at its own times instead.
    ///
    /// Frames that have no room for the number are skipped: remote frames, and frames with fewer
    /// than two bytes. Example: --log drive.log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traffic", "payload", "id", "fd", "brs"])]
    pub(crate) log: Option<PathBuf>,
    /// Number of frames [default: 1000, or all frames of the log].
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u32>,
    /// Payload bytes: 2 to 8, or to 64 with --fd; A-B for a random length.
    ///
    /// Examples: --payload 4, --payload 2-8
    #[arg(long, value_name = "N|A-B", default_value = "4", value_parser = lens)]
    pub(crate) payload: RangeInclusive<usize>,
    /// CAN ID in hexadecimal: 3 digits for SFF, 8 digits for EFF; A-B for random IDs.
    ///
    /// Examples: --id 123, --id 18FEF100, --id 100-7FF
    #[arg(long, value_name = "ID|A-B", default_value = "123", value_parser = ids)]
    pub(crate) id: (CanId, CanId),
    /// Send FD frames.
    #[arg(long)]
    pub(crate) fd: bool,
    /// With --fd: send the data phase at the data bit rate (BRS).
    #[arg(long, requires = "fd")]
    pub(crate) brs: bool,
    /// Seed of random IDs, lengths and payloads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Timing {
    /// Bit rate of the buses, for example 500k [default: the rate set on the interfaces].
    #[arg(long, value_name = "RATE", value_parser = bit_rate)]
    pub(crate) bitrate: Option<u32>,
    /// Data bit rate of the buses, for example 2M; for FD frames with --brs.
    #[arg(long, value_name = "RATE", value_parser = bit_rate, requires = "bitrate")]
    pub(crate) data_bitrate: Option<u32>,
    /// Do not subtract the frame's duration: for emulated cards, on which frames take no time.
    ///
    /// Virtual interfaces are recognized and need no option.
    #[arg(long, conflicts_with = "bitrate")]
    pub(crate) no_bus_time: bool,
    /// A frame that does not come out within this time is lost, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) timeout: u64,
    /// With --traffic oneatatime: pause before the next frame, in microseconds.
    ///
    /// In this time the machine finishes its work on the previous frame.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) pause: u64,
    /// Number of frames to send before the measurement, one at a time; they are not counted.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) warm_up: u32,
    /// Real-time priority of the tester (SCHED_FIFO), 1 to 99; 0 for none.
    ///
    /// On a machine with one processor, it must be lower than the priority of a user-space gateway.
    #[arg(long, value_name = "N", default_value_t = 40,
          value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
    /// The clock of the machine is virtual. The lab sets this.
    #[arg(long, hide = true)]
    pub(crate) virtual_time: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Write the stamps of every frame and all settings to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep this setting with the result, for example gateway=cangw; can be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Args, Debug)]
pub(crate) struct Other {
    /// Measure the tester itself: no gateway, all interfaces on one bus.
    ///
    /// It prints how long sending and receiving take, and the difference between the stamps of
    /// reference and receiver.
    #[arg(long, requires = "send")]
    pub(crate) self_check: bool,
}

fn lens(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| {
        text.trim().parse::<usize>().map_err(|_| {
            "give a number of bytes, for example 4, or a range, for example 2-8".to_owned()
        })
    };
    let (low, high) = match text.split_once('-') {
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(text)?, number(text)?),
    };
    if low > high {
        return Err("give the lower number first, for example 2-8".to_owned());
    }
    if low < SHORTEST_PAYLOAD {
        return Err(format!(
            "the frame's number takes the first two bytes: give at least {SHORTEST_PAYLOAD}"
        ));
    }
    if high > LONGEST_PAYLOAD {
        return Err(format!(
            "no frame has more than {LONGEST_PAYLOAD} bytes (8 without --fd)"
        ));
    }
    Ok(low..=high)
}

fn ids(text: &str) -> Result<(CanId, CanId), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Ok((can_id(first)?, can_id(last)?))
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give NAME=VALUE, for example kernel=6.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bytes_and_identifiers() {
        assert_eq!(lens("4"), Ok(4..=4));
        assert_eq!(lens("2-8"), Ok(2..=8));
        for text in ["1", "0-4", "8-2", "65", "-3", "4-", "x"] {
            assert!(lens(text).is_err(), "{text}");
        }
        let (first, last) = ids("100-7FF").unwrap();
        assert_eq!((first.raw(), last.raw()), (0x100, 0x7FF));
        assert!(ids("00000123").unwrap().0.is_eff());
        for text in ["12", "800", "20000000", "xyz", "123-", "+12"] {
            assert!(ids(text).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_have_a_name() {
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("=b").is_err() && setting("b").is_err());
    }
}
