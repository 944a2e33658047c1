//! Two gateways with a network between them.

use super::gateways::{World, forward, own_releases};
use crate::common::{Kind, Phases, Random, for_each, set, tunnelled};

use analysis::tunnel::{
    DelayOrigin, LinkSpec, PlayOutSpec, StatedDelay, TokenBucket, TunnelFlow, TunnelPassage,
    TunnelPort, TunnelSpec,
};
use analysis::{
    Arrival, BusSpec, FrameShape, GatewayHop, HopFrames, LengthRule, LengthSearch, Message,
    MessagePlace, Network, NetworkError, NetworkFound, NoBound, NodeSpec, SendOrder,
};
use frame::{CanId, Frame, Nanos, wire};
use std::num::NonZeroU8;
use tunnelled::{SentFrame, TunnelRun};

/// The bytes of Ethernet, IPv4, UDP and the header of IEEE 1722 in each datagram.
const HEADER: u64 = 66 + 16;

/// The longest datagram.
const LONGEST: u64 = 1_436 + HEADER;

pub(super) fn link(random: &mut Random) -> LinkSpec {
    let rate = [3, 5, 10, 100][random.up_to(3) as usize] * 1_000_000;
    let bucket = |random: &mut Random, part: u64, least: u64| TokenBucket {
        rate: rate / 100 * random.between(part / 2, part),
        burst: random.between(least, least + 6_000),
    };
    let mut link = LinkSpec {
        rate,
        switches: random.up_to(2) as u32,
        switch_latency: random.up_to(20_000),
        others: None,
        bucket: None,
        urgent_behind: None,
    };
    if random.percent(40) {
        link.others = Some(bucket(random, 30, 100));
    }
    if random.percent(30) {
        link.bucket = Some(bucket(random, 80, LONGEST));
    }
    if random.percent(40) {
        link.urgent_behind = Some(random.between(LONGEST, 4 * LONGEST));
    }
    link
}

fn port(random: &mut Random) -> TunnelPort {
    TunnelPort {
        name: String::new(),
        window: [0, 200_000, 500_000, 2_000_000][random.up_to(3) as usize],
        timer: random.up_to(30_000),
        header: HEADER,
        room: [100, 1_436][random.up_to(1) as usize],
        reports: None,
        play_out: random.percent(60).then(|| PlayOutSpec {
            delay: random.up_to(20_000_000),
            common_clock: random.percent(50),
            clock_error: random.up_to(100_000),
        }),
    }
}

/// Returns a random bus with a node for the gateway.
pub(super) fn with_gateway(seed: u64, kind: Kind) -> BusSpec {
    let mut spec = set(seed, kind);
    let order = SendOrder::Mailboxes(NonZeroU8::new(32).unwrap());
    spec.nodes.push(NodeSpec::new("gateway", order));
    spec
}

/// One or two buses, of which some messages come to a last one by a tunnel.
pub(super) fn network(seed: u64) -> Network {
    let mut random = Random(seed);
    let buses = 1 + random.up_to(1) as usize;
    let kind = Kind {
        messages: (6, 14),
        load: (20, 60),
        jitter: 50,
        curves: 30,
        ..Kind::PRIORITY
    };
    let mut network = Network::default();
    for bus in 0..=buses {
        let load = if bus == buses { (5, 15) } else { kind.load };
        let spec = with_gateway(seed * 100 + bus as u64, Kind { load, ..kind });
        network.buses.push(spec);
    }
    let mut tunnel = TunnelSpec {
        name: String::new(),
        link: Some(link(&mut random)),
        stated: random.percent(30).then(|| StatedDelay {
            least: random.up_to(500_000),
            most: random.between(500_000, 4_000_000),
            origin: DelayOrigin::Measured,
        }),
        ports: (0..buses).map(|_| port(&mut random)).collect(),
        flows: Vec::new(),
    };
    let (before, after) = (random.up_to(50_000), random.up_to(50_000));
    for bus in 0..buses {
        for message in 0..network.buses[bus].messages.len() {
            if !random.percent(40) {
                continue;
            }
            let from = MessagePlace { bus, message };
            forward(&mut network, from, buses, after, &mut random);
            let shape = network.buses[bus].messages[message].shape;
            network.hops.last_mut().unwrap().passage = Some(TunnelPassage {
                tunnel: 0,
                flow: tunnel.flows.len(),
            });
            tunnel.flows.push(TunnelFlow {
                from,
                port: bus,
                before,
                bytes: random.between(10, 80),
                urgent: random.percent(30),
                key: wire::arbitration_key(shape.header()),
            });
        }
    }
    network.tunnels.push(tunnel);
    network
}

/// Plays random traffic; `looks` gets each frame's flow, its time to the far gateway's port and the
/// time until it is handed on, both from its end on the bus before.
fn play(
    network: &Network,
    phases: Phases,
    seed: u64,
    mut looks: impl FnMut(usize, Nanos, Nanos),
) -> Vec<(MessagePlace, Nanos, Nanos)> {
    let tunnel = &network.tunnels[0];
    let far = network.buses.len() - 1;
    let all = own_releases(network, phases, seed, 200_000_000);
    let (far_own, near): (Vec<_>, Vec<_>) = all.iter().partition(|(_, place, _)| place.bus == far);
    let alone = Network {
        hops: Vec::new(),
        ..network.clone()
    };
    let mut random = Random(seed);
    let mut sent: Vec<(SentFrame, Nanos)> = Vec::new();
    for (place, event, end) in World::new(&alone, seed).run(&near) {
        for (flow, spec) in tunnel.flows.iter().enumerate() {
            if spec.from == place {
                let at = end + random.up_to(spec.before);
                sent.push((SentFrame { flow, end, at }, event));
            }
        }
    }
    // The gateway keeps the order of a message.
    sent.sort_by_key(|(frame, _)| frame.end);
    let mut last = vec![0; tunnel.flows.len()];
    for (frame, _) in &mut sent {
        frame.at = frame.at.max(last[frame.flow]);
        last[frame.flow] = frame.at;
    }
    sent.sort_by_key(|(frame, _)| frame.at);
    let frames: Vec<SentFrame> = sent.iter().map(|(frame, _)| *frame).collect();
    let mut run = TunnelRun::new(tunnel, &frames, seed);
    run.run();
    let handed = run.handed_on();
    let mut far_all = far_own;
    for ((number, (frame, event)), handed) in sent.iter().enumerate().zip(handed) {
        let arrived = run.arrived[number].unwrap();
        looks(frame.flow, arrived - frame.end, handed - frame.end);
        let is_hop = |hop: &&analysis::GatewayHop| hop.passage.unwrap().flow == frame.flow;
        let hop = network.hops.iter().find(is_hop).unwrap();
        far_all.push((handed + random.up_to(hop.delay), hop.to, *event));
    }
    far_all.sort_by_key(|(at, ..)| *at);
    World::new(&alone, seed).run(&far_all)
}

/// Compares everything with its bound; returns the ratios of the bounds of the tunnel's flows to
/// what was seen, and the number of frames.
fn hold(network: &Network, found: &NetworkFound, seed: u64) -> (Vec<f64>, usize) {
    let delays = &found.tunnels[0].as_ref().unwrap().flows;
    let mut worst = vec![0; delays.len()];
    let mut frames = 0;
    for (run, phases) in [Phases::Random, Phases::Together].into_iter().enumerate() {
        let seen = play(
            network,
            phases,
            seed + run as u64,
            |flow, arrived, handed| {
                let delay = delays[flow];
                assert!(
                    arrived <= delay.arrival() && handed <= delay.most() && handed >= delay.least,
                    "network {seed}, flow {flow}: {arrived} {handed} of {delay:?}"
                );
                let due = handed > arrived || delay.can_be_late || delay.play_out == 0;
                assert!(due || arrived == delay.arrival(), "network {seed}: late");
                worst[flow] = arrived.max(worst[flow]);
            },
        );
        for (place, event, end) in seen {
            let bound = found.response(place).unwrap();
            assert!(end - event <= bound, "network {seed}: {place:?}");
            frames += 1;
        }
    }
    let ratios = delays.iter().zip(worst).filter(|(_, worst)| *worst > 0);
    let ratios = ratios.map(|(delay, worst)| delay.arrival() as f64 / worst as f64);
    (ratios.collect(), frames)
}

fn hold_all(seeds: std::ops::Range<u64>) -> (Vec<f64>, usize, usize) {
    let each = for_each(seeds, |seed| {
        let network = network(seed);
        let found = network.assess(&mut LengthSearch::new()).unwrap();
        match &found.tunnels[0] {
            Ok(_) if found.hop_bounds(&network) => Some(hold(&network, &found, seed)),
            _ => None,
        }
    });
    let (mut ratios, mut frames, mut left) = (Vec::new(), 0, 0);
    for one in each {
        match one {
            None => left += 1,
            Some((more, n)) => {
                ratios.extend(more);
                frames += n;
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    (ratios, frames, left)
}

trait HopBounds {
    fn hop_bounds(&self, network: &Network) -> bool;
}

impl HopBounds for NetworkFound {
    /// Returns whether every message of the last bus has a bound.
    fn hop_bounds(&self, network: &Network) -> bool {
        let bus = network.buses.len() - 1;
        let messages = 0..network.buses[bus].messages.len();
        let mut places = messages.map(|message| MessagePlace { bus, message });
        places.all(|place| self.response(place).is_ok())
    }
}

#[test]
fn no_frame_in_a_tunnel_is_above_its_bound() {
    let (ratios, frames, left) = hold_all(0..60);
    assert!(left < 30, "{left} networks have no bound");
    assert!(
        ratios.len() > 80 && frames > 10_000,
        "{} {frames}",
        ratios.len()
    );
    let median = ratios[ratios.len() / 2];
    // Far from the bound, the test would detect nothing.
    assert!((1.0..4.0).contains(&median), "{median}");
}

/// Sets in such numbers that they take half a minute or more.
mod long {
    use super::*;

    /// The figures of docs/bound.md.
    #[test]
    #[ignore = "heavy"]
    fn many_tunnels_hold() {
        let (ratios, frames, left) = hold_all(1_000..2_000);
        let at = |part: usize| ratios[ratios.len() * part / 100];
        println!(
            "{} networks, {frames} frames, {} flows: bound / worst seen {:.2} median, {:.2} p90",
            1_000 - left,
            ratios.len(),
            at(50),
            at(90)
        );
    }
}

/// A network of buses with one message each, which ends on each bus at the same time after its
/// event, and of one tunnel.
fn constructed(messages: u32, urgent: bool, link: LinkSpec, port: TunnelPort) -> Network {
    let mut network = Network::default();
    let mut tunnel = TunnelSpec {
        name: String::new(),
        link: Some(link),
        stated: None,
        ports: vec![port],
        flows: Vec::new(),
    };
    for number in 0..messages {
        let id = CanId::sff(0x100 + number).unwrap();
        let frame = Frame::classic(id, &[0xAA; 8]).unwrap();
        network.buses.push(BusSpec {
            name: String::new(),
            rate: "500k".parse().unwrap(),
            lengths: LengthRule::Greatest,
            errors: None,
            random_errors: None,
            joins: 0,
            nodes: vec![NodeSpec::new("node", SendOrder::Priority)],
            messages: vec![Message {
                name: String::new(),
                node: 0,
                shape: FrameShape::exact(&frame).unwrap(),
                arrival: Arrival::new(100_000_000, 0, 0).unwrap(),
                offset: None,
                deadline: 100_000_000,
            }],
        });
        tunnel.flows.push(TunnelFlow {
            from: MessagePlace {
                bus: number as usize,
                message: 0,
            },
            port: 0,
            before: 0,
            bytes: 24,
            urgent,
            key: u64::from(number),
        });
    }
    network.tunnels.push(tunnel);
    network
}

const PLAIN: LinkSpec = LinkSpec {
    rate: 10_000_000,
    switches: 0,
    switch_latency: 0,
    others: None,
    bucket: None,
    urgent_behind: None,
};

pub(super) fn plain_port() -> TunnelPort {
    TunnelPort {
        name: String::new(),
        window: 0,
        timer: 0,
        header: HEADER,
        room: 1_436,
        reports: None,
        play_out: None,
    }
}

/// Returns the bound of the last flow, and the longest time of these frames in 200 runs.
fn bound_and_worst(network: &Network, times: &[Nanos]) -> (Nanos, Nanos) {
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let delays = &found.tunnels[0].as_ref().unwrap().flows;
    let bound = delays.iter().map(analysis::tunnel::FlowDelay::most).max();
    // After the traffic of others has saved up.
    let start = 1_000_000_000;
    let frames: Vec<SentFrame> = times
        .iter()
        .enumerate()
        .map(|(flow, at)| SentFrame {
            flow,
            end: start + at,
            at: start + at,
        })
        .collect();
    let worst = (0..200).map(|seed| {
        let mut run = TunnelRun::new(&network.tunnels[0], &frames, seed);
        run.run();
        let handed = run.handed_on();
        let each = handed.iter().zip(&frames);
        each.map(|(at, frame)| at - frame.end).max().unwrap()
    });
    (bound.unwrap(), worst.max().unwrap())
}

/// Compares a bound with the one by hand: each datagram is rounded up to a nanosecond.
fn assert_bound(bound: Nanos, by_hand: Nanos) {
    assert!(
        bound >= by_hand && bound <= by_hand + 15,
        "{bound} for {by_hand}"
    );
}

/// Frames that come to a tunnel at one time reach their bound, which is known by hand.
#[test]
fn a_burst_reaches_its_bound() {
    // 24 + 82 bytes at 10 Mbit/s are 84.8 us.
    let network = constructed(4, true, PLAIN, plain_port());
    let (bound, worst) = bound_and_worst(&network, &[0; 4]);
    assert_bound(bound, 339_200);
    assert_eq!(worst, 339_200);
    // Two switches: the last datagram crosses two further links, and each switch takes 10 us.
    let link = LinkSpec {
        switches: 2,
        switch_latency: 10_000,
        ..PLAIN
    };
    let network = constructed(4, true, link, plain_port());
    let (bound, worst) = bound_and_worst(&network, &[0; 4]);
    assert_bound(bound, 339_200 + 2 * (84_800 + 10_000));
    assert!(worst > bound - 5_000, "{worst} of {bound}");
    // A shaper of 1 Mbit/s that passes more than the 424 bytes at once.
    let bucket = TokenBucket {
        rate: 1_000_000,
        burst: 1_518,
    };
    let link = LinkSpec {
        bucket: Some(bucket),
        ..PLAIN
    };
    let network = constructed(4, true, link, plain_port());
    let (bound, worst) = bound_and_worst(&network, &[0; 4]);
    assert_bound(bound, 339_200);
    assert_eq!(worst, 339_200);
}

/// Two buses with a load of 96 % send half of their messages to one another, with higher priorities
/// there: a longer response makes another one longer by more. The search ends early.
#[test]
fn jitter_that_grows_around_a_circle_is_noticed() {
    let mut network = constructed(3, false, PLAIN, plain_port());
    for (bus, spec) in network.buses.iter_mut().take(2).enumerate() {
        let own = spec.messages.remove(0);
        for number in 0..8 {
            let id = CanId::sff(number + 8 * bus as u32).unwrap();
            let frame = Frame::classic(id, &[0x55; 8]).unwrap();
            let mut message = own.clone();
            message.shape = FrameShape::exact(&frame).unwrap();
            message.arrival = Arrival::new(1_875_000, 0, 0).unwrap();
            spec.messages.push(message);
        }
    }
    for (bus, message) in [0, 1]
        .into_iter()
        .flat_map(|bus| (0..4).map(move |m| (bus, m)))
    {
        let from = MessagePlace {
            bus,
            message: 4 + message,
        };
        let to = MessagePlace {
            bus: 1 - bus,
            message,
        };
        network.hops.push(GatewayHop {
            from,
            to,
            delay: 0,
            unchanged: true,
            frames: HopFrames::Same,
            passage: None,
        });
    }
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    assert_eq!(found.circle, [0, 1]);
    let first = |bus| MessagePlace { bus, message: 0 };
    assert_eq!(found.response(first(0)), Err(NoBound::Circle));
    assert!(found.response(first(2)).is_ok());
    let backlogs = found.buses.iter().map(|bus| bus.nodes[0].backlog);
    assert_eq!(backlogs.collect::<Vec<_>>(), [None, None, Some(1)]);
    assert!(matches!(found.tunnels[0], Err(NoBound::Upstream)));
}

/// A message whose bound is withdrawn takes that of its tunnel: the others wait for its frames.
#[test]
fn a_tunnel_has_no_bound_behind_a_message_without_one() {
    let mut network = constructed(2, false, PLAIN, plain_port());
    let bounded = network.assess(&mut LengthSearch::new()).unwrap();
    assert!(bounded.tunnels[0].is_ok());
    // The first bus has no time for its second message, which comes to the second bus before all
    // others.
    for (bus, id, period) in [
        (0, 0x300, 2_000_000),
        (1, 1, 2_000_000),
        (0, 0x200, 250_000),
    ] {
        let frame = Frame::classic(CanId::sff(id).unwrap(), &[0xAA; 8]).unwrap();
        let mut message = network.buses[bus].messages[0].clone();
        message.shape = FrameShape::exact(&frame).unwrap();
        message.arrival = Arrival::new(period, 0, 0).unwrap();
        network.buses[bus].messages.push(message);
    }
    network.hops.push(GatewayHop {
        from: MessagePlace { bus: 0, message: 1 },
        to: MessagePlace { bus: 1, message: 1 },
        delay: 0,
        unchanged: false,
        frames: HopFrames::Same,
        passage: None,
    });
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let first = |bus| MessagePlace { bus, message: 0 };
    assert!(found.response(first(0)).is_ok());
    assert_eq!(found.response(first(1)), Err(NoBound::Upstream));
    assert_eq!(found.buses[1].nodes[0].backlog, None);
    assert!(matches!(found.tunnels[0], Err(NoBound::Upstream)));
}

/// Frames with a window share a datagram; the first one waits longest.
#[test]
fn a_window_and_a_datagram_reach_their_bound() {
    let port = TunnelPort {
        window: 500_000,
        timer: 20_000,
        ..plain_port()
    };
    let network = constructed(4, false, PLAIN, port);
    let (bound, worst) = bound_and_worst(&network, &[0, 100_000, 400_000, 500_000]);
    // 4 * 24 + 82 bytes are 142.4 us.
    assert_bound(bound, 520_000 + 142_400);
    assert!(worst > bound - 500, "{worst} of {bound}");
}

/// Traffic of others that comes at the worst time.
#[test]
fn the_traffic_of_others_reaches_its_bound() {
    let link = LinkSpec {
        others: Some(TokenBucket {
            rate: 1_000_000,
            burst: 6_000,
        }),
        ..PLAIN
    };
    let network = constructed(4, true, link, plain_port());
    let (bound, worst) = bound_and_worst(&network, &[0; 4]);
    assert_bound(bound, (6_000 + 4 * 106) * 8_000 / 9);
    assert!(worst * 100 > bound * 97, "{worst} of {bound}");
}

/// With a common clock, the play-out takes the network's jitter away.
#[test]
fn a_play_out_by_a_common_clock_leaves_the_clocks_error() {
    let port = TunnelPort {
        play_out: Some(PlayOutSpec {
            delay: 5_000_000,
            common_clock: true,
            clock_error: 10_000,
        }),
        ..plain_port()
    };
    let network = constructed(12, false, PLAIN, port);
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    for delay in &found.tunnels[0].as_ref().unwrap().flows {
        assert_eq!((delay.least, delay.most()), (4_990_000, 5_010_000));
        assert!(!delay.can_be_late);
    }
    let (bound, worst) = bound_and_worst(&network, &[0; 12]);
    assert!(worst > bound - 200, "{worst} of {bound}");
}

/// A frame passes others in the gateway while the socket has no room, and in queues that serve
/// urgent datagrams first.
#[test]
fn an_urgent_frame_waits_for_one_datagram_where_queues_serve_it_first() {
    let link = LinkSpec {
        urgent_behind: Some(LONGEST),
        ..PLAIN
    };
    let mut network = constructed(40, false, link, plain_port());
    network.tunnels[0].flows[39].urgent = true;
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let delays = &found.tunnels[0].as_ref().unwrap().flows;
    // The longest datagram of others, and its own of 106 bytes. As more datagrams wait than the
    // socket has room for, other urgent ones could share its datagram.
    assert_bound(delays[39].queues, (2 * LONGEST + 106) * 800);
    assert!(delays[38].queues > 40 * 106 * 800);
    let waiting = found.tunnels[0].as_ref().unwrap().waiting.clone();
    assert_eq!(waiting, [Some(40)]);
}

#[test]
fn a_tunnel_without_enough_rate_has_no_bound() {
    let link = LinkSpec {
        rate: 20_000,
        ..PLAIN
    };
    let network = constructed(4, true, link, plain_port());
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let Err(NoBound::Overload(load)) = found.tunnels[0] else {
        panic!("{:?}", found.tunnels[0]);
    };
    assert!((load - 4.0 * 106.0 * 8.0 / 2_000.0).abs() < 1e-6, "{load}");
    // A shaper that holds no datagram.
    let bucket = TokenBucket {
        rate: 1_000_000,
        burst: 100,
    };
    let link = LinkSpec {
        bucket: Some(bucket),
        ..PLAIN
    };
    let network = constructed(1, true, link, plain_port());
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    assert!(found.tunnels[0].is_err());
}

#[test]
fn flows_that_do_not_fit_are_refused() {
    let mut network = constructed(2, true, PLAIN, plain_port());
    network.tunnels[0].flows[1].port = 1;
    let refused = network.assess(&mut LengthSearch::new()).err();
    assert_eq!(refused, Some(NetworkError::Flow(0)));
}

/// Analyses that leave out a part are found.
#[test]
fn wrong_bounds_of_tunnels_are_exceeded() {
    type Flaw = fn(&mut TunnelSpec);
    let flaws: [(&str, Flaw); 8] = [
        ("no window", |tunnel| {
            tunnel.ports.iter_mut().for_each(|port| port.window = 0);
        }),
        ("no switches", |tunnel| {
            tunnel.link.iter_mut().for_each(|link| link.switches = 0);
        }),
        ("no other traffic", |tunnel| {
            tunnel.link.iter_mut().for_each(|link| link.others = None);
        }),
        ("no shaper", |tunnel| {
            tunnel.link.iter_mut().for_each(|link| link.bucket = None);
        }),
        ("no headers", |tunnel| {
            tunnel.ports.iter_mut().for_each(|port| port.header = 0);
        }),
        ("no play-out", |tunnel| {
            tunnel
                .ports
                .iter_mut()
                .for_each(|port| port.play_out = None);
        }),
        ("no time of the gateway", |tunnel| {
            tunnel.flows.iter_mut().for_each(|flow| flow.before = 0);
        }),
        ("clocks that are exact", |tunnel| {
            let rules = tunnel.ports.iter_mut().filter_map(|p| p.play_out.as_mut());
            rules.for_each(|rules| rules.clock_error = 0);
        }),
    ];
    for (name, flaw) in flaws {
        let is_found = (0..60).any(|seed| {
            let network = network(seed);
            let mut wrong = network.clone();
            flaw(&mut wrong.tunnels[0]);
            let found = wrong.assess(&mut LengthSearch::new()).unwrap();
            let Ok(tunnel) = &found.tunnels[0] else {
                return false;
            };
            let mut exceeded = false;
            play(&network, Phases::Together, seed, |flow, _, handed| {
                let delay = tunnel.flows[flow];
                exceeded |= handed > delay.most() || handed < delay.least;
            });
            exceeded
        });
        assert!(is_found, "{name}");
    }
}
