//! The arrival curves of a tunnel, in time of its link.

use super::{LinkSpec, TunnelFlow, TunnelPort};
use crate::Arrival;
use crate::stream::RivalStream;
use crate::train::{self, FrameSource, FrameTrain, occupied};
use alloc::vec::Vec;
use frame::Nanos;

/// The arrival of a flow at its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunnelArrival {
    pub(crate) arrival: Arrival,
    /// The bus before, and the least time that a frame occupies it, ns.
    pub(crate) bus: usize,
    pub(crate) shortest: Nanos,
    /// The longest time from the end of frame to the arrival, ns.
    pub(crate) spread: Nanos,
}

/// The class of a stream in the queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamClass {
    pub(super) port: usize,
    /// Each frame has a datagram of its own.
    pub(super) is_alone: bool,
    pub(super) urgent: bool,
    /// Its arbitration field; `None` for reports, which may pass everything in the gateway.
    pub(super) key: Option<u64>,
}

/// The frames of some streams as they compete for a link.
struct StreamSet {
    streams: Vec<RivalStream>,
    trains: Vec<FrameTrain>,
}

/// Everything that a tunnel sends in one direction.
pub(super) struct LinkTraffic<'t> {
    ports: &'t [TunnelPort],
    pub(super) classes: Vec<StreamClass>,
    /// Each frame with a header.
    whole: StreamSet,
    /// Frames without headers.
    bare: StreamSet,
    /// For each port, the time of a header, and the least time of the frames of a full datagram.
    headers: Vec<(Nanos, Nanos)>,
    /// Whether headers are shared: no frame leaves before its datagram is due or full.
    pub(super) is_packed: bool,
}

impl<'t> LinkTraffic<'t> {
    /// Returns the traffic at a queue; `later`: for each flow, the longest time from its port to
    /// the queue, ns, without the packing. `rate` is that of the link.
    pub(super) fn new(
        ports: &'t [TunnelPort],
        flows: &[TunnelFlow],
        arrivals: &[TunnelArrival],
        later: &[Nanos],
        rate: u64,
    ) -> Self {
        let time = |bytes| LinkSpec::time(bytes, rate);
        let header = |port: usize| ports.get(port).map_or(0, |port| port.header);
        let mut classes: Vec<StreamClass> = flows
            .iter()
            .map(|flow| StreamClass {
                port: flow.port,
                is_alone: flow.urgent,
                urgent: flow.urgent,
                key: Some(flow.key),
            })
            .collect();
        let mut all: Vec<(Arrival, u64, Option<TunnelArrival>)> = Vec::new();
        for ((flow, came), later) in flows.iter().zip(arrivals).zip(later) {
            let packing = match flow.urgent {
                true => 0,
                false => ports.get(flow.port).map_or(0, TunnelPort::packing),
            };
            let late = packing.saturating_add(*later);
            let distance = came.arrival.distance().saturating_sub(late);
            let arrival = came.arrival.delayed(late, distance);
            let spread = came.spread.saturating_add(late);
            all.push((arrival, flow.bytes, Some(TunnelArrival { spread, ..*came })));
        }
        for (number, port) in ports.iter().enumerate() {
            let Some((every, bytes)) = port.reports else {
                continue;
            };
            // Two may be close to each other, because a worker can be late.
            if let Ok(arrival) = Arrival::new(every, every, 0) {
                all.push((arrival, bytes, None));
                classes.push(StreamClass {
                    port: number,
                    is_alone: true,
                    urgent: false,
                    key: None,
                });
            }
        }
        let set = |with_header: bool| {
            let bytes = |i: usize, bytes: u64| match (with_header, classes.get(i)) {
                (true, Some(class)) => bytes.saturating_add(header(class.port)),
                _ => bytes,
            };
            let sent: Vec<_> = all
                .iter()
                .enumerate()
                .map(|(i, (arrival, own, came))| (*arrival, time(bytes(i, *own)), *came))
                .collect();
            let sources = sent.iter().enumerate().map(|(i, (_, _, came))| {
                let source = came.as_ref().map(|came| source(i, came, flows, &sent));
                (source, 0, 0)
            });
            let (trains, places) = train::trains(sources);
            let streams = sent.iter().zip(places);
            let streams = streams.map(|((arrival, occupied, _), train)| RivalStream {
                arrival: *arrival,
                occupied: *occupied,
                train,
                lead: 0,
            });
            StreamSet {
                streams: streams.collect(),
                trains,
            }
        };
        let (whole, bare) = (set(true), set(false));
        let longest = |port: usize| {
            let of_port = flows.iter().filter(|flow| flow.port == port);
            of_port.map(|flow| flow.bytes).max().unwrap_or(0)
        };
        let headers = ports.iter().enumerate().map(|(number, port)| {
            let full = port.room.saturating_sub(longest(number)).max(1);
            // Rounded down: a lower limit.
            (time(port.header), time(full).saturating_sub(1).max(1))
        });
        Self {
            ports,
            whole,
            bare,
            headers: headers.collect(),
            is_packed: true,
            classes,
        }
    }

    /// Returns the same, with a datagram for each frame.
    pub(super) fn unpacked(self) -> Self {
        Self {
            is_packed: false,
            ..self
        }
    }

    /// Returns the number of frames of a port that share datagrams, in a closed interval, and the
    /// time of their bytes, ns.
    fn shared(&self, port: usize, span: Nanos, counts: &dyn Fn(usize) -> bool) -> (u64, Nanos) {
        let streams = self.bare.streams.iter().enumerate();
        let mut sums = (0_u64, 0_u64);
        for (i, stream) in streams {
            let class = self.classes.get(i);
            if class.is_some_and(|class| class.port == port && !class.is_alone) && counts(i) {
                let frames = stream.within(span);
                sums.0 = sums.0.saturating_add(frames);
                sums.1 = sums
                    .1
                    .saturating_add(frames.saturating_mul(stream.occupied));
            }
        }
        sums
    }

    /// Returns the most datagrams of a port that leave in a closed interval, of those whose frames
    /// may share one.
    fn shared_datagrams(&self, port: usize, span: Nanos, counts: &dyn Fn(usize) -> bool) -> u64 {
        let (frames, time) = self.shared(port, span, counts);
        let window = self.ports.get(port).map_or(0, |port| port.window);
        if !self.is_packed || window == 0 {
            return frames;
        }
        let full = self.headers.get(port).map_or(0, |(_, full)| time / full);
        frames.min((span / window + 1).saturating_add(full))
    }

    /// Returns the most datagrams that leave in a closed interval.
    pub(super) fn datagrams(&self, span: Nanos) -> u64 {
        let all = |_: usize| true;
        let alone = self.whole.streams.iter().zip(&self.classes);
        let alone = alone.filter(|(_, class)| class.is_alone);
        let alone: u64 = alone.map(|(stream, _)| stream.within(span)).sum();
        let ports = 0..self.ports.len();
        ports.fold(alone, |sum, port| {
            sum.saturating_add(self.shared_datagrams(port, span, &all))
        })
    }

    /// Returns the time that the link needs for what leaves in a closed interval, of the streams
    /// that count, ns.
    pub(super) fn work(&self, span: Nanos, counts: &dyn Fn(usize) -> bool) -> Nanos {
        let of = |set: &StreamSet| {
            let streams = set.streams.iter().enumerate();
            let streams = streams
                .filter(|(i, _)| counts(*i))
                .map(|(_, stream)| stream);
            occupied(streams, &set.trains, span, |stream| stream.within(span))
        };
        let whole = of(&self.whole);
        if !self.is_packed {
            return whole;
        }
        let mut packed = of(&self.bare);
        for (port, (header, _)) in self.headers.iter().enumerate() {
            let streams = self.whole.streams.iter().zip(&self.classes).enumerate();
            let alone = streams
                .filter(|(i, (_, class))| class.is_alone && class.port == port && counts(*i));
            let alone: u64 = alone.map(|(_, (stream, _))| stream.within(span)).sum();
            let datagrams = alone.saturating_add(self.shared_datagrams(port, span, counts));
            packed = packed.saturating_add(datagrams.saturating_mul(*header));
        }
        whole.min(packed)
    }

    /// Returns the first time after `span` at which [`LinkTraffic::work`] can be greater, apart
    /// from what trains add, ns.
    pub(super) fn next_step(&self, span: Nanos, counts: &dyn Fn(usize) -> bool) -> Nanos {
        let streams = self.whole.streams.iter().enumerate();
        let streams = streams.filter(|(i, _)| counts(*i));
        let next = streams.map(|(_, stream)| stream.earliest(stream.within(span)));
        let windows = self.ports.iter().map(|port| port.window);
        let windows = windows.filter(|window| *window > 0);
        let windows = windows.map(|window| (span / window + 1).saturating_mul(window));
        next.chain(windows)
            .min()
            .unwrap_or(Nanos::MAX)
            .max(span.saturating_add(1))
    }

    /// Returns the time of the longest datagram while the socket has room: with all frames that can
    /// leave at one time, or with a single one.
    pub(super) fn longest_datagram(&self) -> Nanos {
        let all = |_: usize| true;
        let shared = self.headers.iter().enumerate();
        let shared = shared.map(|(port, (header, _))| {
            let (frames, time) = self.shared(port, 0, &all);
            if frames == 0 {
                0
            } else {
                time.saturating_add(*header)
            }
        });
        let alone = self.whole.streams.iter().map(|stream| stream.occupied);
        shared.chain(alone).max().unwrap_or(0)
    }

    /// Returns the part of the link that these streams occupy in the long run.
    pub(super) fn load(&self) -> f64 {
        let of = |set: &StreamSet| set.streams.iter().map(RivalStream::load).sum::<f64>();
        let whole = of(&self.whole);
        if !self.is_packed {
            return whole;
        }
        let mut packed = of(&self.bare);
        for (port, (header, full)) in self.headers.iter().enumerate() {
            let streams = self.bare.streams.iter().zip(&self.classes);
            let streams = streams.filter(|(_, class)| class.port == port);
            let (mut alone, mut shared, mut bytes) = (0.0, 0.0, 0.0);
            for (stream, class) in streams {
                let rate = stream.arrival.rate();
                match class.is_alone {
                    true => alone += rate,
                    false => {
                        shared += rate;
                        bytes += stream.load();
                    }
                }
            }
            let window = self.ports.get(port).map_or(0, |port| port.window);
            if window > 0 {
                shared = f64::min(shared, 1.0 / window as f64 + bytes / *full as f64);
            }
            packed += (alone + shared) * *header as f64;
        }
        whole.min(packed)
    }

    /// Returns the most frames of a port's flows that come within a time, ends included.
    pub(super) fn frames(&self, port: usize, span: Nanos) -> u64 {
        let streams = self.whole.streams.iter().zip(&self.classes);
        let own = streams.filter(|(_, class)| class.port == port && class.key.is_some());
        own.fold(0, |sum, (stream, _)| {
            sum.saturating_add(stream.within(span))
        })
    }
}

impl TunnelPort {
    /// Returns the longest time for which a frame that is not urgent is packed, ns.
    pub(super) const fn packing(&self) -> Nanos {
        match self.window {
            0 => 0,
            window => window.saturating_add(self.timer),
        }
    }
}

/// Returns the source of flow `i`: a frame that several flows send counts with all of them.
fn source(
    i: usize,
    came: &TunnelArrival,
    flows: &[TunnelFlow],
    sent: &[(Arrival, Nanos, Option<TunnelArrival>)],
) -> FrameSource {
    let from = flows.get(i).map(|flow| flow.from);
    let copies = flows.iter().zip(sent);
    let copies = copies.filter(|(flow, _)| Some(flow.from) == from);
    let mut source = FrameSource {
        bus: came.bus,
        ratio: 0,
        longest: 0,
        copies: 0,
        shortest: came.shortest,
        least: 0,
        delay: came.spread,
    };
    for (_, (_, occupied, came)) in copies {
        let shortest = came.map_or(1, |came| came.shortest);
        let ratio = train::ratio(*occupied, shortest);
        source.ratio = source.ratio.saturating_add(ratio);
        source.longest = source.longest.saturating_add(*occupied);
        source.copies += 1;
        source.delay = source.delay.max(came.map_or(0, |came| came.spread));
    }
    source
}
