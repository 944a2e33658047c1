//! Frames that a gateway splits into parts, and joins again.

use crate::common::Phases;
use crate::common::Random;
use crate::gateways::{World, hold, network, own_releases};
use analysis::{
    Arrival, BusSpec, FrameShape, GatewayHop, HopFrames, LengthRule, LengthSearch, Message,
    MessagePlace, Network, NodeSpec, SendOrder, search,
};
use frame::{CanId, Frame, Header, Kind, Nanos};
use std::num::NonZeroU8;

/// Three buses, and gateways that pass some messages on in parts, or join the parts.
fn split_network(seed: u64, mailboxes: u8) -> Network {
    let mut network = network(seed, 3, mailboxes, 50_000, 20);
    let mut random = Random(seed);
    for hop in &mut network.hops {
        if random.percent(25) {
            let parts = random.between(2, 4) as u8;
            hop.frames = HopFrames::Split(NonZeroU8::new(parts).unwrap());
        }
    }
    let split: Vec<(MessagePlace, HopFrames)> = network
        .hops
        .iter()
        .map(|hop| (hop.to, hop.frames))
        .collect();
    for hop in &mut network.hops {
        let before = split.iter().find(|(to, _)| *to == hop.from);
        if let Some((_, HopFrames::Split(parts))) = before {
            hop.frames = HopFrames::Joined(*parts);
        }
    }
    network
}

fn is_bounded(network: &Network) -> bool {
    let found = network.assess(&mut LengthSearch::new()).unwrap();
    let mut messages = found.buses.iter().flat_map(|bus| &bus.messages);
    found.circle.is_empty() && messages.all(|message| message.bound.is_ok())
}

#[test]
fn no_part_and_no_joined_frame_is_above_its_bound() {
    let (mut all, mut joined, mut above) = (Vec::new(), 0, 0);
    for seed in 50_000..50_016 {
        let network = split_network(seed, [1, 3, 32][seed as usize % 3]);
        if !is_bounded(&network) {
            continue;
        }
        let (ratios, _) = hold(&network, seed, 30);
        all.extend(ratios);
        let joins = |hop: &&GatewayHop| matches!(hop.frames, HopFrames::Joined(_));
        joined += network.hops.iter().filter(joins).count();
        above += above_without_later_parts(&network, seed);
    }
    assert!(
        all.len() > 40 && joined > 3,
        "{} routes, {joined}",
        all.len()
    );
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    assert!((1.0..1.8).contains(&median), "{median}");
    // An analysis that forgets the later parts is found.
    assert!(above > 20, "{above} frames");
}

/// Returns the number of frames above the bounds of an analysis that counts one part of each frame.
fn above_without_later_parts(network: &Network, seed: u64) -> usize {
    let mut one_part = network.clone();
    for hop in &mut one_part.hops {
        hop.frames = HopFrames::Same;
    }
    let found = one_part.assess(&mut LengthSearch::new()).unwrap();
    let releases = own_releases(network, Phases::Together, seed, 300_000_000);
    let seen = World::new(network, seed).run(&releases).into_iter();
    let above = seen.filter(|(place, event, end)| {
        let bound = found.response(*place);
        bound.is_ok_and(|bound| end - event > bound)
    });
    above.count()
}

fn message(id: u32, node: usize, period: Nanos, shape: Option<FrameShape>) -> Message {
    let frame = Frame::classic(CanId::sff(id).unwrap(), &[0xA5; 8]).unwrap();
    Message {
        name: String::new(),
        node,
        shape: shape.unwrap_or_else(|| FrameShape::exact(&frame).unwrap()),
        arrival: Arrival::new(period, 0, 0).unwrap(),
        offset: None,
        deadline: period,
    }
}

fn bus(name: &str, messages: Vec<Message>) -> BusSpec {
    BusSpec {
        name: name.to_owned(),
        rate: "500k".parse().unwrap(),
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: ["node", "gateway"]
            .map(|name| NodeSpec::new(name, SendOrder::Priority))
            .to_vec(),
        messages,
    }
}

/// The figures are worked out by hand: on the second bus, the last of three parts waits for a frame
/// of lower priority, one of higher priority, and the two parts before it.
#[test]
fn the_bound_of_a_message_in_parts_is_that_of_its_last_part() {
    let ms = 1_000_000;
    let place = |bus, message| MessagePlace { bus, message };
    let parts = NonZeroU8::new(3).unwrap();
    let hop = |from, to, frames| GatewayHop {
        from,
        to,
        delay: 20_000,
        unchanged: false,
        frames,
        passage: None,
    };
    let network = Network {
        buses: vec![
            bus("first", vec![message(0x300, 0, 20 * ms, None)]),
            bus(
                "second",
                vec![
                    message(0x700, 1, 20 * ms, None),
                    message(0x100, 0, 10 * ms, None),
                    message(0x7FF, 0, 10 * ms, None),
                ],
            ),
            bus("third", vec![message(0x300, 1, 20 * ms, None)]),
        ],
        hops: vec![
            hop(place(0, 0), place(1, 0), HopFrames::Split(parts)),
            hop(place(1, 0), place(2, 0), HopFrames::Joined(parts)),
        ],
        tunnels: Vec::new(),
    };
    let mut lengths = LengthSearch::new();
    let found = network.assess(&mut lengths).unwrap();
    let frame = |place: MessagePlace| found.earliest_end(place).unwrap();
    // All payloads are known, so that each shortest frame is the longest one.
    let (first, intermission) = (frame(place(0, 0)), 6_000);
    let own = frame(place(1, 0)) - first;
    let blocks = frame(place(1, 2)) + intermission + frame(place(1, 1)) + intermission;
    let last = first + 20_000 + blocks + 2 * (own + intermission) + own;
    assert_eq!(found.response(place(1, 0)), Ok(last));
    // Not before three parts on the bus, and not after the last one.
    assert_eq!(found.base[2][0], first + 3 * own);
    assert_eq!(found.response(place(2, 0)), Ok(last + 20_000 + first));
    for goal in [place(1, 0), place(2, 0)] {
        let worst = search(&network, &found, &mut lengths, goal, 200, 1).unwrap();
        let bound = found.response(goal).unwrap();
        assert!(
            worst.response + 1 >= bound && worst.response <= bound,
            "{worst:?}"
        );
    }
}

/// The last part of a frame can have fewer bytes than the others: then two of them follow each
/// other more closely, and a receiver has a frame earlier.
#[test]
fn a_shape_has_its_shortest_frames() {
    let header = Header::new(Kind::Classic, CanId::sff(0x700).unwrap(), 8).unwrap();
    let shape = FrameShape::any(header).unwrap();
    let of = |shape: FrameShape| {
        let network = Network {
            buses: vec![bus("only", vec![message(0, 0, 1_000_000, Some(shape))])],
            ..Network::default()
        };
        let found = network.assess(&mut LengthSearch::new()).unwrap();
        let place = MessagePlace { bus: 0, message: 0 };
        let most = found.response(place).unwrap();
        (found.earliest_end(place).unwrap(), most)
    };
    let (eight, most) = of(shape);
    // Six bytes less, without stuff bits; the longest frame is the same.
    assert_eq!(of(shape.or_shorter(2)), (eight - 6 * 8 * 2_000, most));
    assert_eq!(shape.or_shorter(2).least_len(), 2);
    assert_eq!(shape.shortest(), None);
}
