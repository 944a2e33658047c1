//! The longest times of frames in a tunnel.

use super::curves::{LinkTraffic, TunnelArrival};
use super::{LinkSpec, PlayOutSpec, SOCKET_DATAGRAMS, TokenBucket, TunnelPort, TunnelSpec};
use crate::NoBound;
use crate::window::{FULL, LONGEST};
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// Maximum number of steps of an arrival curve that are looked at.
const MAX_STEPS: u32 = 1_000_000;

/// The longest times of a message in a tunnel, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowDelay {
    /// From the end of its frame until the port has it.
    pub before: Nanos,
    /// In the packing window.
    pub packing: Nanos,
    /// In the queues of the link.
    pub queues: Nanos,
    /// In the network of which nothing is proved.
    pub stated: Nanos,
    /// From the latest arrival until the far gateway hands it on.
    pub play_out: Nanos,
    /// The least time from the end of its frame until the far gateway hands it on.
    pub least: Nanos,
    /// Whether it can be late for the play-out.
    pub can_be_late: bool,
}

impl FlowDelay {
    /// Returns the longest time from the end of a frame until it is in the far gateway, ns.
    #[must_use]
    pub const fn arrival(&self) -> Nanos {
        let sent = self.before.saturating_add(self.packing);
        sent.saturating_add(self.queues).saturating_add(self.stated)
    }

    /// Returns the longest time from the end of a frame until the far gateway hands it on, ns.
    #[must_use]
    pub const fn most(&self) -> Nanos {
        self.arrival().saturating_add(self.play_out)
    }
}

/// The results for a tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct TunnelFound {
    /// For each flow.
    pub flows: Vec<FlowDelay>,
    /// The part of what other traffic leaves of the link that the tunnel takes; 0 without a link.
    pub load: f64,
    /// For each port, the most frames that wait while its socket has no room; 0 if it always has
    /// room, `None` if there is no link that would tell.
    pub waiting: Vec<Option<u64>>,
    /// For each port, the most frames that wait for their time in the play-out of its receiver.
    pub playing: Vec<u64>,
}

/// A server of a link: it serves a burst at once, and then takes `slower` times as long.
#[derive(Clone, Copy)]
struct LinkServer {
    latency: Nanos,
    /// The rate of the shaper and its burst in time of the link; the rate of the link otherwise.
    shaped: Option<(u64, Nanos)>,
    rate: u64,
}

impl LinkServer {
    fn new(latency: Nanos, rate: u64, bucket: Option<TokenBucket>) -> Self {
        let shaped = bucket.filter(|bucket| bucket.rate < rate);
        Self {
            latency,
            shaped: shaped.map(|bucket| (bucket.rate, LinkSpec::time(bucket.burst, rate))),
            rate,
        }
    }

    fn slower(&self, work: Nanos) -> Nanos {
        let Some((rate, _)) = self.shaped else {
            return work;
        };
        let time = u128::from(work) * u128::from(self.rate);
        Nanos::try_from(time.div_ceil(u128::from(rate.max(1)))).unwrap_or(Nanos::MAX)
    }

    /// Returns the time by which some work is done.
    fn serve(&self, work: Nanos) -> Nanos {
        let burst = self.shaped.map_or(0, |(_, burst)| burst);
        // The burst is rounded down, by a nanosecond of the link.
        let shaped = self.slower(work.saturating_sub(burst.saturating_sub(1)));
        self.latency.saturating_add(match self.shaped {
            None => work,
            Some(_) => work.max(shaped),
        })
    }

    /// Returns the same without the burst.
    fn serve_slowly(&self, work: Nanos) -> Nanos {
        self.latency.saturating_add(self.slower(work))
    }
}

/// All that the delay of a flow in a queue depends on: whether it is urgent, and where frames wait
/// in the gateway, its port and its arbitration field.
type FlowKind = (bool, Option<(usize, u64)>);

/// Streams, by their index.
type Streams<'f> = &'f dyn Fn(usize) -> bool;

/// Returns the longest delay at a server, of a stream behind those that `count`, some of which may
/// pass it later.
fn longest(
    traffic: &LinkTraffic<'_>,
    server: LinkServer,
    counts: Streams<'_>,
    passes: Option<Streams<'_>>,
) -> Result<Nanos, NoBound> {
    let pass = |i: usize| counts(i) && passes.is_some_and(|passes| passes(i));
    let ahead = |i: usize| counts(i) && !pass(i);
    let mut worst = 0;
    let mut at: Nanos = 0;
    for _ in 0..MAX_STEPS {
        let next = traffic.next_step(at, counts);
        // Trains grow within a step: what there is at its end counts.
        let fixed = traffic.work(next - 1, &ahead);
        let mut end = server.serve(fixed);
        while passes.is_some() {
            let later = server.serve(fixed.saturating_add(traffic.work(end, &pass)));
            if later <= end {
                break;
            }
            if later > LONGEST {
                return Err(NoBound::TooLong);
            }
            end = later;
        }
        worst = worst.max(end.saturating_sub(at));
        // The busy period ends before the next step.
        if server.serve_slowly(traffic.work(next - 1, counts)) < next {
            return Ok(worst);
        }
        at = next;
        if at > LONGEST {
            return Err(NoBound::TooLong);
        }
    }
    Err(NoBound::TooLong)
}

/// The queues of a tunnel.
struct TunnelQueues<'t> {
    spec: &'t TunnelSpec,
    link: LinkSpec,
    arrivals: &'t [TunnelArrival],
    /// The rate that is left for the tunnel.
    rate: u64,
    /// The time of the longest datagram, and of the longest one while the socket has room.
    full: Nanos,
    packed: Nanos,
}

impl TunnelQueues<'_> {
    fn traffic(&self, later: &[Nanos], packed: bool) -> LinkTraffic<'_> {
        let spec = self.spec;
        let traffic = LinkTraffic::new(&spec.ports, &spec.flows, self.arrivals, later, self.rate);
        match packed {
            true => traffic,
            false => traffic.unpacked(),
        }
    }

    /// Returns the time of the longest datagram.
    fn datagram(&self, has_room: bool) -> Nanos {
        if has_room { self.packed } else { self.full }
    }

    /// Returns the latency of a number of queues, of which this many are behind a switch.
    fn latency(&self, queues: u64, switches: u64, has_room: bool) -> Nanos {
        let others = self.link.others.map_or(0, |others| others.burst);
        let others = LinkSpec::time(others, self.rate).saturating_mul(queues);
        let switch = self
            .link
            .switch_latency
            .saturating_add(self.datagram(has_room));
        others.saturating_add(switch.saturating_mul(switches))
    }

    /// Returns the delays of all flows if no frame passes another one, or none if the socket can
    /// have no room.
    fn in_order(&self) -> Result<Option<Vec<Nanos>>, NoBound> {
        let traffic = self.traffic(&vec![0; self.spec.flows.len()], true);
        self.check_load(&traffic)?;
        let switches = u64::from(self.link.switches);
        let latency = self.latency(switches + 1, switches, true);
        let server = LinkServer::new(latency, self.rate, self.link.bucket);
        let delay = longest(&traffic, server, &|_| true, None)?;
        let has_room = traffic.datagrams(delay) <= SOCKET_DATAGRAMS;
        Ok(has_room.then(|| vec![delay; self.spec.flows.len()]))
    }

    fn check_load(&self, traffic: &LinkTraffic<'_>) -> Result<f64, NoBound> {
        let bucket = self.link.bucket.map_or(self.rate, |bucket| bucket.rate);
        let load = traffic.load() * self.rate as f64 / bucket.min(self.rate).max(1) as f64;
        if load >= FULL || self.rate == 0 {
            return Err(NoBound::Overload(load));
        }
        Ok(load)
    }

    /// Returns the delays queue by queue. `orders`: frames wait in the gateway in the order of
    /// their class and priority.
    fn one_by_one(&self, orders: bool) -> Result<Vec<Nanos>, NoBound> {
        let mut delays = vec![0; self.spec.flows.len()];
        let shaper = self.link.bucket.filter(|bucket| bucket.rate < self.rate);
        let first = match shaper {
            // From no tokens at all.
            Some(bucket) => {
                let wait = LinkSpec::time(longest_datagram(self.spec), bucket.rate);
                let bucket = TokenBucket { burst: 0, ..bucket };
                LinkServer::new(wait, self.rate, Some(bucket))
            }
            None => LinkServer::new(self.latency(1, 0, !orders), self.rate, None),
        };
        self.queue(&mut delays, first, orders)?;
        let before = u64::from(shaper.is_some());
        let left = before + u64::from(self.link.switches);
        if left == 0 {
            return Ok(delays);
        }
        let switches = u64::from(self.link.switches);
        if self.link.urgent_behind.is_none() {
            let server = LinkServer::new(self.latency(left, switches, !orders), self.rate, None);
            self.queue(&mut delays, server, false)?;
            return Ok(delays);
        }
        for queue in 0..left {
            let is_switch = u64::from(queue >= before);
            let server = LinkServer::new(self.latency(1, is_switch, !orders), self.rate, None);
            self.queue(&mut delays, server, false)?;
        }
        Ok(delays)
    }

    /// Adds the delays of a queue.
    fn queue(&self, delays: &mut [Nanos], server: LinkServer, orders: bool) -> Result<(), NoBound> {
        let traffic = self.traffic(delays, false);
        self.check_load(&traffic)?;
        let class = |i: usize| traffic.classes.get(i).copied();
        let behind = self.link.urgent_behind;
        let behind = behind.map(|bytes| LinkSpec::time(bytes, self.rate));
        let all = |_: usize| true;
        if behind.is_none() && !orders {
            let delay = longest(&traffic, server, &all, None)?;
            for sum in delays {
                *sum = sum.saturating_add(delay);
            }
            return Ok(());
        }
        // Each port has a backlog and may have a socket of its own. While one waits for room,
        // frames of another one can come first on the link, whatever their priority: an urgent
        // frame, too, waits until a datagram of its own socket has left.
        let apart = orders && self.spec.ports.len() > 1;
        let mut known: Vec<(FlowKind, Nanos)> = Vec::new();
        let mut added = Vec::with_capacity(delays.len());
        for flow in &self.spec.flows {
            // Without an order in the gateway, all flows of a class have one delay.
            let kind = (flow.urgent, orders.then_some((flow.port, flow.key)));
            if let Some((_, delay)) = known.iter().find(|(other, _)| *other == kind) {
                added.push(*delay);
                continue;
            }
            let counts = |i: usize| {
                let urgent = class(i).is_some_and(|class| class.urgent);
                urgent || !flow.urgent || behind.is_none() || apart
            };
            let passes = |i: usize| {
                class(i).is_some_and(|other| {
                    other.urgent && !flow.urgent
                        || apart && other.port != flow.port
                        || orders
                            && (other.urgent == flow.urgent || other.key.is_none())
                            && other.key.is_none_or(|key| key < flow.key)
                })
            };
            let mut server = server;
            // Both pass the shaper, too, if it is first.
            if flow.urgent {
                let behind = server.slower(behind.unwrap_or(0));
                server.latency = server.latency.saturating_add(behind);
            }
            if orders {
                // Frames of lower priority can share its datagram.
                let shared = server.slower(self.datagram(false));
                server.latency = server.latency.saturating_add(shared);
            }
            let delay = longest(&traffic, server, &counts, Some(&passes))?;
            known.push((kind, delay));
            added.push(delay);
        }
        for (sum, more) in delays.iter_mut().zip(added) {
            *sum = sum.saturating_add(more);
        }
        Ok(())
    }

    /// Returns the delays of all flows, and whether the socket always has room.
    fn delays(&self) -> Result<(Vec<Nanos>, bool), NoBound> {
        if self.link.urgent_behind.is_none() {
            if let Some(delays) = self.in_order()? {
                return Ok((delays, true));
            }
            return Ok((self.one_by_one(true)?, false));
        }
        let delays = self.one_by_one(false)?;
        let traffic = self.traffic(&vec![0; self.spec.flows.len()], false);
        let longest = delays.iter().copied().max().unwrap_or(0);
        match traffic.datagrams(longest) <= SOCKET_DATAGRAMS {
            true => Ok((delays, true)),
            false => Ok((self.one_by_one(true)?, false)),
        }
    }
}

/// Returns the most bytes of a datagram.
fn longest_datagram(spec: &TunnelSpec) -> u64 {
    let longest = |(number, port): (usize, &TunnelPort)| {
        let of_port = spec.flows.iter().filter(|flow| flow.port == number);
        let alone = of_port.map(|flow| flow.bytes).max().unwrap_or(0);
        let report = port.reports.map_or(0, |(_, bytes)| bytes);
        let frames = port.room.max(alone).max(report);
        frames.saturating_add(port.header)
    };
    let ports = spec.ports.iter().enumerate();
    ports.map(longest).max().unwrap_or(0)
}

/// Returns the longest times in a tunnel, with the arrivals of its flows.
pub(crate) fn assess(
    spec: &TunnelSpec,
    arrivals: &[TunnelArrival],
) -> Result<TunnelFound, NoBound> {
    let mut found = TunnelFound {
        flows: Vec::new(),
        load: 0.0,
        waiting: vec![None; spec.ports.len()],
        playing: vec![0; spec.ports.len()],
    };
    let mut queued = vec![0; spec.flows.len()];
    if let Some(link) = spec.link {
        let rate = link.left();
        let bytes = longest_datagram(spec);
        if link.bucket.is_some_and(|bucket| bucket.burst < bytes) {
            return Err(NoBound::Bucket(bytes));
        }
        let full = LinkSpec::time(bytes, rate);
        let none = vec![0; spec.flows.len()];
        let packed = LinkTraffic::new(&spec.ports, &spec.flows, arrivals, &none, rate);
        let queues = TunnelQueues {
            spec,
            link,
            arrivals,
            rate,
            full,
            packed: full.min(packed.longest_datagram()),
        };
        let (delays, has_room) = queues.delays()?;
        queued = delays;
        let traffic = queues.traffic(&vec![0; spec.flows.len()], has_room);
        found.load = traffic.load();
        let longest = queued.iter().copied().max().unwrap_or(0);
        for (port, waiting) in found.waiting.iter_mut().enumerate() {
            *waiting = Some(match has_room {
                true => 0,
                false => traffic.frames(port, longest),
            });
        }
    }
    let flows = spec.flows.iter().zip(queued).enumerate();
    let flows = flows.map(|(number, (flow, queues))| FlowDelay {
        before: flow.before,
        packing: match (flow.urgent, spec.ports.get(flow.port)) {
            (false, Some(port)) => port.packing(),
            _ => 0,
        },
        queues,
        stated: spec.stated.map_or(0, |stated| stated.most),
        least: spec.least(number),
        ..FlowDelay::default()
    });
    found.flows = flows.collect();
    for (number, port) in spec.ports.iter().enumerate() {
        if let Some(rules) = port.play_out {
            play_out(&mut found.flows, spec, number, rules);
        }
    }
    let flows = found.flows.iter().zip(&spec.flows).zip(arrivals);
    for ((delay, flow), came) in flows {
        let port = spec.ports.get(flow.port);
        let playing = found.playing.get_mut(flow.port);
        if let (Some(_), Some(playing)) = (port.and_then(|port| port.play_out), playing) {
            // Those that came to the port since the oldest one that can still wait.
            let frames = came.arrival.most_within(delay.most());
            *playing = playing.saturating_add(frames);
        }
    }
    Ok(found)
}

/// Adds the play-out of a port's flows.
fn play_out(delays: &mut [FlowDelay], spec: &TunnelSpec, port: usize, rules: PlayOutSpec) {
    let own = || spec.flows.iter().map(|flow| flow.port == port);
    let of_port = delays.iter().zip(own()).filter(|(_, own)| *own);
    let latest = of_port.map(|(delay, _)| delay.arrival()).max();
    for (delay, _) in delays.iter_mut().zip(own()).filter(|(_, own)| *own) {
        let arrival = delay.arrival();
        let later = rules.delay.saturating_add(rules.clock_error);
        let later = later.saturating_add(delay.before);
        let due = match rules.common_clock {
            true => later,
            false => later.saturating_add(latest.unwrap_or(0)),
        };
        delay.play_out = due.saturating_sub(arrival);
        // It is due at its least time, with its stamp at the end of frame.
        delay.can_be_late = arrival > delay.least;
    }
}
