//! Nodes with a queue in order of arrival: the bound is safe.

use crate::common;

use analysis::{
    Arrival, Assessment, BusSpec, FrameShape, LengthRule, LengthSearch, Message, MessagePlace,
    Network, NodeSpec, QueueService, SendOrder, critical_instant, replay, search,
};
use common::{Kind, Phases, assess, for_each, outcomes, releases, set};
use frame::{CanId, Header, Kind as Format, Nanos};
use std::num::NonZeroU8;
use std::ops::Range;

/// The worst observed latency of each message.
fn worst_seen(bus: &BusSpec, seed: u64, span: Nanos) -> Vec<Nanos> {
    let (compiled, found) = assess(bus);
    let mut worst = vec![0; bus.messages.len()];
    for phases in [Phases::Random, Phases::Together] {
        for (outcome, event) in outcomes(bus, &releases(bus, phases, seed, span)) {
            let seen = &mut worst[outcome.message];
            *seen = outcome.latency().max(*seen);
            if let Ok(bound) = &found.messages[outcome.message].bound {
                let response = outcome.end - event;
                assert!(
                    response <= bound.response,
                    "set {seed}: {outcome:?} {bound:?}"
                );
            }
        }
    }
    let mut lengths = LengthSearch::new();
    for i in 0..bus.messages.len() {
        let all = critical_instant(&compiled, bus, &found, &mut lengths, i, 0).unwrap();
        for outcome in replay(bus, &all).unwrap() {
            let seen = &mut worst[outcome.message];
            *seen = outcome.latency().max(*seen);
        }
    }
    worst
}

fn kind(mailboxes: u8) -> Kind {
    Kind {
        load: (30, 85),
        ..Kind::PRIORITY
    }
    .with_mailboxes(mailboxes)
}

/// Bounds compared with the worst observed latency.
#[derive(Default)]
struct Compared {
    frames_above: u64,
    ratios: Vec<f64>,
    unbounded: u64,
    covered: u64,
}

impl Compared {
    fn quantile(&mut self, part: f64) -> f64 {
        self.ratios.sort_by(f64::total_cmp);
        self.ratios[(self.ratios.len() as f64 * part) as usize]
    }
}

/// For messages that were not observed near their bound, the worst time from release to end of
/// frame that a search finds.
fn searched(bus: &BusSpec, plays: u32, seed: u64, worst: &mut [Nanos]) {
    let network = Network {
        buses: vec![bus.clone()],
        hops: Vec::new(),
        tunnels: Vec::new(),
    };
    let mut lengths = LengthSearch::new();
    let found = network.assess(&mut lengths).unwrap();
    for (message, worst) in worst.iter_mut().enumerate() {
        let place = MessagePlace { bus: 0, message };
        let Ok(bound) = found.buses[0].messages[message].bound else {
            continue;
        };
        if bound.latency * 10 <= *worst * 11 {
            continue;
        }
        let of_it = search(&network, &found, &mut lengths, place, plays, seed).unwrap();
        assert!(of_it.response <= bound.response, "set {seed}: {message}");
        *worst = of_it.latency.max(*worst);
    }
}

fn compare(seeds: Range<u64>, kind: Kind, span: Nanos, plays: u32) -> Compared {
    let each = for_each(seeds, |seed| compare_one(seed, kind, span, plays));
    let mut all = Compared::default();
    for one in each {
        all.frames_above += one.frames_above;
        all.ratios.extend(one.ratios);
        all.unbounded += one.unbounded;
        all.covered += one.covered;
    }
    all
}

fn compare_one(seed: u64, kind: Kind, span: Nanos, plays: u32) -> Compared {
    let mut compared = Compared::default();
    let bus = set(seed, kind);
    let (_, found) = assess(&bus);
    let mut worst = worst_seen(&bus, seed, span);
    searched(&bus, plays, seed, &mut worst);
    for (i, (message, worst)) in found.messages.iter().zip(worst).enumerate() {
        let service = found.nodes[bus.messages[i].node].service;
        compared.covered += u64::from(service == QueueService::Covered);
        let Ok(bound) = message.bound else {
            compared.unbounded += 1;
            continue;
        };
        compared.frames_above += u64::from(worst > bound.latency);
        compared.ratios.push(bound.latency as f64 / worst as f64);
    }
    compared
}

#[test]
fn no_frame_of_a_queue_is_above_its_bound() {
    for (mailboxes, curves) in [(1, 0), (2, 0), (3, 0), (8, 0), (1, 60), (3, 60)] {
        let seed = 5000 + u64::from(mailboxes) * 100 + curves;
        let kind = Kind {
            curves,
            ..kind(mailboxes)
        };
        let mut compared = compare(seed..seed + 5, kind, 200_000_000, 20);
        assert_eq!(compared.frames_above, 0, "{mailboxes} mailboxes");
        let bounded = compared.ratios.len();
        assert!(
            bounded > 50,
            "{mailboxes}: {bounded}, {}",
            compared.unbounded
        );
        let median = compared.quantile(0.5);
        assert!(
            (1.0..2.5).contains(&median),
            "{mailboxes} mailboxes: {median}"
        );
    }
}

/// Sets in such numbers that they take half a minute or more.
mod long {
    use super::*;

    /// The figures of docs/bound.md.
    #[test]
    #[ignore = "heavy"]
    fn many_sets_of_queues_hold() {
        for mailboxes in [1, 3] {
            let mut compared = compare(20_000..20_200, kind(mailboxes), 1_000_000_000, 60);
            let (median, p90) = (compared.quantile(0.5), compared.quantile(0.9));
            eprintln!(
                "{mailboxes} mailboxes: {} messages with a bound, {} without, {} in nodes that their \
                 mailboxes cover; {} above their bound; bound / worst seen {:.2} median, {:.2} p90",
                compared.ratios.len(),
                compared.unbounded,
                compared.covered,
                compared.frames_above,
                median,
                p90,
            );
            assert_eq!(compared.frames_above, 0);
        }
    }
}

/// A node is assumed to serve by priority only as long as its buffers hold all frames that can wait
/// in it; then its bounds are those of priority order.
#[test]
fn buffers_that_hold_all_serve_by_priority() {
    let mut covered = 0;
    for seed in 6000..6020 {
        let bus = set(seed, kind(20));
        let plain = BusSpec {
            nodes: bus.nodes.iter().cloned().map(by_priority).collect(),
            ..bus.clone()
        };
        let (found, by_priority) = (assess(&bus).1, assess(&plain).1);
        if found
            .nodes
            .iter()
            .all(|n| n.service == QueueService::Covered)
        {
            covered += 1;
            let latencies = |a: &Assessment| a.messages.iter().map(|m| m.bound).collect::<Vec<_>>();
            assert_eq!(latencies(&found), latencies(&by_priority));
            assert!(found.nodes.iter().all(|n| n.backlog.unwrap() <= 20));
        }
    }
    assert!((1..20).contains(&covered), "{covered} of 20");
}

fn by_priority(node: NodeSpec) -> NodeSpec {
    NodeSpec {
        order: SendOrder::Priority,
        ..node
    }
}

/// Treating a queue as priority order is a mistake that is detected: frames exceed such a bound.
#[test]
fn priority_order_assumed_for_a_queue_is_found_out() {
    for mailboxes in [1, 3] {
        let mut above = 0;
        for seed in 7000..7004 {
            let bus = set(seed, kind(mailboxes));
            let wrong = BusSpec {
                nodes: bus.nodes.iter().cloned().map(by_priority).collect(),
                ..bus.clone()
            };
            let (_, wrong) = assess(&wrong);
            let worst = worst_seen(&bus, seed, 50_000_000);
            for (message, worst) in wrong.messages.iter().zip(worst) {
                above += u32::from(worst > message.bound.unwrap().latency);
            }
        }
        assert!(above > 10, "{mailboxes} mailboxes: {above}");
    }
}

/// A node with fewer buffers than the analysis assumes is detected: with more of them, fewer frames
/// with a low priority win.
#[test]
fn more_buffers_than_there_are_are_found_out() {
    let mut above = 0;
    for seed in 7100..7110 {
        let bus = set(seed, kind(2));
        let wrong = BusSpec {
            nodes: bus
                .nodes
                .iter()
                .cloned()
                .map(|node| node_of(node, 5))
                .collect(),
            ..bus.clone()
        };
        let (_, wrong) = assess(&wrong);
        let mut worst = worst_seen(&bus, seed, 50_000_000);
        searched(&bus, 20, seed, &mut worst);
        for (message, worst) in wrong.messages.iter().zip(worst) {
            above += u32::from(worst > message.bound.unwrap().latency);
        }
    }
    assert!(above > 10, "{above}");
}

fn node_of(node: NodeSpec, mailboxes: u8) -> NodeSpec {
    NodeSpec {
        order: SendOrder::Mailboxes(NonZeroU8::new(mailboxes).unwrap()),
        ..node
    }
}

/// At 1 Mbit/s: node 0 with this number of buffers has some IDs with any 8 bytes, node 1 has others
/// in order of priority.
fn by_hand(mailboxes: u8, lengths: LengthRule, own: &[u32], others: &[u32]) -> BusSpec {
    let message = |number, node| {
        let id = CanId::sff(number).unwrap();
        Message {
            name: String::new(),
            node,
            shape: FrameShape::any(Header::new(Format::Classic, id, 8).unwrap()).unwrap(),
            arrival: Arrival::new(10_000_000, 0, 0).unwrap(),
            offset: None,
            deadline: 10_000_000,
        }
    };
    let node = |order| NodeSpec::new("node", order);
    let messages = own.iter().map(|&number| message(number, 0));
    let messages = messages.chain(others.iter().map(|&number| message(number, 1)));
    BusSpec {
        name: "bus".to_owned(),
        rate: "1M".parse().unwrap(),
        lengths,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![
            node_of(node(SendOrder::Priority), mailboxes),
            node(SendOrder::Priority),
        ],
        messages: messages.collect(),
    }
}

/// One node with two messages and one buffer, worked out by hand with the formula's lengths (135
/// bits of 1 µs with 8 bytes, 132 without the intermission): the higher one waits for a blocking
/// frame of the other node and for one frame of its own node, which is in the buffer; after it, the
/// other node's frame of the priority in between is sent.
#[test]
fn a_queue_by_hand() {
    let bus = by_hand(1, LengthRule::Formula, &[0x100, 0x300], &[0x200, 0x400]);
    let (_, found) = assess(&bus);
    let latency = |i: usize| found.messages[i].bound.unwrap().latency;
    assert_eq!(found.nodes[0].service, QueueService::Queue);
    // Blocked by 400; 300 in the buffer; 200, which goes before 300; itself.
    assert_eq!(latency(0), (135 + 135 + 135 + 132) * 1_000);
    // The same with 100 ahead of 300.
    assert_eq!(latency(1), (135 + 135 + 135 + 132) * 1_000);
    // Before 200 goes 100, which can be in the buffer at any time; 400 or 300 blocks.
    assert_eq!(latency(2), (135 + 135 + 132) * 1_000);
}

/// Two buffers for three messages: both can never hold 700 alone, so 500 is sent only while nothing
/// but 700 waits, or before.
#[test]
fn two_buffers_by_hand() {
    let (own, others) = ([0x100, 0x400, 0x700], [0x300, 0x500]);
    let (_, found) = assess(&by_hand(2, LengthRule::Formula, &own, &others));
    let latency = |i: usize| found.messages[i].bound.unwrap().latency;
    assert_eq!(found.nodes[0].service, QueueService::Queue);
    // Blocked by 500 or 700; 300; 400 in a buffer; itself.
    assert_eq!(latency(0), (135 + 135 + 135 + 132) * 1_000);
    // 100 goes before 400, from the other buffer.
    assert_eq!(latency(1), (135 + 135 + 135 + 132) * 1_000);
    // All others.
    assert_eq!(latency(2), (4 * 135 + 132) * 1_000);

    // And a frame takes as long.
    let bus = by_hand(2, LengthRule::Greatest, &own, &others);
    let bound = assess(&bus).1.messages[0].bound.unwrap().latency;
    let mut worst = [0; 5];
    searched(&bus, 2000, 1, &mut worst);
    assert!(
        (bound - 1..=bound).contains(&worst[0]),
        "{} of {bound}",
        worst[0]
    );
}
