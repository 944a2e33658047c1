//! The machines other than the one that asks: the frames that they send at the same time, and the
//! fate of these frames.
//!
//! They are ordinary processes of the hypervisor; the one that asks has a real-time priority. Each
//! sends frames of 8 bytes with an identifier of its own, and waits where there is no room. The
//! node that answers receives all frames on the bus, so that frames that no node received are
//! detected.

use super::error::MeasureError;
use super::gateway::file;
use super::sharing::OtherMachine;
use crate::choices::{Machines, OtherTraffic};
use crate::nested::OtherRoundTrips;
use crate::spec::BITRATE;
use crate::under_test::{INCOMING, OUTGOING};
use frame::wire::{self, BitRate};
use frame::{CanId, Frame, Nanos};
use guest::inner::{ExitCounts, InnerMachine};
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::output;
use std::time::{Duration, Instant};

/// The interface in a machine.
const INSIDE: &str = super::sharing::INSIDE;
/// The first of the identifiers: they have lower priority than the nodes that ask and answer (7E0
/// and 7E1).
const FIRST: u32 = 0x7F1;
/// The identifier of a machine that babbles.
const BABBLE: u32 = 0x100;
/// The payload of each frame.
pub(super) const DATA: [u8; 8] = [0xAA; 8];
/// Time for which the others send before the first frame that counts: their queues are full then.
const RAMP: Duration = Duration::from_millis(200);
/// The bus counts as silent after this time without a frame; and the maximum number of checks for
/// it: frames that wait for a budget take long.
const QUIET: Duration = Duration::from_millis(300);
const MAX_CHECKS: u32 = 200;

const SEND: &str = include_str!("beside.sh");
const SILENT: &str = include_str!("silent.sh");

/// One of the senders.
pub(super) enum LoadSender {
    /// A machine.
    Inside(Box<OtherMachine>),
    /// A program next to the hypervisor's programs, on this interface.
    Native(String),
}

impl LoadSender {
    fn interface(&self) -> &str {
        match self {
            Self::Inside(_) => INSIDE,
            Self::Native(name) => name,
        }
    }

    fn run(&mut self, line: &[&str]) -> Result<String, MeasureError> {
        Ok(match self {
            Self::Inside(other) => other.machine.output(line)?,
            Self::Native(_) => output(Some(GATEWAY), line)?,
        })
    }
}

/// The counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SentCounts {
    pub(super) heard: u64,
    pub(super) overrun: u64,
    pub(super) sent: u64,
    refused: u64,
}

impl SentCounts {
    fn since(self, before: Self) -> Self {
        Self {
            heard: self.heard.saturating_sub(before.heard),
            overrun: self.overrun.saturating_sub(before.overrun),
            sent: self.sent.saturating_sub(before.sent),
            refused: self.refused.saturating_sub(before.refused),
        }
    }
}

/// Reads the counters of an interface; the caller specifies how a program is run there.
pub(super) fn counted(
    interface: &str,
    run: impl FnOnce(&[&str]) -> Result<String, MeasureError>,
) -> Result<SentCounts, MeasureError> {
    let names = [
        "rx_packets",
        "rx_over_errors",
        "tx_packets",
        "tx_dropped",
        "tx_errors",
    ];
    let paths = names.map(|name| format!("/sys/class/net/{interface}/statistics/{name}"));
    let mut line = vec!["cat"];
    line.extend(paths.iter().map(String::as_str));
    let text = run(&line)?;
    let numbers: Vec<u64> = text.lines().filter_map(|l| l.trim().parse().ok()).collect();
    let [heard, overrun, sent, dropped, errors] = numbers[..] else {
        return Err(MeasureError::Run(format!(
            "the counters of {interface} are `{text}`"
        )));
    };
    Ok(SentCounts {
        heard,
        overrun,
        sent,
        refused: dropped + errors,
    })
}

pub(super) fn native(interface: &str) -> Result<SentCounts, MeasureError> {
    counted(interface, |line| Ok(output(Some(GATEWAY), line)?))
}

/// All values known at a moment.
pub(super) struct LoadMoment {
    at: Instant,
    heard: u64,
    exits: Option<ExitCounts>,
    idle: Duration,
}

impl LoadMoment {
    /// Reads the current values; `machines`: some of the senders are machines.
    pub(super) fn now(machines: bool) -> Result<Self, MeasureError> {
        Ok(Self {
            heard: native(OUTGOING)?.heard,
            exits: machines.then(ExitCounts::now).transpose()?,
            idle: idle()?,
            at: Instant::now(),
        })
    }
}

/// The events between two moments.
pub(super) struct MomentSpan {
    time: Duration,
    /// Frames that the node that answers has received.
    heard: u64,
    exits: Option<ExitCounts>,
    idle: Duration,
}

impl MomentSpan {
    /// Does the work, and returns its result and the events during it.
    pub(super) fn measure<T>(
        machines: bool,
        work: impl FnOnce() -> Result<T, MeasureError>,
    ) -> Result<(T, Self), MeasureError> {
        let before = LoadMoment::now(machines)?;
        let done = work()?;
        let now = LoadMoment::now(machines)?;
        let exits = now.exits.as_ref().zip(before.exits.as_ref());
        let span = Self {
            time: now.at.saturating_duration_since(before.at),
            heard: now.heard.saturating_sub(before.heard),
            exits: exits.map(|(now, before)| now.since(before)),
            idle: now.idle.saturating_sub(before.idle),
        };
        Ok((done, span))
    }

    /// Returns the events in excess of those in `less`.
    pub(super) fn beyond(&self, less: &Self) -> Self {
        Self {
            time: self.time.saturating_sub(less.time),
            heard: self.heard.saturating_sub(less.heard),
            exits: None,
            idle: self.idle.saturating_sub(less.idle),
        }
    }

    fn seconds(&self) -> f64 {
        self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the percentage of the time with a frame on the bus: frames of the others, and of
    /// `trips` round trips, of which each is on the bus for `both`.
    fn load(&self, machines: Machines, trips: u64, both: Nanos) -> f64 {
        let others = self.heard.saturating_sub(trips);
        // The senders of these frames are not known: all are counted as the shortest.
        let busy = others * durations(machines).0 + trips * both;
        100.0 * Duration::from_nanos(busy).as_secs_f64() / self.seconds()
    }
}

/// Returns the idle time of the guest's processor (proc_uptime(5), the second number).
pub(super) fn idle() -> Result<Duration, MeasureError> {
    const PATH: &str = "/proc/uptime";
    let text = std::fs::read_to_string(PATH).map_err(file("read", PATH))?;
    let seconds = text.split_whitespace().nth(1).and_then(|s| s.parse().ok());
    seconds
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| MeasureError::Run(format!("{PATH} contains `{text}`, without an idle time")))
}

/// Senders that are sending.
pub(super) struct RunningSenders {
    /// The counters before any of them sent.
    node: SentCounts,
    each: Vec<SentCounts>,
    asks: SentCounts,
}

/// Returns the identifier of one of them.
pub(super) fn id(machines: Machines, number: usize) -> u32 {
    let last = number + 1 == usize::from(machines.beside());
    if last && machines.others == OtherTraffic::Babble {
        BABBLE
    } else {
        FIRST + number as u32
    }
}

/// Returns the time that a frame of one of them takes on the bus, including the intermission after
/// it, ns.
fn duration(id: u32) -> Option<Nanos> {
    let frame = Frame::classic(CanId::sff(id).ok()?, &DATA).ok()?;
    let rate = BitRate::new(BITRATE, None).ok()?;
    Some(wire::length(frame.view())?.duration(rate, true))
}

/// Returns the durations of the shortest and the longest frame of any of them, ns.
fn durations(machines: Machines) -> (Nanos, Nanos) {
    let all = (0..usize::from(machines.beside())).filter_map(|n| duration(id(machines, n)));
    all.fold((Nanos::MAX, 0), |(least, most), ns| {
        (least.min(ns), most.max(ns))
    })
}

/// Returns the gap between two frames of one of them, ms.
fn gap(machines: Machines) -> String {
    match machines.others {
        OtherTraffic::Flood | OtherTraffic::Babble => "0".to_owned(),
        OtherTraffic::Load(percent) => {
            let all = durations(machines).1 * u64::from(machines.beside()) * 100;
            let ns = all / u64::from(percent.max(1));
            format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
        }
    }
}

impl RunningSenders {
    /// Starts all senders.
    pub(super) fn start(
        senders: &mut [LoadSender],
        machines: Machines,
        asks: impl FnOnce() -> Result<SentCounts, MeasureError>,
    ) -> Result<Self, MeasureError> {
        let node = native(OUTGOING)?;
        let mut each = Vec::new();
        for sender in senders.iter_mut() {
            let name = sender.interface().to_owned();
            each.push(counted(&name, |line| sender.run(line))?);
        }
        let asks = asks()?;
        let gap = gap(machines);
        for (number, sender) in senders.iter_mut().enumerate() {
            let name = sender.interface().to_owned();
            let id = format!("{:03X}", id(machines, number));
            sender.run(&["sh", "-c", SEND, "sh", &name, &id, &gap])?;
        }
        std::thread::sleep(RAMP);
        Ok(Self { node, each, asks })
    }

    /// Stops them, waits until the bus is silent, and returns the fate of all frames. `asking`
    /// covers the round trips, with their number and their time on the bus; `alone` is a time
    /// without round trips. `gone`: a sender that no longer sends, and has lost its counters.
    pub(super) fn stop(
        self,
        senders: &mut [LoadSender],
        machines: Machines,
        gone: Option<usize>,
        (asking, trips, both): (&MomentSpan, u64, Nanos),
        alone: &MomentSpan,
        asks: impl FnOnce() -> Result<SentCounts, MeasureError>,
    ) -> Result<OtherRoundTrips, MeasureError> {
        for (number, sender) in senders.iter_mut().enumerate() {
            if Some(number) != gone {
                let id = format!("{:03X}", id(machines, number));
                sender.run(&["sh", "-c", SILENT, "sh", &id])?;
            }
        }
        silence()?;
        let node = native(OUTGOING)?.since(self.node);
        let mut all = asks()?.since(self.asks);
        for (number, (sender, before)) in senders.iter_mut().zip(&self.each).enumerate() {
            if Some(number) == gone {
                continue;
            }
            let name = sender.interface().to_owned();
            // Programs that share the interface of the one that asks share its counters.
            if matches!(sender, LoadSender::Native(_)) && name == INCOMING {
                continue;
            }
            let more = counted(&name, |line| sender.run(line))?.since(*before);
            all.sent += more.sent;
            all.refused += more.refused;
        }
        let exits = alone.exits.iter().flat_map(ExitCounts::iter);
        let each = |count: u64| count as f64 / alone.heard.max(1) as f64;
        Ok(OtherRoundTrips {
            frame: durations(machines).1,
            asking: asking.load(machines, trips, both),
            rate: alone.heard as f64 / alone.seconds(),
            load: alone.load(machines, 0, 0),
            idle: 100.0 * alone.idle.as_secs_f64() / alone.seconds(),
            sent: all.sent,
            refused: all.refused,
            lost: all.sent.saturating_sub(node.heard + node.overrun),
            unheard: node.overrun,
            exits: exits
                .map(|(name, count)| (name.to_owned(), each(count)))
                .collect(),
        })
    }
}

/// Returns the counters of the interface of the program that asks.
pub(super) fn asks(
    machine: &mut Option<InnerMachine>,
    interface: &str,
) -> Result<SentCounts, MeasureError> {
    match machine {
        Some(machine) => counted(interface, |line| Ok(machine.output(line)?)),
        None => native(interface),
    }
}

/// Waits until the bus is silent.
pub(super) fn silence() -> Result<(), MeasureError> {
    let mut before = native(OUTGOING)?;
    for _ in 0..MAX_CHECKS {
        std::thread::sleep(QUIET);
        let now = native(OUTGOING)?;
        if now == before {
            return Ok(());
        }
        before = now;
    }
    Err(MeasureError::Run(format!(
        "machines still send {} s after they were stopped",
        (QUIET * MAX_CHECKS).as_secs()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Incident, MachineOrder};

    fn machines(count: u8, others: OtherTraffic) -> Machines {
        Machines {
            count,
            others,
            order: MachineOrder::Priority,
            budget: 0,
            incident: Incident::None,
        }
    }

    #[test]
    fn only_the_last_one_babbles() {
        let all = |others| {
            let m = machines(4, others);
            (0..3).map(|n| id(m, n)).collect::<Vec<_>>()
        };
        assert_eq!(all(OtherTraffic::Flood), [0x7F1, 0x7F2, 0x7F3]);
        assert_eq!(all(OtherTraffic::Babble), [0x7F1, 0x7F2, 0x100]);
    }

    #[test]
    fn a_load_is_shared_by_all_others() {
        assert_eq!(gap(machines(8, OtherTraffic::Flood)), "0");
        let (least, most) = durations(machines(2, OtherTraffic::Flood));
        assert_eq!(least, most);
        // 108 bits without stuff bits, and the intermission (ISO 11898-1).
        assert!((111_000..=135_000).contains(&most), "{most}");
        let half = gap(machines(2, OtherTraffic::Load(50)));
        assert_eq!(half, format!("0.{:06}", 2 * most));
    }

    #[test]
    fn the_bus_is_as_busy_as_its_frames_are_long() {
        let m = machines(2, OtherTraffic::Flood);
        let frame = durations(m).0;
        let span = |frames: u64| MomentSpan {
            time: Duration::from_nanos(20 * frame),
            heard: frames,
            exits: None,
            idle: Duration::ZERO,
        };
        let whole = |load: f64| (load * 1000.0).round();
        assert_eq!(whole(span(20).load(m, 0, 0)), 100_000.0);
        // Of a round trip one frame is received, and both are on the bus.
        assert_eq!(whole(span(10).load(m, 5, 2 * frame)), 75_000.0);
        assert_eq!(span(20).beyond(&span(5)).heard, 15);
    }
}
