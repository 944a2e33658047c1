//! The longest distance between two receptions, compared with simulated buses.

use crate::common;
use crate::gateways::{World, network, own_releases};

use analysis::{
    FrameRelease, LengthSearch, MessagePlace, Network, NetworkFound, critical_instant, replay,
};
use common::{Kind, Phases, Random, set};
use frame::Nanos;
use std::collections::BTreeMap;

/// The period of a message without a list of distances.
fn period(network: &Network, place: MessagePlace) -> Option<Nanos> {
    let arrival = network.buses[place.bus].messages[place.message].arrival;
    arrival.distances().is_none().then(|| arrival.period())
}

/// The longest distance between two receptions of each place, where at most `losses` frames in a
/// row are lost at random.
fn distances(
    seen: &[(MessagePlace, Nanos, Nanos)],
    losses: u32,
    random: &mut Random,
) -> BTreeMap<(usize, usize), Nanos> {
    let mut ends: BTreeMap<(usize, usize), Vec<Nanos>> = BTreeMap::new();
    for (place, _, end) in seen {
        let of_place = ends.entry((place.bus, place.message)).or_default();
        of_place.push(*end);
    }
    let each = ends.into_iter().map(|(place, mut ends)| {
        ends.sort_unstable();
        let (mut longest, mut last, mut lost) = (0, None, 0);
        for end in ends {
            if lost < losses && random.percent(70) {
                lost += 1;
                continue;
            }
            lost = 0;
            longest = longest.max(last.map_or(0, |last| end - last));
            last = Some(end);
        }
        (place, longest)
    });
    each.collect()
}

/// Plays a network; returns for each message that was received at least twice the bound, divided by
/// the longest distance between two receptions.
fn play(network: &Network, found: &NetworkFound, seed: u64, losses: u32) -> Vec<f64> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    for (phases, run) in [(Phases::Random, 0), (Phases::Together, 1)] {
        let released = own_releases(network, phases, seed + run, 400_000_000);
        let seen = World::new(network, seed + run).run(&released);
        for ((bus, message), longest) in distances(&seen, losses, &mut random) {
            let place = MessagePlace { bus, message };
            let Some(period) = period(network, place) else {
                continue;
            };
            let bound = found.reception_distance(place, period, losses);
            let bound = bound.unwrap().longest();
            assert!(
                longest <= bound,
                "network {seed}: {place:?}: {longest} of {bound}"
            );
            if longest > 0 {
                all.push(bound as f64 / longest as f64);
            }
        }
    }
    all
}

#[test]
fn no_distance_is_above_its_bound() {
    let mut all = Vec::new();
    for seed in 0..12 {
        let mailboxes = [1, 3, 32][seed as usize % 3];
        let delay = [0, 50_000, 2_000_000][(seed / 2) as usize % 3];
        let buses = 2 + seed as usize % 2;
        let network = network(70_000 + seed, buses, mailboxes, delay, 0);
        let found = network.assess(&mut LengthSearch::new()).unwrap();
        for losses in [0, 2] {
            all.extend(play(&network, &found, 70_000 + seed, losses));
        }
    }
    assert!(all.len() > 500, "{} messages", all.len());
    // Far from the bound, the test would detect nothing.
    all.sort_by(f64::total_cmp);
    let (median, nearest) = (all[all.len() / 2], all[0]);
    assert!((1.0..1.4).contains(&median), "{median}");
    assert!((1.0..1.02).contains(&nearest), "{nearest}");
}

/// A frame that finds the bus free, and the next one in its critical instant: their distance is the
/// bound, less the nanosecond by which the blocking frame is earlier.
#[test]
fn a_distance_reaches_its_bound() {
    let mut lengths = LengthSearch::new();
    let mut reached = 0;
    for seed in 0..10 {
        let spec = set(80_000 + seed, Kind::PRIORITY);
        let network = Network {
            buses: vec![spec],
            hops: Vec::new(),
            tunnels: Vec::new(),
        };
        let found = network.assess(&mut lengths).unwrap();
        let (spec, compiled) = (&network.buses[0], &found.compiled[0]);
        for (index, message) in spec.messages.iter().enumerate() {
            let place = MessagePlace {
                bus: 0,
                message: index,
            };
            let Ok(bound) = found.buses[0].messages[index].bound else {
                continue;
            };
            let Some(period) = period(&network, place) else {
                continue;
            };
            if bound.instance > 0 || bound.latency_instance > 0 {
                continue;
            }
            let start = 10_000_000_000;
            let assessment = &found.buses[0];
            let mut releases =
                critical_instant(compiled, spec, assessment, &mut lengths, index, start).unwrap();
            let own = releases.iter().find(|release| release.message == index);
            let own = *own.unwrap();
            // Its event is earlier than its release by the jitter; the one before by a period more.
            let before = FrameRelease {
                at: own.at - message.arrival.jitter() - period,
                ..own
            };
            releases.insert(0, before);
            let outcomes = replay(spec, &releases).unwrap();
            let ends = outcomes.iter().filter(|outcome| outcome.message == index);
            let ends: Vec<Nanos> = ends.map(|outcome| outcome.end).take(2).collect();
            let longest = found.reception_distance(place, period, 0);
            let longest = longest.unwrap().longest();
            let distance = ends[1] - ends[0];
            assert!(
                distance <= longest,
                "set {seed}, {index}: {distance} of {longest}"
            );
            // The bound is exact, because `joins` is 0.
            assert!(
                distance + 2 >= longest,
                "set {seed}, {index}: {distance} of {longest}"
            );
            reached += 1;
        }
    }
    assert!(reached > 100, "{reached}");
}
