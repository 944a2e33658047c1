//! Messages that share their node's clock.

use crate::common;

use analysis::{
    Arrival, BusSpec, CompiledBus, FrameRelease, FrameShape, GatewayHop, HopFrames, LengthRule,
    LengthSearch, Message, MessagePlace, Network, NodeSpec, ReleaseOutcome, SendOrder,
    critical_instant, replay, search,
};
use common::offsets::{
    Clocks, Flaw, bound, keep_to_offsets, released, releases, with_offsets, without,
};
use common::{Kind, assess, outcomes, set};
use frame::{CanId, Frame, Nanos};

/// The results for a number of sets.
#[derive(Default)]
struct Seen {
    frames: u64,
    messages: u64,
    /// Bound with offsets / without, in percent.
    gains: Vec<u64>,
    /// Bound / worst observed latency, in percent.
    ratios: Vec<u64>,
}

impl Seen {
    fn quantile(of: &mut [u64], percent: usize) -> u64 {
        of.sort_unstable();
        of[(of.len() - 1) * percent / 100]
    }

    fn say(&mut self, name: &str) {
        let gain = Self::quantile(&mut self.gains, 50);
        let ratios = [50, 90, 100].map(|p| Self::quantile(&mut self.ratios, p));
        eprintln!(
            "{name}: {} frames of {} messages, none above its bound; with offsets / without: {gain} % median; \
             bound / worst seen, %: median, p90, most {ratios:?}",
            self.frames, self.messages
        );
    }
}

/// No simulated frame is above its bound.
fn hold(bus: &BusSpec, seed: u64, tries: u64, span: Nanos, seen: &mut Seen) {
    let (_, found) = assess(bus);
    let (_, plain) = assess(&without(bus));
    let mut worst: Vec<Nanos> = vec![0; bus.messages.len()];
    for n in 0..=tries {
        let (clocks, span) = match n {
            0 => (Clocks::Random, span),
            _ => (Clocks::Together, span / 4),
        };
        for (outcome, event) in outcomes(bus, &releases(bus, clocks, seed * 1000 + n, span)) {
            let bound = found.messages[outcome.message].bound.unwrap();
            let latency = outcome.latency();
            assert!(
                latency <= bound.latency,
                "set {seed}: {outcome:?}, {bound:?}"
            );
            let response = outcome.end.wrapping_sub(event);
            assert!(
                response <= bound.response,
                "set {seed}: {outcome:?}, {bound:?}"
            );
            worst[outcome.message] = worst[outcome.message].max(response);
            seen.frames += 1;
        }
    }
    for (i, worst) in worst.into_iter().enumerate() {
        let bound = found.messages[i].bound.unwrap();
        let plain = plain.messages[i].bound.unwrap();
        assert!(
            bound.response <= plain.response && bound.latency <= plain.latency,
            "set {seed}, message {i}: {bound:?} above {plain:?}"
        );
        seen.messages += 1;
        seen.gains.push(bound.response * 100 / plain.response);
        seen.ratios
            .extend((bound.response * 100).checked_div(worst));
    }
    for (node, plain) in found.nodes.iter().zip(&plain.nodes) {
        assert!(node.backlog <= plain.backlog, "set {seed}");
    }
}

const KINDS: [(&str, u64, Option<u8>, bool); 6] = [
    ("priority, all with offsets", 100, None, false),
    (
        "priority, seven of ten with offsets, distances",
        70,
        None,
        true,
    ),
    ("one mailbox, all with offsets", 100, Some(1), false),
    (
        "one mailbox, nine of ten with offsets, distances",
        90,
        Some(1),
        true,
    ),
    ("three mailboxes, all with offsets", 100, Some(3), false),
    ("32 mailboxes, all with offsets", 100, Some(32), false),
];

fn sets_hold(seeds: std::ops::Range<u64>, tries: u64, span: Nanos) {
    for (name, percent, mailboxes, distances) in KINDS {
        let mut seen = Seen::default();
        for seed in seeds.clone() {
            let kind = Kind {
                messages: (15, 40),
                load: (40, 85),
                jitter: [0, 30, 150][seed as usize % 3],
                mailboxes,
                ..Kind::PRIORITY
            };
            let bus = with_offsets(set(seed, kind), seed, percent, 1000, distances);
            hold(&bus, seed, tries, span, &mut seen);
        }
        seen.say(name);
    }
}

#[test]
fn no_frame_is_above_its_bound() {
    sets_hold(20_000..20_003, 6, 100_000_000);
}

/// Sets in such numbers that they take half a minute or more.
mod long {
    use super::*;

    /// The figures of docs/bound.md.
    #[test]
    #[ignore = "heavy"]
    fn many_sets_hold() {
        sets_hold(30_000..30_100, 30, 1_000_000_000);
    }
}

/// A slow count of the same, over all phases, gives the same result.
#[test]
fn a_slow_count_agrees() {
    let (mut sets, mut gained) = (0, 0);
    for seed in 21_000..21_010 {
        let kind = Kind {
            messages: (8, 12),
            load: (40, 80),
            jitter: [0, 40, 150][seed as usize % 3],
            ..Kind::PRIORITY
        };
        let bus = with_offsets(
            set(seed, kind),
            seed,
            [100, 60][seed as usize % 2],
            20,
            false,
        );
        let (_, found) = assess(&bus);
        // With more phases than are considered, it has more messages with any phase.
        let mut offsets = found.nodes.iter().filter_map(|node| node.offsets);
        if !offsets.all(|offsets| offsets.used == offsets.given) {
            continue;
        }
        sets += 1;
        let (_, plain) = assess(&without(&bus));
        for (i, message) in found.messages.iter().enumerate() {
            let fast = message.bound.unwrap();
            let slow = bound(&bus, i, Flaw::None);
            assert_eq!(
                (fast.response, fast.latency),
                slow,
                "set {seed}, message {i}"
            );
            gained += u32::from(fast.response < plain.messages[i].bound.unwrap().response);
            let p = fast.parts;
            let sum = p.jitter + p.blocking + p.ahead + p.interference + p.errors + p.frame;
            assert_eq!(fast.response, sum - p.since);
        }
    }
    assert!(sets >= 6 && gained > 20, "{sets} {gained}");
}

/// Critical instants and searches conform to offsets, come near to bounds, and do not exceed them.
#[test]
fn witnesses_keep_to_offsets_and_come_near() {
    for (mailboxes, least) in [(None, 90), (Some(1), 60)] {
        let (mut built, mut best) = (Vec::new(), Vec::new());
        for seed in 24_000..24_006 {
            let kind = Kind {
                messages: (15, 25),
                load: (40, 75),
                jitter: [0, 30, 150][seed as usize % 3],
                mailboxes,
                ..Kind::PRIORITY
            };
            let bus = with_offsets(set(seed, kind), seed, 80, 20, false);
            let network = Network {
                buses: vec![bus.clone()],
                hops: Vec::new(),
                tunnels: Vec::new(),
            };
            let lengths = &mut LengthSearch::new();
            let found = network.assess(lengths).unwrap();
            for message in (0..bus.messages.len()).step_by(3) {
                let bound = found.buses[0].messages[message].bound.unwrap();
                let all = critical_instant(
                    &found.compiled[0],
                    &bus,
                    &found.buses[0],
                    lengths,
                    message,
                    7,
                )
                .unwrap();
                assert!(keep_to_offsets(&bus, &all), "set {seed}, message {message}");
                let ended = replay(&bus, &all).unwrap();
                let own = ended.iter().filter(|o| o.message == message);
                let worst = own.map(ReleaseOutcome::latency).max().unwrap();
                assert!(worst <= bound.latency, "set {seed}, message {message}");
                let place = MessagePlace { bus: 0, message };
                let searched = search(&network, &found, lengths, place, 60, seed).unwrap();
                let releases = searched.releases.iter().map(|r| FrameRelease {
                    at: r.at,
                    message: r.place.message,
                    frame: r.frame,
                });
                let releases: Vec<FrameRelease> = releases.collect();
                assert!(
                    keep_to_offsets(&bus, &releases),
                    "set {seed}, message {message}"
                );
                assert!(searched.response <= bound.response);
                let ended = replay(&bus, &releases).unwrap();
                let own = ended.iter().filter(|o| o.message == message);
                assert!(
                    own.map(ReleaseOutcome::latency)
                        .any(|seen| seen == searched.latency)
                );
                built.push(worst * 100 / bound.latency);
                best.push((searched.response * 100 / bound.response).max(*built.last().unwrap()));
            }
        }
        let median = |of: &mut [u64]| [10, 50, 90].map(|percent| Seen::quantile(of, percent));
        let (built, best) = (median(&mut built), median(&mut best));
        eprintln!(
            "mailboxes {mailboxes:?}, % of the bound (p10, median, p90): built {built:?}, with a search {best:?}"
        );
        assert!(best[1] >= least);
    }
}

/// Over a gateway a message keeps no offset, and those of the previous bus still count.
#[test]
fn what_a_gateway_passes_on_has_no_offset() {
    let kind = Kind {
        messages: (15, 20),
        load: (40, 60),
        jitter: 30,
        ..Kind::PRIORITY
    };
    let first = with_offsets(set(25_000, kind), 25_000, 100, 20, false);
    let mut second = with_offsets(set(25_001, kind), 25_001, 100, 20, false);
    second
        .nodes
        .push(NodeSpec::new("gateway", SendOrder::Priority));
    let passed = first.messages.len() / 2;
    let frame = Frame::classic(CanId::eff(0x1ABC_0000).unwrap(), &[0x55; 4]).unwrap();
    second.messages.push(Message {
        node: second.nodes.len() - 1,
        shape: FrameShape::exact(&frame).unwrap(),
        ..first.messages[passed].clone()
    });
    let goal = MessagePlace {
        bus: 1,
        message: second.messages.len() - 1,
    };
    let mut network = Network {
        tunnels: Vec::new(),
        buses: vec![first, second],
        hops: vec![GatewayHop {
            from: MessagePlace {
                bus: 0,
                message: passed,
            },
            to: goal,
            delay: 10_000,
            unchanged: false,
            frames: HopFrames::Same,
            passage: None,
        }],
    };
    let lengths = &mut LengthSearch::new();
    let found = network.assess(lengths).unwrap();
    let bound = found.response(goal).unwrap();
    network.buses[1].messages[goal.message].offset = None;
    let same = network.assess(lengths).unwrap();
    assert_eq!(bound, same.response(goal).unwrap());
    let mut plain = network.clone();
    plain.buses = network.buses.iter().map(without).collect();
    let plain = plain.assess(lengths).unwrap();
    assert!(bound < plain.response(goal).unwrap());
    let searched = search(&network, &same, lengths, goal, 200, 1).unwrap();
    assert!(searched.response <= bound);
    eprintln!("over a gateway: {} of {bound} ns found", searched.response);
    assert!(searched.response * 10 > bound * 6);
    for (bus, spec) in network.buses.iter().enumerate() {
        let own = searched.releases.iter().filter(|r| r.place.bus == bus);
        let own = own.map(|r| FrameRelease {
            at: r.at,
            message: r.place.message,
            frame: r.frame,
        });
        assert!(keep_to_offsets(spec, &own.collect::<Vec<_>>()));
    }
}

/// The precondition of the test of witnesses.
#[test]
fn releases_that_do_not_keep_to_offsets_are_seen() {
    let bus = two_nodes(1);
    let (_, found) = assess(&bus);
    let random = &mut common::Random(1);
    let all = released(
        &bus,
        Clocks::Steady,
        random,
        &[1 << 50, (1 << 50) + 5_555, 0],
        5_000_000,
    );
    let all: Vec<FrameRelease> = all.iter().map(|(release, _)| *release).collect();
    assert!(keep_to_offsets(&bus, &all));
    let plain = without(&bus);
    let compiled = CompiledBus::new(&plain, &mut LengthSearch::new()).unwrap();
    let lengths = &mut LengthSearch::new();
    // Built as if there were none.
    let found_plain = compiled.assess(&compiled.arrivals());
    let built = critical_instant(&compiled, &plain, &found_plain, lengths, 4, 0).unwrap();
    assert!(!keep_to_offsets(&bus, &built));
    let mut late = all.clone();
    late[3].at += 1;
    assert!(!keep_to_offsets(&bus, &late));
    assert!(
        found.messages[4].bound.unwrap().latency < found_plain.messages[4].bound.unwrap().latency
    );
}

/// Checks that an incorrect analysis would be detected: for each flaw, simulated frames exceed its
/// bounds.
#[test]
fn each_flaw_is_found() {
    let flaws = [
        Flaw::OneClock,
        Flaw::OwnPhaseOnly,
        Flaw::FirstPhaseOnly,
        Flaw::NoJitter,
    ];
    let mut exceeded = [0; 4];
    for seed in 23_000..23_008 {
        let kind = Kind {
            messages: (8, 12),
            load: (50, 85),
            jitter: [30, 0][seed as usize % 2],
            ..Kind::PRIORITY
        };
        let bus = with_offsets(set(seed, kind), seed, 100, 10, false);
        let mut worst: Vec<Nanos> = vec![0; bus.messages.len()];
        for n in 0..40 {
            let all = releases(&bus, Clocks::Together, seed * 100 + n, 20_000_000);
            for (outcome, event) in outcomes(&bus, &all) {
                let response = outcome.end.wrapping_sub(event);
                worst[outcome.message] = worst[outcome.message].max(response);
            }
        }
        for (i, worst) in worst.into_iter().enumerate() {
            assert!(worst <= bound(&bus, i, Flaw::None).0);
            for (flaw, exceeded) in flaws.iter().zip(&mut exceeded) {
                *exceeded += u32::from(worst > bound(&bus, i, *flaw).0);
            }
        }
    }
    eprintln!("above what wrong analyses say: {flaws:?} {exceeded:?}");
    for (flaw, exceeded) in flaws.iter().zip(exceeded) {
        assert!(exceeded > 0, "{flaw:?} is never found");
    }
}

/// Two nodes with three messages each, and one that blocks: all phases of the clocks, a microsecond
/// (a bit) and a nanosecond more or less, and the blocking frame a nanosecond before each event
/// reach each bound.
#[test]
fn all_phases_of_two_nodes_reach_their_bounds() {
    let mut ratios = Vec::new();
    for seed in 0..5 {
        let bus = two_nodes(seed);
        let (_, found) = assess(&bus);
        let mut worst: Vec<Nanos> = vec![0; bus.messages.len()];
        let events = |node: usize| {
            let own = bus.messages.iter().filter(move |m| m.node == node);
            own.flat_map(|m| {
                let events = (0..2_000_000 / m.arrival.period()).map(|n| n * m.arrival.period());
                events.map(|event| event + m.offset.unwrap())
            })
        };
        // Events of both nodes at one time, and all others.
        let shifts = events(0).flat_map(|a| events(1).map(move |b| (2_000_000 + a - b, true)));
        let grid = (0..2_000).flat_map(|grid| [0, 1, 999].map(|ns| (grid * 1_000 + ns, false)));
        for (shift, block) in shifts.chain(grid) {
            let starts = [1 << 50, (1 << 50) + shift, 0];
            let random = &mut common::Random(shift);
            let all = released(&bus, Clocks::Steady, random, &starts, 6_000_000);
            let (blocks, all): (Vec<_>, Vec<_>) = all
                .into_iter()
                .partition(|(release, _)| release.message == 6);
            let mut instants: Vec<Nanos> = match block {
                true => all.iter().map(|(release, _)| release.at).collect(),
                false => vec![1],
            };
            instants.retain(|at| (1..4_000_000).contains(at));
            instants.dedup();
            for at in instants {
                let mut all = all.clone();
                let (mut release, event) = blocks[0];
                release.at = at - 1;
                all.insert(
                    all.partition_point(|(r, _)| r.at < at - 1),
                    (release, event),
                );
                for (outcome, _) in outcomes(&bus, &all) {
                    let latency = outcome.latency();
                    worst[outcome.message] = worst[outcome.message].max(latency);
                }
            }
        }
        for (message, worst) in found.messages[..6].iter().zip(worst) {
            let bound = message.bound.unwrap().latency;
            assert!(worst <= bound, "{worst} {bound}");
            ratios.push(bound as f64 / worst as f64);
        }
    }
    ratios.sort_by(f64::total_cmp);
    eprintln!("bound / worst of all phases: {ratios:.3?}");
    assert!(ratios.last().unwrap() < &1.000_01);
}

/// At 1 Mbit/s, without jitter.
fn two_nodes(seed: u64) -> BusSpec {
    let mut random = common::Random(seed);
    let message = |n: u32| {
        let id = CanId::sff(0x100 + n * 16).unwrap();
        let frame = Frame::classic(id, &[n as u8; 8][..4 + n as usize % 5]).unwrap();
        let period = [500_000, 1_000_000, 2_000_000][(n / 2) as usize];
        Message {
            name: String::new(),
            node: (n % 2) as usize,
            shape: FrameShape::exact(&frame).unwrap(),
            arrival: Arrival::new(period, 0, 0).unwrap(),
            offset: Some(random.up_to(period / 1_000 - 1) * 1_000),
            deadline: period,
        }
    };
    let mut messages: Vec<Message> = (0..6).map(message).collect();
    messages.push(Message {
        shape: FrameShape::exact(&Frame::classic(CanId::sff(0x7FF).unwrap(), &[0; 8]).unwrap())
            .unwrap(),
        node: 2,
        arrival: Arrival::new(100_000_000, 0, 0).unwrap(),
        offset: None,
        ..messages[0].clone()
    });
    let node = |name: &str| NodeSpec::new(name, SendOrder::Priority);
    BusSpec {
        name: "two".to_owned(),
        rate: "1M".parse().unwrap(),
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: ["one", "other", "third"].map(node).to_vec(),
        messages,
    }
}

/// Offsets of only one message in each node have no effect.
#[test]
fn alone_in_its_node_an_offset_changes_nothing() {
    for (seed, order) in (22_000..22_006).zip([None, Some(1), Some(3)].into_iter().cycle()) {
        let kind = Kind {
            messages: (10, 20),
            load: (40, 80),
            mailboxes: order,
            ..Kind::PRIORITY
        };
        let mut bus = with_offsets(set(seed, kind), seed, 0, 1000, true);
        for node in 0..bus.nodes.len() {
            if let Some(first) = bus.messages.iter_mut().find(|m| m.node == node) {
                first.offset = Some(first.arrival.period() / 3);
            }
        }
        let (with, plain) = (assess(&bus).1, assess(&without(&bus)).1);
        for (one, other) in with.messages.iter().zip(&plain.messages) {
            assert_eq!(one.bound, other.bound, "set {seed}");
        }
        let own = bus.messages.clone();
        bus.nodes = own.iter().map(|m| bus.nodes[m.node].clone()).collect();
        for (node, message) in bus.messages.iter_mut().enumerate() {
            message.node = node;
            message.offset = Some(message.arrival.period() - 1);
        }
        let (with, plain) = (assess(&bus).1, assess(&without(&bus)).1);
        assert_eq!(with.messages, plain.messages, "set {seed}");
        let backlogs = |found: &analysis::Assessment| -> Vec<Option<u64>> {
            found.nodes.iter().map(|n| n.backlog).collect()
        };
        assert_eq!(backlogs(&with), backlogs(&plain));
        assert!(
            bus.nodes
                .iter()
                .all(|n| (n.order == SendOrder::Priority) == order.is_none())
        );
    }
}
