//! Random message sets, random releases of them, and a slow analysis in which flaws can be enabled.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub(crate) mod offsets;
pub(crate) mod reference;
pub(crate) mod refilled;
pub(crate) mod tunnelled;

use analysis::{
    Arrival, Assessment, BusSpec, CompiledBus, FrameRelease, FrameShape, LengthRule, LengthSearch,
    Message, NodeSpec, ReleaseOutcome, SendOrder, replay,
};
use bus::{Bus, BusConfig, NodeConfig, NodeId};
use frame::wire::BitRate;
use frame::{CanId, Frame, Nanos, flags};
use std::collections::BTreeSet;
use std::num::{NonZero, NonZeroU8};
use std::ops::Range;
use std::thread;

/// Returns the result for each of these seeds, in their order, computed on all processors.
pub(crate) fn for_each<T: Send>(seeds: Range<u64>, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let part = |first: usize| {
        seeds
            .clone()
            .skip(first)
            .step_by(workers)
            .map(&one)
            .collect()
    };
    let mut parts: Vec<std::vec::IntoIter<T>> = thread::scope(|scope| {
        let part = &part;
        let all: Vec<_> = (0..workers)
            .map(|first| scope.spawn(move || -> Vec<T> { part(first) }))
            .collect();
        all.into_iter()
            .map(|worker| worker.join().unwrap().into_iter())
            .collect()
    });
    seeds
        .clone()
        .enumerate()
        .map(|(place, _)| parts[place % workers].next().unwrap())
        .collect()
}

/// SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Returns a number from 0 to `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        ((u128::from(self.next()) * (u128::from(most) + 1)) >> 64) as u64
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.up_to(most - least)
    }

    /// Returns true with this percentage.
    pub(crate) fn percent(&mut self, of: u64) -> bool {
        self.up_to(99) < of
    }
}

/// The properties of the sets.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) messages: (u64, u64),
    /// Load of the bus in percent.
    pub(crate) load: (u64, u64),
    /// Greatest jitter in percent of the period.
    pub(crate) jitter: u64,
    /// Percentage of the messages that have a list of distances instead of a period.
    pub(crate) curves: u64,
    /// Transmit buffers; `None` for nodes that send in order of priority.
    pub(crate) mailboxes: Option<u8>,
    pub(crate) fd: bool,
    /// Whether nothing is known of the payloads.
    pub(crate) free: bool,
}

impl Kind {
    /// 20 to 80 messages, 30 to 98 % load, with jitter, SFF and EFF, payloads known.
    pub(crate) const PRIORITY: Self = Self {
        messages: (20, 80),
        load: (30, 98),
        jitter: 150,
        curves: 0,
        mailboxes: None,
        fd: false,
        free: false,
    };

    pub(crate) const fn with_mailboxes(self, mailboxes: u8) -> Self {
        Self {
            mailboxes: Some(mailboxes),
            ..self
        }
    }
}

/// Payload bytes, occasionally with runs of equal bits.
fn payload(random: &mut Random, len: usize) -> Vec<u8> {
    let runs = random.percent(30);
    let byte = |random: &mut Random| match random.up_to(3) {
        _ if !runs => random.next() as u8,
        0 | 1 => 0x00,
        2 => 0xFF,
        _ => 0xF0,
    };
    (0..len).map(|_| byte(random)).collect()
}

fn frame(random: &mut Random, id: CanId, kind: Kind) -> Frame {
    if kind.fd && random.percent(50) {
        let lens = [0, 1, 8, 12, 16, 20, 32, 48, 64];
        let len = lens[random.up_to(8) as usize];
        let brs = if random.percent(70) { flags::BRS } else { 0 };
        return Frame::fd(id, brs, &payload(random, len)).unwrap();
    }
    let len = random.up_to(8) as usize;
    Frame::classic(id, &payload(random, len)).unwrap()
}

/// A message set; the same seed gives the same set.
pub(crate) fn set(seed: u64, kind: Kind) -> BusSpec {
    let mut random = Random(seed);
    let rate: BitRate = if kind.fd { "500k/2M" } else { "500k" }.parse().unwrap();
    let count = random.between(kind.messages.0, kind.messages.1);
    let nodes = random.between(2, 10);
    let eff = random.up_to(2) * 40;
    let mut ids = BTreeSet::new();
    while (ids.len() as u64) < count {
        let id = if random.percent(eff) {
            CanId::eff(random.up_to(0x1FFF_FFFF) as u32)
        } else {
            CanId::sff(random.up_to(0x7FF) as u32)
        };
        ids.insert(id.unwrap().raw());
    }
    let frames: Vec<Frame> = ids
        .into_iter()
        .map(|id| frame(&mut random, CanId::from_raw(id), kind))
        .collect();
    // Periods as in vehicles, scaled to the load.
    let wanted = random.between(kind.load.0, kind.load.1) as f64 / 100.0;
    let periods: Vec<f64> = frames
        .iter()
        .map(|_| [5.0, 10.0, 20.0, 50.0, 100.0, 1000.0][random.up_to(5) as usize])
        .collect();
    let time = |frame: &Frame| {
        let length = frame::wire::length(frame.view()).unwrap();
        length.duration(rate, true) as f64
    };
    let load: f64 = frames.iter().zip(&periods).map(|(f, p)| time(f) / p).sum();
    let stretch = load / wanted;
    let messages = frames.iter().zip(&periods).map(|(frame, period)| {
        let period = (period * stretch) as Nanos;
        let jitter = match random.up_to(2) {
            0 => 0,
            _ => random.up_to(period * kind.jitter / 100),
        };
        let distance = if jitter > 0 && random.percent(30) {
            random.up_to(period)
        } else {
            0
        };
        let shape = match kind.free {
            true => FrameShape::any(frame.header()),
            false => FrameShape::exact(frame),
        };
        Message {
            name: String::new(),
            node: random.up_to(nodes - 1) as usize,
            shape: shape.unwrap(),
            arrival: match kind.curves > 0 && random.percent(kind.curves) {
                true => curve(&mut random, period),
                false => Arrival::new(period, jitter, distance).unwrap(),
            },
            offset: None,
            deadline: period,
        }
    });
    let messages = messages.collect();
    let order = match kind.mailboxes {
        None => SendOrder::Priority,
        Some(n) => SendOrder::Mailboxes(NonZeroU8::new(n).unwrap()),
    };
    let node = |n| NodeSpec::new(&format!("node {n}"), order);
    BusSpec {
        name: "bus".to_owned(),
        rate,
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: (0..nodes).map(node).collect(),
        messages,
    }
}

/// A simulated bus with this bus's nodes, and with two that acknowledge.
pub(crate) fn simulated(spec: &BusSpec) -> (Bus, Vec<NodeId>) {
    let mut bus = Bus::new(BusConfig::classic(spec.rate.nominal())).unwrap();
    let mut attach = |name: &str, mailboxes| {
        let config = NodeConfig {
            mailboxes,
            queue: 100_000,
            ..NodeConfig::new(name)
        };
        bus.attach(config).unwrap()
    };
    let node = |node: &NodeSpec| {
        let mailboxes = match node.order {
            SendOrder::Priority => u8::MAX,
            SendOrder::Mailboxes(n) => n.get(),
        };
        attach(&node.name, mailboxes)
    };
    let nodes = spec.nodes.iter().map(node).collect();
    for _ in 0..2 {
        bus.attach(NodeConfig::new("listener")).unwrap();
    }
    (bus, nodes)
}

pub(crate) fn assess(bus: &BusSpec) -> (CompiledBus, Assessment) {
    let compiled = CompiledBus::new(bus, &mut LengthSearch::new()).unwrap();
    let found = compiled.assess(&compiled.arrivals());
    (compiled, found)
}

/// The least distances of releases that come in bursts, on average one burst per period.
fn curve(random: &mut Random, period: Nanos) -> Arrival {
    let burst = random.between(1, 4);
    let far = period * burst;
    let gaps: Vec<Nanos> = (0..3 * burst)
        .map(|n| match n % burst {
            0 => random.between(far, far + far / 4),
            _ => random.up_to(far / 10),
        })
        .collect();
    let least = |n: usize| gaps.windows(n).map(|w| w.iter().sum()).min().unwrap();
    let most = random.between(burst, (2 * burst).min(8)) as usize;
    let list: Vec<Nanos> = (1..=most).map(least).collect();
    Arrival::curve(&list).unwrap()
}

/// Releases of a message with a list of distances, each with its event, which is the same.
fn dense(
    random: &mut Random,
    arrival: Arrival,
    phases: Phases,
    from: Nanos,
    to: Nanos,
) -> Vec<Nanos> {
    let mut all: Vec<Nanos> = Vec::new();
    let list = arrival.distances().unwrap();
    loop {
        let earliest = all.iter().rev().zip(list).map(|(at, span)| at + span).max();
        // Occasionally a pause, so that a burst is possible again.
        let pause = match phases {
            Phases::Random if random.percent(20) => random.up_to(4 * arrival.period()),
            _ => 0,
        };
        let at = earliest.unwrap_or(from) + pause;
        if at > to {
            return all;
        }
        all.push(at);
    }
}

/// The method by which releases are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phases {
    /// Each message begins anywhere in its period.
    Random,
    /// All begin at once, as late as their jitter allows; later ones come as early as they can.
    Together,
}

/// Returns releases for `span` ns, with the time of each event. The frames have random payloads
/// where nothing is known of them.
pub(crate) fn releases(
    bus: &BusSpec,
    phases: Phases,
    seed: u64,
    span: Nanos,
) -> Vec<(FrameRelease, Nanos)> {
    let mut random = Random(seed);
    let mut lengths = LengthSearch::new();
    let most = bus
        .messages
        .iter()
        .map(|m| m.arrival.jitter())
        .max()
        .unwrap();
    let begin = match phases {
        Phases::Random => 0,
        Phases::Together => most,
    };
    let mut all = Vec::new();
    for (index, message) in bus.messages.iter().enumerate() {
        let arrival = message.arrival;
        if arrival.distances().is_some() {
            let from = match phases {
                Phases::Random => random.up_to(arrival.period()),
                Phases::Together => most,
            };
            let frame = lengths.longest_frame(&message.shape).unwrap();
            for at in dense(&mut random, arrival, phases, from, begin + span) {
                let release = FrameRelease {
                    at,
                    message: index,
                    frame,
                };
                all.push((release, at));
            }
            continue;
        }
        let first = match phases {
            Phases::Random => random.up_to(arrival.period()),
            Phases::Together => most - arrival.jitter(),
        };
        let mut last: Option<Nanos> = None;
        for n in 0.. {
            let due = first + n * arrival.period();
            if due > begin + span {
                break;
            }
            let late = match phases {
                Phases::Random => random.up_to(arrival.jitter()),
                Phases::Together if n == 0 => arrival.jitter(),
                Phases::Together => 0,
            };
            // Releases of one message keep their order, and their distance.
            let after = last.map_or(0, |last| last + arrival.distance());
            let at = (due + late).max(after);
            assert!(
                at - due <= arrival.jitter(),
                "the model forbids this release"
            );
            last = Some(at);
            let frame = lengths.longest_frame(&message.shape).unwrap();
            let release = FrameRelease {
                at,
                message: index,
                frame,
            };
            all.push((release, due));
        }
    }
    // At equal times, any order of messages is possible; of one message, the first event comes
    // first.
    let order: Vec<u64> = bus.messages.iter().map(|_| random.next()).collect();
    all.sort_by_key(|(release, due)| (release.at, order[release.message], *due));
    all
}

/// The outcomes of releases, with the event of each.
pub(crate) fn outcomes(
    bus: &BusSpec,
    all: &[(FrameRelease, Nanos)],
) -> Vec<(ReleaseOutcome, Nanos)> {
    let plain: Vec<FrameRelease> = all.iter().map(|(release, _)| *release).collect();
    let found = replay(bus, &plain).unwrap();
    assert_eq!(found.len(), plain.len(), "all are sent");
    found.iter().map(|o| (*o, all[o.release].1)).collect()
}
