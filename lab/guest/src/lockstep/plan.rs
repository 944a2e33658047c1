//! Machines and links, and whether they can run in step.

use crate::devices::LINKED_CARDS;
use crate::kernels::Kernel;
use crate::kmod;
use crate::linked::{ClockDrift, START};
use crate::machine::{GuestSpec, TimeMode};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The most machines and links (`MACHINES` and `LINKS` of `plugin/lockstep/settings.h`).
pub(crate) const MACHINES: usize = 16;
const LINKS: usize = 8;

/// Bits of the shortest classic CAN frame, from start of frame to end of frame (ISO 11898-1): the
/// base format without data and without stuff bits. An FD frame without BRS is longer.
const SHORTEST_CAN: u64 = 44;
/// The same of an FD frame with BRS: at the bit rate, and at the data bit rate (ESI to the last bit
/// of the CRC field).
const SHORTEST_FD: [u64; 2] = [27, 32];
/// Bytes of the shortest Ethernet packet on the line (IEEE 802.3): preamble, and 64 bytes with the
/// check sequence.
const SHORTEST_ETHERNET: u64 = 8 + 64;
/// The bit rates of CAN buses for classic frames, bit/s: the driver of SJA1000 has no lower one
/// with the card's clock of 8 MHz.
const CAN_RATES: RangeInclusive<u32> = 5_000..=1_000_000;
/// The bit rates of buses with FD frames, and their data bit rates: those that the driver ctucanfd
/// has with the card's clock of 100 MHz, and that are in use.
const FD_RATES: [RangeInclusive<u32>; 2] = [50_000..=1_000_000, 400_000..=8_000_000];

const NS_PER_S: u64 = 1_000_000_000;

/// The interval of machines without any link.
const UNLINKED: Duration = Duration::from_millis(1);

/// Machines that run in one virtual time.
#[derive(Clone, Debug)]
pub struct LockstepPlan {
    /// The machines, in an order that is part of the result: their addresses have their numbers.
    pub machines: Vec<MachinePlan>,
    /// The links.
    pub links: Vec<LinkPlan>,
    /// The longest time between two meetings in which something happens; by default the longest
    /// that the links allow.
    pub interval: Option<Duration>,
    /// The virtual time in which all commands must end.
    pub limit: Duration,
    /// Whether there are no meetings while all machines are idle. It changes no result.
    pub skip_idle: bool,
}

/// One of the machines.
#[derive(Clone, Debug)]
pub struct MachinePlan {
    /// The host name.
    pub name: String,
    /// The guest. Its `linked` is set by the run.
    pub guest: GuestSpec,
    /// The deviation of its clocks.
    pub drift: ClockDrift,
    /// The machine ends when all others that are not in the background have ended.
    pub background: bool,
}

/// A link between machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// The name, which the machines' interfaces have.
    pub name: String,
    /// The kind.
    pub kind: LinkKind,
    /// The numbers of the machines on it, rising.
    pub members: Vec<usize>,
}

/// The kind of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A CAN bus.
    Can(CanLink),
    /// An Ethernet switch.
    Ethernet(EthernetLink),
}

/// A CAN bus with bit time, arbitration and errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanLink {
    /// The bit rate, bit/s.
    pub bitrate: u32,
    /// The data bit rate, bit/s; if there is one, the bus has FD frames, and all machines on it
    /// have cards for them.
    pub data_bitrate: Option<u32>,
    /// The number of frames of one machine that may wait.
    pub queue: u32,
}

/// A store-and-forward switch with a port for each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetLink {
    /// The bit rate of the lines, bit/s.
    pub rate: u64,
    /// The time from a packet's last bit to its forwarding.
    pub latency: Duration,
    /// The most that is added to the latency, at random for each packet: packets can overtake one
    /// another.
    pub jitter: Duration,
    /// Lost packets of a million, at random.
    pub loss: u32,
    /// The seed of jitter and loss.
    pub seed: u64,
    /// The number of bytes that may wait for a line.
    pub queue: u32,
}

/// The reason why machines cannot run in step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No machines, or too many.
    #[error("{0} machines cannot run in step: 1 to {MACHINES} can")]
    Machines(usize),
    /// Too many links.
    #[error("{0} links are too many: up to {LINKS} can be there")]
    Links(usize),
    /// All machines would wait for others.
    #[error("all machines are in the background, so that the run would end before it begins")]
    AllInBackground,
    /// A machine that does not run in virtual time.
    #[error("machine {0} does not run in virtual time")]
    RealTime(String),
    /// A link with less than two machines, or with one twice or absent.
    #[error("link {0} needs at least two machines, each of them once")]
    Members(String),
    /// A machine on too many links.
    #[error(
        "machine {machine} is on {count} links of one kind: it has {LINKED_CARDS} cards of each"
    )]
    Cards {
        /// The machine.
        machine: String,
        /// The number of its links of one kind.
        count: usize,
    },
    /// A bit rate that the link cannot have.
    #[error(
        "link {link}: {rate} bit/s is not a bit rate of this kind: a CAN bus has {} to {}, Ethernet 1 Mbit/s to \
         100 Gbit/s",
        CAN_RATES.start(), CAN_RATES.end()
    )]
    Rate {
        /// The link.
        link: String,
        /// Its bit rate, bit/s.
        rate: u64,
    },
    /// Bit rates that a bus with FD frames cannot have.
    #[error(
        "link {link}: a CAN bus with a `data_bitrate` has a `bitrate` of {} to {} bit/s, and a `data_bitrate` of \
         at least {} bit/s that is not lower than `bitrate`, up to {}: not {bitrate} with {data_bitrate}",
        FD_RATES[0].start(), FD_RATES[0].end(), FD_RATES[1].start(), FD_RATES[1].end()
    )]
    FdRate {
        /// The link.
        link: String,
        /// Its bit rate, bit/s.
        bitrate: u32,
        /// Its data bit rate, bit/s.
        data_bitrate: u32,
    },
    /// A machine on a bus with FD frames has a kernel without the driver of its card.
    #[error(
        "link {link} has a `data_bitrate`, and kernel {kernel} of machine {machine} has no driver for CAN FD cards \
         (ctucanfd, of Linux 5.19 and later): give the machine a newer `kernel`, or leave `data_bitrate` out"
    )]
    NoFdDriver {
        /// The link.
        link: String,
        /// The machine.
        machine: String,
        /// The machine's kernel.
        kernel: Kernel,
    },
    /// A loss that is more than everything.
    #[error("link {0}: more than all packets cannot be lost")]
    Loss(String),
    /// A queue without room.
    #[error("link {0}: a queue has room for at least one frame or one packet of 1538 bytes")]
    Queue(String),
    /// A latency or a jitter that no network has.
    #[error("link {link}: {} s is too long for latency or jitter: up to {} s", .time.as_secs_f64(), LONGEST_LATENCY.as_secs())]
    Latency {
        /// The link.
        link: String,
        /// The latency or the jitter.
        time: Duration,
    },
    /// A limit before the start of the commands, or practically none.
    #[error(
        "a limit of {} s is not possible: commands start after {} s, and a run takes at most {} days of virtual time",
        .0.as_secs_f64(), START.as_secs(), LONGEST_LIMIT.as_secs() / 86_400
    )]
    Limit(Duration),
    /// The interval is longer than a message takes.
    #[error(
        "an interval of {} ns is too long: on link {link}, a message takes only {} ns; give at most that, or \
         leave the interval out",
        interval.as_nanos(), shortest.as_nanos()
    )]
    Interval {
        /// The interval that was given.
        interval: Duration,
        /// The link with the shortest time.
        link: String,
        /// The shortest time in which a message on it has an effect elsewhere.
        shortest: Duration,
    },
    /// The interval is no time.
    #[error("an interval of {} ns is too short: a link must take at least 1 µs", .0.as_nanos())]
    NoInterval(Duration),
}

/// The shortest interval: a meeting takes some µs of the host's time.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

/// The longest latency of a switch, and the longest jitter.
const LONGEST_LATENCY: Duration = Duration::from_secs(10);
/// The longest virtual time of a run.
const LONGEST_LIMIT: Duration = Duration::from_secs(365 * 86_400);

/// The bit rates of Ethernet lines, bit/s.
const ETHERNET_RATES: RangeInclusive<u64> = 1_000_000..=100_000_000_000;
/// The longest packet with preamble and gap, in bytes.
const LONGEST_ETHERNET: u32 = 1538;

impl LinkPlan {
    /// Returns the shortest time after which something that a machine sends can have an effect in
    /// another machine. It is the longest interval that this link allows.
    #[must_use]
    pub fn lookahead(&self) -> Duration {
        let ns = match &self.kind {
            // Reports come at the end of a frame. The end must be after the meeting.
            LinkKind::Can(can) => {
                let time = |bits: u64, rate: u32| bits * NS_PER_S / u64::from(rate.max(1));
                let classic = time(SHORTEST_CAN, can.bitrate);
                let [nominal, data] = SHORTEST_FD;
                let fd = can
                    .data_bitrate
                    .map(|rate| time(nominal, can.bitrate) + time(data, rate));
                fd.map_or(classic, |fd| fd.min(classic)).saturating_sub(1)
            }
            // The sender's line, the switch, the receiver's line.
            LinkKind::Ethernet(ethernet) => {
                let line = SHORTEST_ETHERNET * 8 * NS_PER_S / ethernet.rate.max(1);
                let latency = u64::try_from(ethernet.latency.as_nanos()).unwrap_or(u64::MAX);
                latency.saturating_add(2 * line)
            }
        };
        Duration::from_nanos(ns)
    }

    fn check(&self, machines: usize) -> Result<(), PlanError> {
        let rising = self
            .members
            .windows(2)
            .all(|pair| pair.first() < pair.last());
        let are_there = self.members.iter().all(|member| *member < machines);
        if self.members.len() < 2 || !rising || !are_there {
            return Err(PlanError::Members(self.name.clone()));
        }
        let (rate, is_rate, is_queue) = match &self.kind {
            LinkKind::Can(can) => {
                if let Some(data_bitrate) = can.data_bitrate {
                    self.check_fd_rates(can.bitrate, data_bitrate)?;
                }
                (
                    u64::from(can.bitrate),
                    CAN_RATES.contains(&can.bitrate),
                    can.queue >= 1,
                )
            }
            LinkKind::Ethernet(ethernet) => {
                let times = [ethernet.latency, ethernet.jitter];
                if let Some(time) = times.into_iter().find(|time| *time > LONGEST_LATENCY) {
                    let link = self.name.clone();
                    return Err(PlanError::Latency { link, time });
                }
                if ethernet.loss > 1_000_000 {
                    return Err(PlanError::Loss(self.name.clone()));
                }
                (
                    ethernet.rate,
                    ETHERNET_RATES.contains(&ethernet.rate),
                    ethernet.queue >= LONGEST_ETHERNET,
                )
            }
        };
        if !is_rate {
            let link = self.name.clone();
            return Err(PlanError::Rate { link, rate });
        }
        if !is_queue {
            return Err(PlanError::Queue(self.name.clone()));
        }
        Ok(())
    }
}

impl LinkPlan {
    fn check_fd_rates(&self, bitrate: u32, data_bitrate: u32) -> Result<(), PlanError> {
        let [nominal, data] = FD_RATES;
        let are_rates = nominal.contains(&bitrate) && data.contains(&data_bitrate);
        if are_rates && data_bitrate >= bitrate {
            return Ok(());
        }
        Err(PlanError::FdRate {
            link: self.name.clone(),
            bitrate,
            data_bitrate,
        })
    }

    /// Checks that each machine on a bus with FD frames can have a driver for its card.
    fn check_drivers(&self, machines: &[MachinePlan]) -> Result<(), PlanError> {
        let is_fd = matches!(&self.kind, LinkKind::Can(can) if can.data_bitrate.is_some());
        let mut members = self.members.iter().filter_map(|it| machines.get(*it));
        match members.find(|it| is_fd && !kmod::has_ctucanfd(it.guest.kernel)) {
            None => Ok(()),
            Some(machine) => Err(PlanError::NoFdDriver {
                link: self.name.clone(),
                machine: machine.name.clone(),
                kernel: machine.guest.kernel,
            }),
        }
    }
}

impl LockstepPlan {
    /// Returns the interval of meetings.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval.unwrap_or_else(|| {
            let all = self.links.iter().map(LinkPlan::lookahead);
            all.min().unwrap_or(UNLINKED)
        })
    }

    /// Checks that the machines can run in step.
    ///
    /// # Errors
    /// The first reason why they cannot.
    pub fn check(&self) -> Result<(), PlanError> {
        if !(1..=MACHINES).contains(&self.machines.len()) {
            return Err(PlanError::Machines(self.machines.len()));
        }
        if self.links.len() > LINKS {
            return Err(PlanError::Links(self.links.len()));
        }
        if self.machines.iter().all(|machine| machine.background) {
            return Err(PlanError::AllInBackground);
        }
        for link in &self.links {
            link.check(self.machines.len())?;
            link.check_drivers(&self.machines)?;
        }
        for (number, machine) in self.machines.iter().enumerate() {
            if !matches!(machine.guest.time, TimeMode::Virtual { .. }) {
                return Err(PlanError::RealTime(machine.name.clone()));
            }
            for is_can in [false, true] {
                let of_kind = self.links.iter().filter(|link| {
                    link.members.contains(&number)
                        && matches!(link.kind, LinkKind::Can(_)) == is_can
                });
                let count = of_kind.count();
                if count > usize::from(LINKED_CARDS) {
                    let machine = machine.name.clone();
                    return Err(PlanError::Cards { machine, count });
                }
            }
        }
        if self.limit <= START || self.limit > LONGEST_LIMIT {
            return Err(PlanError::Limit(self.limit));
        }
        self.check_interval()
    }

    fn check_interval(&self) -> Result<(), PlanError> {
        let interval = self.interval();
        let nearest = self.links.iter().min_by_key(|link| link.lookahead());
        if let Some(link) = nearest.filter(|link| link.lookahead() < interval) {
            return Err(PlanError::Interval {
                interval,
                link: link.name.clone(),
                shortest: link.lookahead(),
            });
        }
        if interval < SHORTEST_INTERVAL {
            return Err(PlanError::NoInterval(interval));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number that the plugin's source defines.
    fn defined(source: &str, name: &str) -> u64 {
        let start = format!("#define {name} ");
        let mut lines = source.lines();
        let value = lines.find_map(|line| line.strip_prefix(start.as_str()));
        value.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn the_plugin_has_the_same_limits() {
        let settings = include_str!("../../plugin/lockstep/settings.h");
        assert_eq!(defined(settings, "MACHINES"), MACHINES as u64);
        assert_eq!(defined(settings, "LINKS"), LINKS as u64);
        let can = include_str!("../../plugin/lockstep/can.c");
        assert_eq!(defined(can, "SHORTEST_BITS"), SHORTEST_CAN);
        let fd = ["SHORTEST_FD_BITS", "SHORTEST_FD_DATA_BITS"].map(|name| defined(can, name));
        assert_eq!(fd, SHORTEST_FD);
        let ethernet = include_str!("../../plugin/lockstep/ethernet.c");
        let shortest = defined(ethernet, "PREAMBLE") + defined(ethernet, "LEAST");
        assert_eq!(shortest, SHORTEST_ETHERNET);
    }
}
