//! Nodes that need time to put the next frame into a buffer: the bound is safe.

use crate::common;

use analysis::{
    Arrival, BufferRefill, BusSpec, CompiledBus, FrameShape, GatewayHop, HopFrames, LengthRule,
    LengthSearch, Message, MessagePlace, Network, NodeSpec, QueueService, SendOrder,
};
use common::refilled::play;
use common::{Kind, Phases, assess, outcomes, releases, set};
use frame::{CanId, Frame, Header, Kind as Format, Nanos};
use std::num::NonZeroU8;

fn alone(bus: BusSpec) -> Network {
    Network {
        buses: vec![bus],
        hops: Vec::new(),
        tunnels: Vec::new(),
    }
}

fn on_bus(
    bus: usize,
    spec: &BusSpec,
    phases: Phases,
    seed: u64,
) -> Vec<(Nanos, MessagePlace, Nanos)> {
    let all = releases(spec, phases, seed, 200_000_000);
    let place = |message| MessagePlace { bus, message };
    all.into_iter()
        .map(|(release, event)| (release.at, place(release.message), event))
        .collect()
}

/// A set in which half of the nodes need time.
fn slow(seed: u64, mailboxes: u8, refill: BufferRefill) -> BusSpec {
    let kind = Kind {
        messages: (5, 14),
        load: (25, 60),
        jitter: 50,
        ..Kind::PRIORITY
    };
    let mut spec = set(seed, kind.with_mailboxes(mailboxes));
    for (n, node) in spec.nodes.iter_mut().enumerate() {
        match n % 3 {
            0 | 1 => node.refill = Some(refill),
            _ => node.order = SendOrder::Priority,
        }
    }
    spec
}

/// The number of frames that exceed `bounds`, and the number that were checked.
fn above(played: &BusSpec, bounds: &BusSpec, seed: u64) -> (u64, u64) {
    let (_, found) = assess(bounds);
    let (mut above, mut looked) = (0, 0);
    for phases in [Phases::Random, Phases::Together] {
        let network = alone(played.clone());
        for ended in play(&network, &on_bus(0, played, phases, seed), seed) {
            if let Ok(bound) = found.messages[ended.place.message].bound {
                looked += 1;
                above += u64::from(ended.end - ended.event > bound.response);
            }
        }
    }
    (above, looked)
}

const CASES: [(u8, Nanos, u32); 6] = [
    (1, 30_000, 1),
    (1, 300_000, 1),
    (3, 30_000, 1),
    (3, 200_000, 1),
    (3, 300_000, 7),
    (2, 1_000_000, 20),
];

#[test]
fn drivers_that_take_no_time_are_nodes_with_mailboxes() {
    for mailboxes in [1, 3] {
        let none = BufferRefill { time: 0, every: 1 };
        let spec = slow(8100 + u64::from(mailboxes), mailboxes, none);
        let all = releases(&spec, Phases::Random, 1, 200_000_000);
        let expected = outcomes(&spec, &all);
        let network = alone(spec.clone());
        let mut found = play(&network, &on_bus(0, &spec, Phases::Random, 1), 1);
        found.sort_by_key(|ended| ended.start);
        let mut expected: Vec<_> = expected.iter().map(|(o, _)| (o.message, o.end)).collect();
        expected.sort_by_key(|(_, end)| *end);
        let found: Vec<_> = found.iter().map(|e| (e.place.message, e.end)).collect();
        assert!(found.len() > 100, "{}", found.len());
        assert_eq!(found, expected);
    }
}

#[test]
fn no_frame_of_nodes_that_need_time_is_above_its_bound() {
    let mut without = 0;
    for (mailboxes, time, every) in CASES {
        let (mut frames, mut bounded) = (0, 0);
        for seed in 8200..8212 {
            let refill = BufferRefill { time, every };
            let spec = slow(seed, mailboxes, refill);
            let (higher, looked) = above(&spec, &spec, seed);
            assert_eq!(higher, 0, "set {seed}, {mailboxes} mailboxes, {refill:?}");
            frames += looked;
            let (_, found) = assess(&spec);
            bounded += found.messages.iter().filter(|m| m.bound.is_ok()).count();
            for (node, found) in spec.nodes.iter().zip(&found.nodes) {
                assert_eq!(node.refill.is_some(), found.service == QueueService::Queue);
            }
            // The mistake of ignoring that time is detected.
            let quick = slow(seed, mailboxes, BufferRefill { time: 0, every });
            without += above(&spec, &quick, seed).0;
        }
        assert!(
            frames > 2000 && bounded > 60,
            "{mailboxes}, {time}: {frames}, {bounded}"
        );
    }
    assert!(without > 20, "{without}");
}

#[test]
fn no_frame_over_gateways_that_need_time_is_above_its_bound() {
    let (mut frames, mut passed) = (0, 0);
    for (mailboxes, time, every) in CASES {
        for seed in 8300..8303 {
            let (network, all) = two_buses(seed, mailboxes, BufferRefill { time, every });
            let found = network.assess(&mut LengthSearch::new()).unwrap();
            for ended in play(&network, &all, seed) {
                let Ok(response) = found.response(ended.place) else {
                    continue;
                };
                frames += 1;
                passed += u64::from(ended.place.bus == 1 && is_passed(&network, ended.place));
                let took = ended.end - ended.event;
                assert!(
                    took <= response,
                    "{seed}: {:?} {took} {response}",
                    ended.place
                );
            }
        }
    }
    assert!(frames > 8000 && passed > 1500, "{frames}, {passed}");
}

fn is_passed(network: &Network, place: MessagePlace) -> bool {
    network.hops.iter().any(|hop| hop.to == place)
}

/// All frames of one bus are passed on to another, which has messages of its own.
fn two_buses(
    seed: u64,
    mailboxes: u8,
    refill: BufferRefill,
) -> (Network, Vec<(Nanos, MessagePlace, Nanos)>) {
    let kind = Kind {
        messages: (8, 16),
        load: (15, 35),
        jitter: 20,
        ..Kind::PRIORITY
    };
    let first = set(2 * seed, kind);
    let mut second = set(2 * seed + 1, kind);
    let mut all = on_bus(0, &first, Phases::Random, seed);
    all.extend(on_bus(1, &second, Phases::Random, seed + 1));
    all.sort_by_key(|(at, ..)| *at);
    second.nodes.push(NodeSpec {
        refill: Some(refill),
        ..NodeSpec::new(
            "gateway",
            SendOrder::Mailboxes(NonZeroU8::new(mailboxes).unwrap()),
        )
    });
    let own = second.messages.len();
    let mut hops = Vec::new();
    for (message, sent) in first.messages.iter().enumerate() {
        let header = |m: &Message| m.shape.header().id();
        if second.messages[..own]
            .iter()
            .any(|m| header(m) == header(sent))
        {
            continue;
        }
        hops.push(GatewayHop {
            from: MessagePlace { bus: 0, message },
            to: MessagePlace {
                bus: 1,
                message: second.messages.len(),
            },
            delay: 50_000,
            unchanged: true,
            frames: HopFrames::Same,
            passage: None,
        });
        second.messages.push(Message {
            node: second.nodes.len() - 1,
            ..sent.clone()
        });
    }
    let network = Network {
        buses: vec![first, second],
        hops,
        tunnels: Vec::new(),
    };
    (network, all)
}

fn message(number: u32, node: usize, period: Nanos) -> Message {
    let frame = Frame::classic(CanId::sff(number).unwrap(), &[0x55; 8]).unwrap();
    Message {
        name: String::new(),
        node,
        shape: FrameShape::exact(&frame).unwrap(),
        arrival: Arrival::new(period, 0, 0).unwrap(),
        offset: None,
        deadline: period,
    }
}

/// A bus with one node, which has one transmit buffer.
fn one_node(
    name: &str,
    rate: &str,
    refill: Option<BufferRefill>,
    messages: Vec<Message>,
) -> BusSpec {
    BusSpec {
        name: name.to_owned(),
        rate: rate.parse().unwrap(),
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![NodeSpec {
            refill,
            ..NodeSpec::new("node", SendOrder::Mailboxes(NonZeroU8::MIN))
        }],
        messages,
    }
}

/// A frame of lower priority begins just before the buffer is filled: this is the cost of having
/// one transmit buffer.
#[test]
fn a_lower_frame_slips_into_the_pause() {
    let one = SendOrder::Mailboxes(NonZeroU8::MIN);
    let refill = BufferRefill {
        time: 40_000,
        every: 1,
    };
    let spec = BusSpec {
        name: "bus".to_owned(),
        rate: "500k".parse().unwrap(),
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![
            NodeSpec {
                refill: Some(refill),
                ..NodeSpec::new("slow", one)
            },
            NodeSpec::new("other", SendOrder::Priority),
        ],
        messages: vec![
            message(0x100, 0, 100_000_000),
            message(0x101, 0, 100_000_000),
            message(0x700, 1, 100_000_000),
            message(0x701, 1, 100_000_000),
        ],
    };
    let (compiled, found) = assess(&spec);
    let bound = found.messages[1].bound.unwrap();
    let frame = |i: usize| compiled.least_occupied(i).unwrap();
    let at = |at, message| (at, MessagePlace { bus: 0, message }, at);
    // The greatest number of lower frames that is possible: one is on the bus already, one begins
    // before the second frame is in the buffer.
    let begin = 1_000_000;
    let end = begin - 1 + frame(2) + frame(0);
    let all = [at(begin - 1, 2), at(begin, 0), at(begin, 1), at(end, 3)];
    let played = play(&alone(spec.clone()), &all, 3);
    let last = played
        .iter()
        .find(|ended| ended.place.message == 1)
        .unwrap();
    let took = last.end - begin;
    let intermission = 6_000;
    let without_it = frame(2) + frame(0) + 2 * (refill.time - intermission) + frame(1);
    assert!(took > without_it, "{took} {without_it}");
    assert!(took <= bound.response, "{took} {}", bound.response);
    assert!(took * 10 > bound.response * 9, "{took} {}", bound.response);
}

/// A bus that is full never makes up for a pause, so there is no bound; for a given number of
/// frames of a flood there is one.
#[test]
fn a_full_bus_has_no_bound_but_the_first_frames_of_a_flood_have() {
    let id = CanId::sff(0x123).unwrap();
    let shape = FrameShape::any(Header::new(Format::Classic, id, 8).unwrap()).unwrap();
    let flood = Message {
        shape,
        arrival: Arrival::new(1, 0, 0).unwrap(),
        ..message(0x123, 0, 1)
    };
    let bus = |name: &str, refill| one_node(name, "1M", refill, vec![flood.clone()]);
    let refill = BufferRefill {
        time: 20_000,
        every: 50,
    };
    let frames = 1000;
    let delay = 10_000;
    let passing = |refill| {
        let bus = CompiledBus::new(&bus("out", refill), &mut LengthSearch::new()).unwrap();
        bus.passing(0, delay, frames).unwrap()
    };
    let most = passing(Some(refill));
    assert_eq!(most - passing(None), 20 * (20_000 - 3_000));
    let hop = GatewayHop {
        from: MessagePlace { bus: 0, message: 0 },
        to: MessagePlace { bus: 1, message: 0 },
        delay,
        unchanged: true,
        frames: HopFrames::Same,
        passage: None,
    };
    let network = Network {
        buses: vec![bus("in", None), bus("out", Some(refill))],
        hops: vec![hop],
        tunnels: Vec::new(),
    };
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    assert!(found.buses[1].messages[0].bound.is_err());
    // All frames are ready at once: the first bus is full. Frames have one length, so that only
    // pauses add up.
    let all: Vec<_> = (0..frames).map(|_| (0, hop.from, 0)).collect();
    let played = play(&network, &all, 5);
    let on = |bus: usize| played.iter().filter(move |ended| ended.place.bus == bus);
    assert_eq!(on(1).count() as u64, frames);
    let waits = on(0)
        .zip(on(1))
        .map(|(first, second)| second.start - first.end);
    let worst = waits.max().unwrap();
    assert!(worst <= most, "{worst} {most}");
    assert!(worst * 10 > most * 5, "{worst} {most}");
    // Much longer than on a gateway without pauses.
    assert!(worst > passing(None) * 3);
}

/// Frames of one bus come one after another, and leave with a pause after each.
#[test]
fn pauses_of_frames_that_come_one_after_the_other_add_up() {
    let messages: Vec<Message> = (0..12).map(|n| message(0x100 + n, 0, 20_000_000)).collect();
    let bus = |name: &str, refill| one_node(name, "500k", refill, messages.clone());
    let refill = BufferRefill {
        time: 206_000,
        every: 1,
    };
    let place = |bus, message| MessagePlace { bus, message };
    let hop = |message| GatewayHop {
        from: place(0, message),
        to: place(1, message),
        delay: 30_000,
        unchanged: true,
        frames: HopFrames::Same,
        passage: None,
    };
    let network = Network {
        buses: vec![bus("in", None), bus("out", Some(refill))],
        hops: (0..12).map(hop).collect(),
        tunnels: Vec::new(),
    };
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let all = (0..5_u64).flat_map(|n| {
        let at = n * 20_000_000;
        (0..12).map(move |message| (at, place(0, message), at))
    });
    let played = play(&network, &all.collect::<Vec<_>>(), 7);
    assert_eq!(played.len(), 2 * 5 * 12);
    let mut nearest = 0.0_f64;
    for ended in played {
        let took = ended.end - ended.event;
        let response = found.response(ended.place).unwrap();
        assert!(took <= response, "{:?} {took} {response}", ended.place);
        if ended.place.bus == 1 {
            nearest = nearest.max(took as f64 / response as f64);
        }
    }
    assert!(nearest > 0.8, "{nearest}");
}
