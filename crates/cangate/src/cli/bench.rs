//! `cangate bench`: what can be typed.

use clap::Args;
use experiment::settings::MOST_STAMP_EVERY;
use frame::CanId;
use frame::wire::parse_rate;
use probe::traffic::{LONGEST_PAYLOAD, Pattern, SHORTEST_PAYLOAD};
use std::ops::RangeInclusive;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Bench {
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

const EXAMPLES: &str = "\
Examples:
  The papers' first experiment: 10000 frames, one at a time, 4 bytes
      cangate bench --send can0 --reference can1 --receive can2 --frames 10000
  Two interfaces only: the sender's own echo is the reference
      cangate bench --send can0 --receive can1
  Half of the bus's time, 8 bytes, every frame's stamps into a file for `cangate report`
      cangate bench --send can0 --reference can1 --receive can2 \\
          --traffic load:50 --payload 8 --out half.parquet
  Without hardware: a can-gw rule between two virtual interfaces
      cangw -A -e -s vcan0 -d vcan1 && cangate bench --send vcan0 --receive vcan1
  How exact are the stamps? No gateway, all interfaces on one bus
      cangate bench --self-check --send can0 --reference can1 --receive can2

The reference is an interface beside the gateway's input: it is on the bus that the tester sends
to, and its stamp is the time at which a frame really was on the bus. A frame's latency is
(end of frame out) - (end of frame in) - (duration of the outgoing frame), stuff bits included.
Frames carry a number in their first two bytes, which the gateway must leave as it is.
docs/bench.md says more.

Exit status: 0 measured (whatever was lost), 1 it could not be done or ended early (what was seen
until then is printed and written all the same), 2 what was given is wrong.";

#[derive(Args, Debug)]
pub(crate) struct Interfaces {
    /// The interface that sends.
    #[arg(
        long,
        value_name = "IFACE",
        required_unless_present_any = ["bitcan", "syscalls"]
    )]
    pub(crate) send: Option<String>,
    /// The interface beside it on the same bus, which stamps what goes into the gateway; without
    /// one the sender's own echo is stamped.
    #[arg(long, value_name = "IFACE", requires = "send")]
    pub(crate) reference: Option<String>,
    /// The interface on the gateway's other bus, which stamps what comes out.
    #[arg(
        long,
        value_name = "IFACE",
        required_unless_present_any = ["bitcan", "syscalls"]
    )]
    pub(crate) receive: Option<String>,
    /// Stamps of the controllers instead of the kernel; only where the reference and the receiver
    /// are channels of one device, and so of one clock.
    #[arg(long, requires = "send")]
    pub(crate) hardware_stamps: bool,
    /// The tester is a node of a bit-timed bus (kmod/bitcan), in place of interfaces.
    #[arg(long, conflicts_with_all = ["send", "reference", "receive"])]
    pub(crate) bitcan: bool,
    /// With --bitcan: the bus that goes into the gateway.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 0)]
    pub(crate) send_bus: u8,
    /// With --bitcan: the bus that comes out of the gateway.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 1)]
    pub(crate) receive_bus: u8,
    /// With --bitcan: take stamps of every Nth frame only.
    #[arg(long, value_name = "N", requires = "bitcan", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STAMP_EVERY)))]
    pub(crate) stamp_every: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Traffic {
    /// oneatatime, load:PERCENT (of the bus's time), flood, or period:MICROSECONDS.
    #[arg(long, value_name = "T", default_value = "oneatatime")]
    pub(crate) traffic: Pattern,
    /// Replay this candump log instead, at its own times; frames with no room for a number are
    /// left out.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traffic", "payload", "id", "fd", "brs"])]
    pub(crate) log: Option<PathBuf>,
    /// How many frames [default: 1000; all of a log].
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u32>,
    /// Payload bytes, 2 to 8 (FD: to 64); A-B for a random number of them.
    #[arg(long, value_name = "N|A-B", default_value = "4", value_parser = lens)]
    pub(crate) payload: RangeInclusive<usize>,
    /// Identifier: 3 hexadecimal digits for the standard format, 8 for the extended one; A-B for
    /// a random one of them.
    #[arg(long, value_name = "ID|A-B", default_value = "123", value_parser = ids)]
    pub(crate) id: (CanId, CanId),
    /// Send FD frames.
    #[arg(long)]
    pub(crate) fd: bool,
    /// With --fd: switch to the data bit rate.
    #[arg(long, requires = "fd")]
    pub(crate) brs: bool,
    /// Seed of identifiers, lengths and payloads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Timing {
    /// Bit rate of the buses, as 500k [default: what the interfaces are set to].
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) bitrate: Option<u32>,
    /// Data bit rate of the buses, for FD frames with --brs.
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "bitrate")]
    pub(crate) data_bitrate: Option<u32>,
    /// Frames take no time (emulated cards): nothing is subtracted. Virtual interfaces are known.
    #[arg(long, conflicts_with = "bitrate")]
    pub(crate) no_bus_time: bool,
    /// A frame that is not back after so many milliseconds is lost.
    #[arg(long, value_name = "MS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) timeout: u64,
    /// One at a time: microseconds between a frame's return and the next one, in which the machine
    /// comes to rest.
    #[arg(long, value_name = "US", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) pause: u64,
    /// Frames to send before, one at a time, and to throw away.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) warm_up: u32,
    /// The tester's real-time priority (SCHED_FIFO); 0 for none. On a machine with one processor
    /// it must be below a user-space gateway's.
    #[arg(long, value_name = "N", default_value_t = 40,
          value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
    /// The machine's clock is a virtual one. Set by the lab.
    #[arg(long, hide = true)]
    pub(crate) virtual_time: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Write every frame's stamps and all settings into this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// A setting to be kept with the result, as gateway=cangw or kernel=6.1; as often as needed.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Args, Debug)]
pub(crate) struct Other {
    /// No gateway, all interfaces on one bus: how long sending and receiving take by themselves,
    /// and how well reference and receiver agree.
    #[arg(long, requires = "send")]
    pub(crate) self_check: bool,
    /// Time read, recvmmsg, write and sendmmsg on this virtual interface, for 1 to --frames frames
    /// [default: 50000].
    #[arg(long, value_name = "IFACE", conflicts_with_all = ["send", "receive", "reference", "bitcan", "log"])]
    pub(crate) syscalls: Option<String>,
}

fn lens(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<usize>()
            .map_err(|_| "give a number of bytes, or two as 2-8".to_owned())
    };
    let (low, high) = match text.split_once('-') {
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(text)?, number(text)?),
    };
    if low > high {
        return Err("the lower number comes first".to_owned());
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
    Ok((id(first)?, id(last)?))
}

fn id(text: &str) -> Result<CanId, String> {
    // The parser below takes a sign, which is no digit.
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("not hexadecimal".to_owned());
    }
    let number = u32::from_str_radix(text, 16).map_err(|_| "not hexadecimal".to_owned())?;
    match text.len() {
        3 => CanId::sff(number).map_err(|e| e.to_string()),
        8 => CanId::eff(number).map_err(|e| e.to_string()),
        _ => Err("3 hexadecimal digits for the standard format, 8 for the extended one".to_owned()),
    }
}

fn rate(text: &str) -> Result<u32, String> {
    parse_rate(text).map_err(|e| e.to_string())
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give NAME=VALUE".to_owned()),
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
