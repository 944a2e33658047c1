//! Buses with errors that keep a least distance.

use crate::common;

use analysis::BusSpec;
use bus::{
    Bus, BusConfig, ErrorKind, ErrorState, FaultTime, FrameFault, NodeConfig, NodeEvent, NodeId,
};
use common::{Kind, Phases, Random, assess, releases, set};
use frame::Nanos;

const KINDS: [ErrorKind; 5] = [
    ErrorKind::Bit,
    ErrorKind::Stuff,
    ErrorKind::Form,
    ErrorKind::Crc,
    ErrorKind::Ack,
];

/// Replays releases on a bus whose frames are hit as often as the distance allows; returns
/// latencies by message, and the number of errors. `None` if a node did not stay error-active.
fn with_errors(
    spec: &BusSpec,
    seed: u64,
    span: Nanos,
    distance: Nanos,
) -> Option<(Vec<(usize, Nanos)>, u64)> {
    let mut random = Random(seed);
    let mut bus = Bus::new(BusConfig {
        seed,
        ..BusConfig::classic(spec.rate.nominal())
    })
    .unwrap();
    let nodes: Vec<NodeId> = spec
        .nodes
        .iter()
        .map(|node| {
            bus.attach(NodeConfig {
                mailboxes: 255,
                queue: 100_000,
                ..NodeConfig::new(node.name.as_str())
            })
            .unwrap()
        })
        .collect();
    for _ in 0..2 {
        bus.attach(NodeConfig::new("listener")).unwrap();
    }
    let all = releases(spec, Phases::Together, seed, span);
    let mut errors = 0;
    let mut next_error = random.up_to(distance);
    let (mut latencies, mut active) = (Vec::new(), true);
    let mut releases = all.iter().zip(0_u64..).peekable();
    loop {
        let release_at = releases.peek().map(|((release, _), _)| release.at);
        let next = bus.next();
        let Some(now) = [release_at, next].into_iter().flatten().min() else {
            break;
        };
        // The frame that starts next may be hit: its error is detected after its start.
        if now >= next_error {
            let kind = KINDS[random.up_to(4) as usize];
            let fault = match random.percent(50) {
                true => FrameFault::new(kind),
                // As late as possible.
                false => FrameFault::new(kind).at_bit(u16::MAX),
            };
            let on_the_wire = nodes.iter().any(|&node| bus.sending(node).is_some());
            let over = bus.stats().frames + bus.stats().errors;
            bus.inject(FaultTime::Start(over + 1 + u64::from(on_the_wire)), fault);
            next_error = Nanos::MAX;
        }
        let mut hit = None;
        bus.run_until(now, |event| match *event {
            NodeEvent::Frame { end, tag, .. } => {
                let (release, _) = &all[tag as usize];
                latencies.push((release.message, end - release.at));
            }
            NodeEvent::Error {
                at, primary: true, ..
            } => {
                errors += 1;
                hit = Some(at);
            }
            NodeEvent::State { state, .. } => active &= state <= ErrorState::Warning,
            _ => {}
        });
        if let Some(at) = hit {
            next_error = at + distance;
        }
        while let Some(((release, _), tag)) = releases.next_if(|((r, _), _)| r.at <= now) {
            let node = nodes[spec.messages[release.message].node];
            bus.send(node, now, &release.frame, tag).unwrap();
        }
    }
    active.then_some((latencies, errors))
}

#[test]
fn no_frame_is_above_its_bound_when_frames_are_hit() {
    let (mut errors, mut messages, mut frames, mut left_out) = (0, 0, 0, 0);
    let mut worst_share: f64 = 0.0;
    for seed in 8000..8020 {
        let kind = Kind {
            load: (30, 70),
            ..Kind::PRIORITY
        };
        let distance = 10_000_000;
        let spec = BusSpec {
            errors: Some(distance),
            ..set(seed, kind)
        };
        let (_, found) = assess(&spec);
        let Some((latencies, hits)) = with_errors(&spec, seed, 400_000_000, distance) else {
            left_out += 1;
            continue;
        };
        errors += hits;
        messages += spec.messages.len();
        for (message, latency) in latencies {
            let Ok(bound) = found.messages[message].bound else {
                continue;
            };
            assert!(
                latency <= bound.latency,
                "set {seed}: message {message}: {latency} {bound:?}"
            );
            worst_share = worst_share.max(latency as f64 / bound.latency as f64);
            frames += 1;
        }
    }
    assert!(
        errors > 300 && frames > 5_000,
        "{errors} errors, {frames} frames of {messages}"
    );
    assert!(left_out < 10, "{left_out} sets with error-passive nodes");
    // The bound is close; otherwise the test would detect nothing.
    assert!(worst_share > 0.9, "{worst_share}");
}

/// With a bound that ignores errors, the errors are detected.
#[test]
fn a_bound_without_errors_is_exceeded_by_them() {
    let spec = set(8000, Kind::PRIORITY);
    let (_, found) = assess(&spec);
    let (latencies, _) = with_errors(&spec, 1, 400_000_000, 10_000_000).unwrap();
    let above = |&&(message, latency): &&(usize, Nanos)| {
        latency > found.messages[message].bound.unwrap().latency
    };
    assert!(latencies.iter().filter(above).count() > 0);
}
