//! Several buses with gateways between them.

use crate::common;

use analysis::{
    Arrival, FrameShape, GatewayHop, HopFrames, LengthSearch, Message, MessagePlace, Network,
    NetworkError, NoBound, NodeSpec, SendOrder, search,
};
use bus::{Bus, NodeEvent, NodeId};
use common::{Kind, Phases, Random, for_each, releases, set, simulated};
use frame::{CanId, Frame, Nanos, wire};
use std::collections::HashMap;
use std::num::NonZeroU8;

/// Buses with messages of their own, some of which gateways with this number of buffers pass on to
/// the next bus, and from the last one back to the first.
pub(super) fn network(
    seed: u64,
    buses: usize,
    mailboxes: u8,
    delay: Nanos,
    curves: u64,
) -> Network {
    let mut random = Random(seed);
    let kind = Kind {
        messages: (8, 20),
        load: (15, 40),
        jitter: 20,
        curves,
        ..Kind::PRIORITY
    };
    let mut network = Network::default();
    for bus in 0..buses {
        let mut spec = set(seed * 100 + bus as u64, kind);
        spec.nodes.push(NodeSpec::new(
            "gateway",
            SendOrder::Mailboxes(NonZeroU8::new(mailboxes).unwrap()),
        ));
        network.buses.push(spec);
    }
    let own: Vec<usize> = network.buses.iter().map(|b| b.messages.len()).collect();
    for (from, &own) in own.iter().enumerate() {
        let to = (from + 1) % buses;
        for message in 0..own {
            if random.percent(30) {
                forward(
                    &mut network,
                    MessagePlace { bus: from, message },
                    to,
                    delay,
                    &mut random,
                );
            }
        }
    }
    // Some go on from there, over a further bus.
    let first: Vec<GatewayHop> = network.hops.clone();
    for hop in first {
        let to = (hop.to.bus + 1) % buses;
        if buses > 2 && to != hop.from.bus && random.percent(30) {
            forward(&mut network, hop.to, to, delay, &mut random);
        }
    }
    network
}

/// With another ID, and the same payload.
pub(super) fn forward(
    network: &mut Network,
    from: MessagePlace,
    to: usize,
    delay: Nanos,
    random: &mut Random,
) {
    let shape = network.buses[from.bus].messages[from.message].shape;
    let frame = LengthSearch::new().longest_frame(&shape).unwrap();
    let arrival = network.buses[from.bus].messages[from.message].arrival;
    let spec = &mut network.buses[to];
    let field = |id: CanId| {
        let of = |frame: &Frame| wire::arbitration_key(&frame.header()) >> 2;
        let frame = Frame::classic(id, frame.data()).unwrap();
        (of(&frame), frame)
    };
    let mut taken = spec
        .messages
        .iter()
        .map(|m| wire::arbitration_key(m.shape.header()) >> 2);
    let taken: Vec<u64> = taken.by_ref().collect();
    let frame = loop {
        let (field, frame) = field(CanId::sff(random.up_to(0x7FF) as u32).unwrap());
        if !taken.contains(&field) {
            break frame;
        }
    };
    spec.messages.push(Message {
        name: String::new(),
        node: spec.nodes.len() - 1,
        shape: FrameShape::exact(&frame).unwrap(),
        arrival,
        offset: None,
        deadline: arrival.period(),
    });
    let message = spec.messages.len() - 1;
    let to = MessagePlace { bus: to, message };
    network.hops.push(GatewayHop {
        from,
        to,
        delay,
        unchanged: false,
        frames: HopFrames::Same,
        passage: None,
    });
}

/// A simulated network. A frame is passed on at its end of frame, and the gateway takes a time up
/// to its delay.
pub(super) struct World<'n> {
    network: &'n Network,
    buses: Vec<Bus>,
    nodes: Vec<Vec<NodeId>>,
    /// For each tag, the message and its event.
    tags: Vec<(MessagePlace, Nanos)>,
    /// Frames in gateways, in their order, with the time at which they are passed on.
    passing: Vec<(Nanos, MessagePlace, Nanos)>,
    /// For the end of each hop that joins parts, and each event, the parts that have come.
    parts: HashMap<(usize, usize, Nanos), u8>,
    random: Random,
}

impl<'n> World<'n> {
    pub(super) fn new(network: &'n Network, seed: u64) -> Self {
        let mut world = Self {
            network,
            buses: Vec::new(),
            nodes: Vec::new(),
            tags: Vec::new(),
            passing: Vec::new(),
            parts: HashMap::new(),
            random: Random(seed),
        };
        for spec in &network.buses {
            let (bus, nodes) = simulated(spec);
            world.nodes.push(nodes);
            world.buses.push(bus);
        }
        world
    }

    fn send(&mut self, place: MessagePlace, event: Nanos, now: Nanos) {
        let message = &self.network.buses[place.bus].messages[place.message];
        let frame = LengthSearch::new().longest_frame(&message.shape).unwrap();
        let node = self.nodes[place.bus][message.node];
        let tag = self.tags.len() as u64;
        self.tags.push((place, event));
        self.buses[place.bus].send(node, now, &frame, tag).unwrap();
    }

    /// The event and the end of frame, for each frame on each bus.
    pub(super) fn run(
        &mut self,
        all: &[(Nanos, MessagePlace, Nanos)],
    ) -> Vec<(MessagePlace, Nanos, Nanos)> {
        let mut seen = Vec::new();
        let mut given = all.iter().peekable();
        loop {
            let next = self.buses.iter().filter_map(Bus::next).min();
            let release = given.peek().map(|(at, ..)| *at);
            let passing = self.passing.first().map(|(at, ..)| *at);
            let Some(now) = [next, release, passing].into_iter().flatten().min() else {
                return seen;
            };
            let mut ended = Vec::new();
            for bus in &mut self.buses {
                bus.run_until(now, |event| {
                    if let NodeEvent::Frame { end, tag, .. } = *event {
                        ended.push((end, tag));
                    }
                });
            }
            for (end, tag) in ended {
                let (place, event) = self.tags[tag as usize];
                seen.push((place, event, end));
                for hop in self.network.hops.iter().filter(|hop| hop.from == place) {
                    // Frames do not overtake one another in a gateway.
                    let at = end + self.random.up_to(hop.delay);
                    let last = self
                        .passing
                        .iter()
                        .filter(|(_, to, _)| to.bus == hop.to.bus);
                    let at = last.map(|(at, ..)| *at).max().unwrap_or(0).max(at);
                    let made = match hop.frames {
                        HopFrames::Same => 1,
                        HopFrames::Split(parts) => parts.get().into(),
                        HopFrames::Joined(parts) => {
                            let key = (hop.to.bus, hop.to.message, event);
                            let came = self.parts.entry(key).or_default();
                            *came += 1;
                            usize::from(*came == parts.get())
                        }
                    };
                    for _ in 0..made {
                        self.passing.push((at, hop.to, event));
                    }
                }
            }
            self.passing.sort_by_key(|(at, ..)| *at);
            while self.passing.first().is_some_and(|(at, ..)| *at <= now) {
                let (_, place, event) = self.passing.remove(0);
                self.send(place, event, now);
            }
            while let Some((_, place, event)) = given.next_if(|(at, ..)| *at <= now) {
                self.send(*place, *event, now);
            }
        }
    }
}

/// Releases of the buses' own messages.
pub(super) fn own_releases(
    network: &Network,
    phases: Phases,
    seed: u64,
    span: Nanos,
) -> Vec<(Nanos, MessagePlace, Nanos)> {
    let passed = |place: MessagePlace| network.hops.iter().any(|hop| hop.to == place);
    let mut all = Vec::new();
    for (bus, spec) in network.buses.iter().enumerate() {
        for (release, event) in releases(spec, phases, seed + bus as u64, span) {
            let message = release.message;
            let place = MessagePlace { bus, message };
            if !passed(place) {
                all.push((release.at, place, event));
            }
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all
}

/// Bounds of messages that were passed on, divided by the worst observed response, or by the one
/// found by a search of this number of plays; and the number of frames.
pub(super) fn hold(network: &Network, seed: u64, plays: u32) -> (Vec<f64>, usize) {
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    assert_eq!(found.circle, [], "network {seed}");
    let mut worst: HashMap<(usize, usize), Nanos> = HashMap::new();
    let mut frames = 0;
    for (phases, run) in [
        (Phases::Random, 0),
        (Phases::Random, 1),
        (Phases::Together, 2),
    ] {
        let all = own_releases(network, phases, seed + run, 300_000_000);
        for (place, event, end) in World::new(network, seed).run(&all) {
            let response = end - event;
            let bound = found.response(place).unwrap();
            assert!(
                response <= bound,
                "network {seed}: {place:?}: {response} of {bound}"
            );
            let seen = worst.entry((place.bus, place.message)).or_default();
            *seen = response.max(*seen);
            frames += 1;
        }
    }
    let mut lengths = LengthSearch::new();
    for hop in &network.hops {
        let bound = found.response(hop.to).unwrap();
        let searched = search(network, &found, &mut lengths, hop.to, plays, seed).unwrap();
        assert!(
            searched.response <= bound,
            "network {seed}: {hop:?}: {} of {bound}",
            searched.response
        );
        let seen = worst.entry((hop.to.bus, hop.to.message)).or_default();
        *seen = searched.response.max(*seen);
    }
    let ratios = network.hops.iter().filter_map(|hop| {
        let seen = worst.get(&(hop.to.bus, hop.to.message))?;
        Some(found.response(hop.to).unwrap() as f64 / *seen as f64)
    });
    (ratios.collect(), frames)
}

#[test]
fn no_frame_that_was_passed_on_is_above_its_bound() {
    let (mut all, mut frames) = (Vec::new(), 0);
    for seed in 0..12 {
        let buses = 2 + seed as usize % 2;
        let mailboxes = [1, 3, 32][seed as usize % 3];
        let delay = [0, 50_000, 2_000_000][(seed / 2) as usize % 3];
        let curves = [0, 50][(seed / 6) as usize];
        let network = network(9000 + seed, buses, mailboxes, delay, curves);
        let (ratios, n) = hold(&network, 9000 + seed, 40);
        all.extend(ratios);
        frames += n;
    }
    assert!(
        all.len() > 40 && frames > 5_000,
        "{} routes, {frames} frames",
        all.len()
    );
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    // Far from the bound, the test would detect nothing.
    assert!((1.0..1.8).contains(&median), "{median}");
}

/// Sets in such numbers that they take half a minute or more.
mod long {
    use super::*;

    /// The figures of docs/bound.md.
    #[test]
    #[ignore = "heavy"]
    fn many_networks_hold() {
        for mailboxes in [32, 3, 1] {
            let each = for_each(0..100, |seed| {
                let buses = 2 + seed as usize % 2;
                let network = network(30_000 + seed, buses, mailboxes, 50_000, 0);
                hold(&network, 30_000 + seed, 600)
            });
            let frames: usize = each.iter().map(|(_, frames)| frames).sum();
            let mut all: Vec<f64> = each.into_iter().flat_map(|(ratios, _)| ratios).collect();
            all.sort_by(f64::total_cmp);
            eprintln!(
                "{mailboxes} mailboxes: {} routes, {frames} frames, none above its bound; bound / worst found {:.2} \
                 median, {:.2} p90",
                all.len(),
                all[all.len() / 2],
                all[all.len() * 9 / 10]
            );
        }
    }
}

/// Jitter that is not propagated gives bounds that frames exceed. A frame of 200 is delayed on the
/// first bus by six others, the next one is not: they come to the second bus, which is slow, one
/// right after the other. There, 300 must wait for both.
#[test]
fn without_the_jitter_of_the_bus_before_frames_are_above() {
    let ms = 1_000_000;
    let message = |number, node, period| Message {
        name: String::new(),
        node,
        shape: FrameShape::exact(&Frame::classic(CanId::sff(number).unwrap(), &[0xAA; 8]).unwrap())
            .unwrap(),
        arrival: Arrival::new(period, 0, 0).unwrap(),
        offset: None,
        deadline: period,
    };
    let bus = |rate: &str, messages| analysis::BusSpec {
        name: rate.to_owned(),
        rate: rate.parse().unwrap(),
        lengths: analysis::LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![NodeSpec::new("node", SendOrder::Priority)],
        messages,
    };
    let mut first: Vec<Message> = (1..=6).map(|number| message(number, 0, 100 * ms)).collect();
    first.push(message(0x200, 0, 2 * ms));
    let second = vec![message(0x200, 0, 2 * ms), message(0x300, 0, 100 * ms)];
    let place = |bus, message| MessagePlace { bus, message };
    let network = Network {
        tunnels: Vec::new(),
        buses: vec![bus("500k", first), bus("125k", second)],
        hops: vec![GatewayHop {
            from: place(0, 6),
            to: place(1, 0),
            delay: 0,
            unchanged: false,
            frames: HopFrames::Same,
            passage: None,
        }],
    };
    let mut all: Vec<_> = (0..7).map(|i| (0, place(0, i), 0)).collect();
    all.push((2 * ms, place(0, 6), 2 * ms));
    // The time at which the first frame of 200 arrives.
    let arrives = World::new(&network, 1).run(&all);
    let (_, event, end) = arrives
        .into_iter()
        .find(|(at, ..)| *at == place(0, 6))
        .unwrap();
    let arrives = end - event;
    all.insert(7, (arrives, place(1, 1), arrives));
    let seen = World::new(&network, 1).run(&all);
    let (_, due, seen) = seen
        .into_iter()
        .find(|(at, ..)| *at == place(1, 1))
        .unwrap();
    let seen = seen - due;
    let (_, alone) = common::assess(&network.buses[1]);
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    assert!(seen > alone.messages[1].bound.unwrap().response, "{seen}");
    assert!(seen <= found.response(place(1, 1)).unwrap(), "{seen}");
}

#[test]
fn hops_must_lead_somewhere_and_not_around() {
    let mut network = network(9200, 2, 3, 0, 0);
    let hop = network.hops[0];
    network.hops.push(hop);
    let lengths = &mut LengthSearch::new();
    let last = network.hops.len() - 1;
    assert_eq!(
        network.assess(lengths).err(),
        Some(NetworkError::TwoWays(last))
    );
    network.hops[last] = GatewayHop {
        from: hop.to,
        to: hop.from,
        delay: 0,
        unchanged: false,
        frames: HopFrames::Same,
        passage: None,
    };
    let around = network.assess(lengths).err();
    assert!(
        matches!(around, Some(NetworkError::TwoWays(_))),
        "{around:?}"
    );
    network.hops[last].to.bus = 7;
    assert_eq!(
        network.assess(lengths).err(),
        Some(NetworkError::NoPlace(last))
    );
}

/// Two buses with routes both ways, one of which is too slow: no message that depends on it has a
/// bound.
#[test]
fn what_comes_from_a_bus_without_bounds_has_none() {
    let mut network = network(9300, 2, 3, 0, 0);
    network.buses[0].rate = "10k".parse().unwrap();
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let places = network.hops.iter().filter(|hop| hop.from.bus == 0);
    let mut lost = 0;
    for hop in places {
        if found.response(hop.from).is_err() {
            assert_eq!(found.response(hop.to), Err(NoBound::Upstream));
            lost += 1;
        }
    }
    assert!(lost > 0);
}

/// Ten messages that are released at once on one bus come to the next one frame by frame, and
/// hardly wait there.
#[test]
fn frames_of_one_bus_come_one_after_the_other() {
    let ms = 1_000_000;
    let message = |n: u32, node| {
        let data = if n.is_multiple_of(2) { 0x3C } else { 0x55 };
        let frame = Frame::classic(CanId::sff(0x100 + n).unwrap(), &[data; 8]).unwrap();
        Message {
            name: String::new(),
            node,
            shape: FrameShape::exact(&frame).unwrap(),
            arrival: Arrival::new(10 * ms, 0, 0).unwrap(),
            offset: None,
            deadline: 10 * ms,
        }
    };
    let bus = |node: &str, order, messages| analysis::BusSpec {
        name: node.to_owned(),
        rate: "500k".parse().unwrap(),
        lengths: analysis::LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![NodeSpec::new(node, order)],
        messages,
    };
    let one = SendOrder::Mailboxes(NonZeroU8::MIN);
    let messages: Vec<Message> = (0..10).map(|n| message(n, 0)).collect();
    let bound = |unchanged, delay| {
        let place = |bus| move |message| MessagePlace { bus, message };
        let hops = (0..10).map(place(0)).zip((0..10).map(place(1)));
        let network = Network {
            tunnels: Vec::new(),
            buses: vec![
                bus("node", SendOrder::Priority, messages.clone()),
                bus("gateway", one, messages.clone()),
            ],
            hops: hops
                .map(|(from, to)| GatewayHop {
                    from,
                    to,
                    delay,
                    unchanged,
                    frames: HopFrames::Same,
                    passage: None,
                })
                .collect(),
        };
        let found = network.assess(&mut LengthSearch::new()).unwrap();
        let all: Vec<_> = (0..10)
            .map(|message| (0, MessagePlace { bus: 0, message }, 0))
            .collect();
        for seed in 0..20 {
            for (place, event, end) in World::new(&network, seed).run(&all) {
                let seen = end - event;
                let response = found.response(place).unwrap();
                assert!(seen <= response, "{place:?}: {seen} of {response}");
            }
        }
        let waiting = found.buses[1].messages.iter();
        let waiting = waiting.map(|m| m.bound.unwrap().waiting).max().unwrap();
        let frames = found.compiled[1].least_occupied(0).unwrap();
        (waiting, frames)
    };
    let (waits, frame) = bound(true, 0);
    // The difference of two lengths.
    assert!(waits < frame / 4, "{waits} ns, a frame has {frame} ns");
    // As many as the gateway can have delayed.
    let (late, _) = bound(true, 600_000);
    assert!(late > 600_000 && late < 600_000 + frame, "{late}");
}
