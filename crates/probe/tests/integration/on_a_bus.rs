//! The intended behaviour of traffic on the embedded bus.

use bus::{Bus, BusConfig, NodeConfig, NodeEvent, NodeId};
use cangate_probe::BusLoad;
use cangate_probe::traffic::{
    FloodTraffic, FrameTemplate, OneAtATime, PeriodicTraffic, SetSchedule, TrafficSource,
    period_for_load, sae_class_c,
};
use frame::{CanId, Nanos};
use std::collections::HashMap;

const RATE: u32 = 500_000;

/// A bus with these senders and one listener.
fn bus_with(nodes: &[&str]) -> (Bus, Vec<NodeId>) {
    let mut bus = Bus::new(BusConfig::classic(RATE)).unwrap();
    let mut attach = |name: &str| {
        let node = NodeConfig {
            queue: 64,
            ..NodeConfig::new(name)
        };
        bus.attach(node).unwrap()
    };
    let ids = nodes.iter().map(|name| attach(name)).collect();
    attach("listener");
    (bus, ids)
}

/// (tag, ready, start, end) of every frame.
fn run(traffic: &mut impl TrafficSource, nodes: &[&str]) -> (Vec<(u64, Nanos, Nanos, Nanos)>, Bus) {
    let (mut bus, ids) = bus_with(nodes);
    let mut sent = Vec::new();
    loop {
        let mut seen = Vec::new();
        let mut observe = |event: &NodeEvent<'_>| {
            if let NodeEvent::Frame {
                tag,
                ready,
                start,
                end,
                ..
            } = event
            {
                seen.push((*tag, *ready, *start, *end));
            }
        };
        match traffic.next() {
            Some(release) => {
                let node = ids[usize::from(release.node)];
                bus.run_until(release.at.max(bus.now()), &mut observe);
                while bus.free(node) == 0 {
                    let next = bus.next().unwrap();
                    bus.run_until(next + 1, &mut observe);
                }
                let at = release.at.max(bus.now());
                bus.send(node, at, &release.frame, release.tag).unwrap();
            }
            None => match bus.next() {
                Some(next) => bus.run_until(next + 1, &mut observe),
                None if seen.is_empty() => return (sent, bus),
                None => {}
            },
        }
        for frame in seen {
            traffic.delivered(frame.0, frame.3);
            sent.push(frame);
        }
    }
}

/// At 500 kbit/s no deadline is missed, and about a fifth of the bus is used.
#[test]
fn sae_class_c_keeps_its_deadlines_at_500_kbit() {
    let set = sae_class_c();
    let end = 4_000_000_000;
    let mut releases = HashMap::new();
    let mut copy = SetSchedule::new(&set, 11, end).unwrap();
    while let Some(release) = copy.next() {
        releases.insert(release.tag, release);
    }
    let mut traffic = SetSchedule::new(&set, 11, end).unwrap();
    let (sent, _) = run(&mut traffic, set.nodes);
    assert_eq!(sent.len(), releases.len(), "every release is sent, once");
    let mut load = BusLoad::new(end);
    for &(tag, ready, start, end) in &sent {
        let release = &releases[&tag];
        assert_eq!(ready, release.at);
        let message = set
            .messages
            .iter()
            .find(|m| m.id == release.frame.id())
            .unwrap();
        assert!(
            end - ready <= message.deadline,
            "{}: {} ns",
            message.name,
            end - ready
        );
        load.add(start, end);
    }
    let share = load.total() as f64 / end as f64;
    assert!((0.15..0.25).contains(&share), "{share}");
}

fn template() -> FrameTemplate {
    FrameTemplate::classic(CanId::from_raw(0x123), 8, 5).unwrap()
}

fn load_of(sent: &[(u64, Nanos, Nanos, Nanos)]) -> f64 {
    let busy: Nanos = sent.iter().map(|f| f.3 - f.2).sum();
    busy as f64 / (sent[sent.len() - 1].3 - sent[0].2) as f64
}

#[test]
fn half_load_is_half_and_flood_leaves_intermissions_only() {
    let (sent, _) = run(&mut FloodTraffic::new(template(), 0, 500), &["tester"]);
    assert_eq!(sent.len(), 500);
    for pair in sent.windows(2) {
        // Three bits of intermission at 500 kbit/s.
        assert_eq!(pair[1].2 - pair[0].3, 6_000);
    }
    let mean = sent.iter().map(|f| f.3 - f.2).sum::<Nanos>() / 500;
    let mut half = PeriodicTraffic::new(template(), 0, period_for_load(mean, 50), 500);
    let (sent, _) = run(&mut half, &["tester"]);
    assert_eq!(sent.len(), 500);
    assert!((0.49..0.51).contains(&load_of(&sent)), "{}", load_of(&sent));
}

#[test]
fn one_at_a_time_never_has_two_under_way() {
    let mut traffic = OneAtATime::new(template(), 0, 1_000_000_000, 200);
    let (sent, _) = run(&mut traffic, &["tester"]);
    assert_eq!(sent.len(), 200);
    for pair in sent.windows(2) {
        assert!(
            pair[1].1 >= pair[0].3,
            "ready only after the one before has ended"
        );
    }
}
