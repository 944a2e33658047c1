//! Errors at random: no message is late more often than the bound on the probability allows.

use crate::common;

use analysis::{BusSpec, CompiledBus, LengthSearch, SendOrder};
use bus::{Bus, BusConfig, BusFaults, ErrorState, NodeConfig, NodeEvent, NodeId};
use common::{Kind, Phases, assess, releases, set};
use frame::Nanos;

/// For each message, the number of frames that were sent, and the number of them that were late; a
/// bit of the bus is disturbed with this probability.
fn simulated(spec: &BusSpec, per_bit: f64, seed: u64, span: Nanos) -> Vec<(u64, u64)> {
    let mut bus = Bus::new(BusConfig {
        seed,
        faults: BusFaults {
            per_bit,
            ..BusFaults::default()
        },
        ..BusConfig::classic(spec.rate.nominal())
    })
    .unwrap();
    let attach = |node: &analysis::NodeSpec| {
        let mailboxes = match node.order {
            SendOrder::Priority => 255,
            SendOrder::Mailboxes(n) => n.get(),
        };
        NodeConfig {
            mailboxes,
            queue: 100_000,
            ..NodeConfig::new(node.name.as_str())
        }
    };
    let nodes: Vec<NodeId> = spec
        .nodes
        .iter()
        .map(|node| bus.attach(attach(node)).unwrap())
        .collect();
    for _ in 0..2 {
        bus.attach(NodeConfig::new("listener")).unwrap();
    }
    // All begin at once: random phases come nowhere near a deadline.
    let all = releases(spec, Phases::Together, seed, span);
    let mut seen = vec![(0, 0); spec.messages.len()];
    let mut see = |event: &NodeEvent<'_>| match *event {
        NodeEvent::Frame { end, tag, .. } => {
            let (release, event) = &all[tag as usize];
            let (frames, late) = &mut seen[release.message];
            *frames += 1;
            *late += u64::from(end - *event > spec.messages[release.message].deadline);
        }
        // Error-passive nodes are not covered.
        NodeEvent::State { state, .. } => assert!(state <= ErrorState::Warning, "{state:?}"),
        _ => {}
    };
    for ((release, _), tag) in all.iter().zip(0_u64..) {
        bus.run_until(release.at, &mut see);
        let node = nodes[spec.messages[release.message].node];
        bus.send(node, release.at, &release.frame, tag).unwrap();
    }
    while let Some(next) = bus.next() {
        bus.run_until(next, &mut see);
    }
    seen
}

#[test]
fn no_message_is_late_more_often_than_its_bound() {
    let per_bit = 5e-4;
    let (mut held, mut late_frames, mut below_one) = (0, 0, 0);
    for seed in 0..6 {
        let mailboxes = [None, Some(1), Some(3)][seed as usize % 3];
        let kind = Kind {
            messages: (8, 16),
            load: (20, 45),
            jitter: 20,
            curves: seed % 2 * 50,
            mailboxes,
            ..Kind::PRIORITY
        };
        let mut spec = set(60_000 + seed, kind);
        spec.random_errors = Some((BusSpec::bit(spec.rate) as f64 / per_bit) as Nanos);
        let (_, found) = assess(&spec);
        for (i, (message, found)) in spec.messages.iter_mut().zip(&found.messages).enumerate() {
            // In the worst case, not sufficient for an error, or for two.
            let more = [100_000, 700_000][i % 2];
            message.deadline = found.bound.unwrap().response + more;
        }
        let compiled = CompiledBus::new(&spec, &mut LengthSearch::new()).unwrap();
        let deadlines: Vec<Nanos> = spec.messages.iter().map(|m| m.deadline).collect();
        let bounds = compiled.misses(&deadlines);
        let mut seen = vec![(0, 0); spec.messages.len()];
        for run in 0..300 {
            let more = simulated(&spec, per_bit, seed * 1000 + run, 50_000_000);
            for (seen, more) in seen.iter_mut().zip(more) {
                *seen = (seen.0 + more.0, seen.1 + more.1);
            }
        }
        for (i, ((frames, late), bound)) in seen.into_iter().zip(bounds).enumerate() {
            let bound = bound.unwrap();
            let share = late as f64 / frames.max(1) as f64;
            assert!(
                share <= bound,
                "set {seed}, message {i}: {late} of {frames}, {bound}"
            );
            held += 1;
            late_frames += late;
            below_one += u64::from(bound < 0.5);
        }
    }
    // Bounds of 1, and frames none of which is late, would prove nothing.
    assert!(
        late_frames > 50 && below_one > 20 && held > 40,
        "{held} messages, {late_frames} frames late, {below_one} bounds below 0.5"
    );
}

/// With more time, more errors can be tolerated; with less than a frame needs without errors, none.
#[test]
fn the_probability_falls_with_the_deadline() {
    let spec = BusSpec {
        random_errors: Some(1_000_000_000),
        ..set(
            60_100,
            Kind {
                load: (40, 50),
                ..Kind::PRIORITY
            },
        )
    };
    let (_, found) = assess(&spec);
    let compiled = CompiledBus::new(&spec, &mut LengthSearch::new()).unwrap();
    let response: Vec<Nanos> = found
        .messages
        .iter()
        .map(|m| m.bound.unwrap().response)
        .collect();
    let with = |more: Nanos| {
        let deadlines: Vec<Nanos> = response.iter().map(|r| r + more).collect();
        compiled.misses(&deadlines)
    };
    let short: Vec<Nanos> = response.iter().map(|r| r - 1).collect();
    // The bound of priority order is exact: one nanosecond less can be missed without an error.
    assert!(compiled.misses(&short).iter().all(|p| *p == Some(1.0)));
    let [first, second, third] = [1_000, 1_000_000, 3_000_000].map(with);
    for (i, ((one, two), three)) in first.iter().zip(&second).zip(&third).enumerate() {
        let (one, two, three) = (one.unwrap(), two.unwrap(), three.unwrap());
        assert!(
            one < 1.0 && two <= one && three < one / 10.0,
            "{i}: {one} {two} {three}"
        );
    }
}
