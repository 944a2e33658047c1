//! Properties of every bus, with random nodes, frames, times and faults.

use crate::common;

use bus::{
    Bus, BusConfig, BusFaults, ErrorKind, ErrorState, FaultTime, FrameFault, NodeConfig, NodeEvent,
    NodeId,
};
use cangate_bus as bus;
use common::{arbitration_field, classic_frames};
use frame::{CanId, Frame, Nanos, flags};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A bus, its nodes and their frames, all handed in at time 0.
#[derive(Clone, Debug)]
struct Scene {
    config: BusConfig,
    nodes: Vec<NodeConfig>,
    frames: Vec<(u16, Nanos, Frame)>,
    until: Nanos,
}

fn nodes() -> impl Strategy<Value = NodeConfig> {
    let place = (1..4_u8, 0..6_usize);
    let modes = (any::<u8>(), any::<bool>());
    (place, modes).prop_map(|((mailboxes, queue), (rare, restart))| NodeConfig {
        mailboxes,
        queue,
        one_shot: rare % 4 == 0,
        listen_only: rare / 4 % 8 == 0,
        fd: rare / 32 != 0,
        restart: restart.then_some(1_000_000),
        ..NodeConfig::default()
    })
}

fn frames() -> impl Strategy<Value = Frame> {
    let data = prop::collection::vec(any::<u8>(), 0..=64);
    let fd = (common::close_ids(), 0..4_u8, data);
    prop_oneof![
        4 => classic_frames(),
        1 => fd.prop_map(|(id, f, data)| Frame::fd(id, f, &data).unwrap()),
    ]
}

fn faults() -> impl Strategy<Value = BusFaults> {
    let kinds = prop::sample::select(vec![
        ErrorKind::Bit,
        ErrorKind::Stuff,
        ErrorKind::Form,
        ErrorKind::Crc,
        ErrorKind::Ack,
    ]);
    let rate = prop_oneof![Just(0.0), Just(0.05), Just(0.9)];
    let plan = (1..20_u64, kinds.clone(), 0..200_u16, 0..4_u16);
    (
        rate.clone(),
        rate,
        prop::collection::vec(kinds, 1..4),
        prop::collection::vec(plan, 0..4),
    )
        .prop_map(|(per_frame, per_bit, kinds, plan)| BusFaults {
            per_frame,
            per_bit: per_bit / 100.0,
            kinds,
            planned: plan
                .into_iter()
                .map(|(n, kind, bit, victim)| {
                    let fault = FrameFault::new(kind)
                        .at_bit(bit)
                        .for_receiver(NodeId(victim));
                    (FaultTime::Start(n), fault)
                })
                .collect(),
        })
}

fn scenes(faults: impl Strategy<Value = BusFaults>) -> impl Strategy<Value = Scene> {
    let rates = prop::sample::select(vec![
        (500_000, 2_000_000),
        (1_000_000, 5_000_000),
        (83_333, 300_001),
    ]);
    (
        rates,
        any::<u64>(),
        faults,
        prop::collection::vec(nodes(), 1..6),
        prop::collection::vec((any::<u16>(), 0..3_000_000_u64, frames()), 0..40),
        0..60_000_000_u64,
    )
        .prop_map(
            |((nominal, data), seed, faults, nodes, frames, until)| Scene {
                config: BusConfig {
                    nominal,
                    data: Some(data),
                    seed,
                    faults,
                },
                frames: frames
                    .into_iter()
                    .map(|(n, at, f)| (n % nodes.len() as u16, at, f))
                    .collect(),
                nodes,
                until,
            },
        )
}

/// Returns the bus with all frames handed in, and the frames that it took.
fn set_up(scene: &Scene) -> (Bus, BTreeMap<u64, (u16, Nanos, Frame)>) {
    let mut bus = Bus::new(scene.config.clone()).unwrap();
    for node in &scene.nodes {
        bus.attach(node.clone()).unwrap();
    }
    let mut taken = BTreeMap::new();
    for (tag, (node, at, frame)) in scene.frames.iter().enumerate() {
        let tag = tag as u64;
        if bus.send(NodeId(*node), *at, frame, tag).is_ok() {
            taken.insert(tag, (*node, *at, *frame));
        }
    }
    (bus, taken)
}

fn history(bus: &mut Bus, steps: impl IntoIterator<Item = Nanos>) -> Vec<String> {
    let mut all = Vec::new();
    for t in steps {
        bus.run_until(t, |event| all.push(format!("{event:?}")));
    }
    all
}

/// One attempt: its start of frame, its end, its node, and the tag of its frame.
struct Attempt {
    start: Nanos,
    end: Nanos,
    node: u16,
    tag: u64,
}

/// Everything that an observer can check, gathered from the events.
#[derive(Default)]
struct Watch {
    attempts: Vec<Attempt>,
    /// Time at which each frame was sent or dropped, by its tag.
    ended: BTreeMap<u64, Nanos>,
    /// Changes of state: time, node, state.
    states: Vec<(Nanos, u16, ErrorState)>,
    last: Nanos,
    frame_time: Nanos,
    error_time: Nanos,
}

impl Watch {
    fn event(&mut self, event: &NodeEvent<'_>) {
        assert!(event.at() >= self.last, "out of order: {event:?}");
        self.last = event.at();
        let primary_attempt = match *event {
            NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                primary,
                ..
            } => {
                assert!(self.ended.insert(tag, end).is_none(), "ended twice: {tag}");
                self.frame_time += if primary { end - start } else { 0 };
                primary.then_some((start, end, node, tag))
            }
            NodeEvent::Error {
                start,
                end,
                node,
                tag,
                primary,
                ..
            } => {
                assert!(
                    !self.ended.contains_key(&tag),
                    "failed after its end: {tag}"
                );
                self.error_time += if primary { end - start } else { 0 };
                primary.then_some((start, end, node, tag))
            }
            NodeEvent::State { at, node, state } => {
                self.states.push((at, node.0, state));
                None
            }
            NodeEvent::Dropped { at, tag, .. } => {
                assert!(self.ended.insert(tag, at).is_none(), "ended twice: {tag}");
                None
            }
        };
        if let Some((start, end, node, tag)) = primary_attempt {
            self.attempts.push(Attempt {
                start,
                end,
                node: node.0,
                tag,
            });
        }
    }

    /// Returns a node's state at a time.
    fn state_at(&self, node: u16, t: Nanos) -> ErrorState {
        let mut before = self.states.iter().filter(|s| s.1 == node && s.0 <= t);
        before.next_back().map_or(ErrorState::Active, |s| s.2)
    }
}

fn watch(bus: &mut Bus, until: Nanos) -> Watch {
    let mut watch = Watch::default();
    bus.run_until(until, |event| watch.event(event));
    watch
}

/// Returns the duration of `n` bits, rounded down, ns.
fn bits(scene: &Scene, n: u64) -> Nanos {
    n * 1_000_000_000 / u64::from(scene.config.nominal)
}

/// Returns the frames of a node that compete at `t`: the oldest that are ready, as many as it has
/// mailboxes.
fn competing<'a>(
    scene: &Scene,
    taken: &'a BTreeMap<u64, (u16, Nanos, Frame)>,
    watch: &Watch,
    node: u16,
    t: Nanos,
) -> Vec<(u64, &'a Frame)> {
    let mut there: Vec<(Nanos, u64, &Frame)> = taken
        .iter()
        .filter(|(tag, (n, ready, _))| {
            // A frame that a one-shot node drops at `t` has competed until then.
            *n == node && *ready <= t && watch.ended.get(tag).is_none_or(|&end| end >= t)
        })
        .map(|(tag, (_, ready, frame))| (*ready, *tag, frame))
        .collect();
    there.sort_by_key(|f| (f.0, f.1));
    let mailboxes = usize::from(scene.nodes[usize::from(node)].mailboxes);
    there.iter().take(mailboxes).map(|f| (f.1, f.2)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_two_frames_at_once(scene in scenes(faults())) {
        let (mut bus, _) = set_up(&scene);
        let watch = watch(&mut bus, scene.until);
        for pair in watch.attempts.windows(2) {
            prop_assert!(pair[1].start >= pair[0].end + bits(&scene, 3));
        }
    }

    #[test]
    fn the_highest_priority_goes_first(scene in scenes(faults())) {
        let (mut bus, taken) = set_up(&scene);
        // Long enough for the attempt that is under way at the end to be known.
        let watch = watch(&mut bus, scene.until);
        let mut previous: Option<&Attempt> = None;
        for attempt in &watch.attempts {
            let t = attempt.start;
            let (_, _, winner) = taken[&attempt.tag];
            let own = competing(&scene, &taken, &watch, attempt.node, t);
            prop_assert!(own.iter().any(|f| f.0 == attempt.tag), "not in a mailbox");
            for node in 0..scene.nodes.len() as u16 {
                let passive = watch.state_at(node, t) == ErrorState::Passive;
                let off = watch.state_at(node, t) == ErrorState::BusOff;
                let may_be_suspended = passive
                    && previous.is_some_and(|p| t <= p.end + bits(&scene, 11));
                if off || (may_be_suspended && node != attempt.node) {
                    continue;
                }
                for (tag, frame) in competing(&scene, &taken, &watch, node, t) {
                    prop_assert!(
                        arbitration_field(&winner) <= arbitration_field(frame),
                        "{} went before {tag} at {t}", attempt.tag
                    );
                }
            }
            previous = Some(attempt);
        }
    }

    /// Checks that, without faults and with distinct identifiers, a frame starts the moment it can.
    #[test]
    fn the_bus_is_never_idle_while_something_waits(mut scene in scenes(Just(BusFaults::default()))) {
        scene.nodes.push(NodeConfig::default());
        for (tag, (_, _, frame)) in scene.frames.iter_mut().enumerate() {
            *frame = Frame::classic(CanId::sff(tag as u32).unwrap(), frame.data().get(..4).unwrap_or(&[])).unwrap();
        }
        let (mut bus, taken) = set_up(&scene);
        let watch = watch(&mut bus, 1_000_000_000);
        prop_assert_eq!(watch.attempts.len(), bus.stats().frames as usize);
        let mut free = 0;
        for attempt in &watch.attempts {
            let waiting = taken.iter().filter(|(tag, _)| watch.ended[tag] > attempt.start);
            let first = waiting.map(|(_, f)| f.1).min().unwrap();
            let start = first.max(free);
            prop_assert!(attempt.start.abs_diff(start) <= 1, "{} not {start}", attempt.start);
            free = attempt.end + (3_000_000_000 + u64::from(scene.config.nominal) / 2)
                / u64::from(scene.config.nominal);
        }
        prop_assert!(taken.keys().all(|tag| watch.ended.contains_key(tag)));
    }

    #[test]
    fn time_is_never_lost_or_counted_twice(scene in scenes(faults()), steps in 1..50_u64) {
        let (mut bus, _) = set_up(&scene);
        let mut watch = Watch::default();
        let mut before = bus.stats();
        for i in 1..=steps {
            bus.run_until(scene.until * i / steps, |event| watch.event(event));
            let stats = bus.stats();
            prop_assert_eq!(stats.elapsed(), bus.now());
            prop_assert_eq!(stats.since(&before).elapsed(), stats.elapsed() - before.elapsed());
            before = stats;
        }
        prop_assert_eq!(bus.now(), scene.until);
        // A frame under way is in the statistics, but not yet among the events; and an error is
        // reported before its interval ends.
        let (stats, longest) = (bus.stats(), bits(&scene, 900));
        prop_assert!(stats.frame_time >= watch.frame_time);
        prop_assert!(stats.frame_time <= watch.frame_time + longest);
        prop_assert!(stats.error_time <= watch.error_time + longest);
        prop_assert!(stats.error_time + longest >= watch.error_time);
    }

    #[test]
    fn every_accepted_frame_ends_once_or_is_still_there(scene in scenes(faults())) {
        let (mut bus, taken) = set_up(&scene);
        let watch = watch(&mut bus, scene.until);
        for node in 0..scene.nodes.len() as u16 {
            let state = bus.node_state(NodeId(node)).unwrap();
            let accepted = taken.values().filter(|f| f.0 == node).count() as u64;
            let waiting = state.queued + state.mailboxes_used + state.scheduled;
            prop_assert_eq!(accepted, state.sent + state.dropped + waiting as u64);
            let ended = taken.iter().filter(|(tag, f)| f.0 == node && watch.ended.contains_key(tag));
            prop_assert_eq!(ended.count() as u64, state.sent + state.dropped);
            prop_assert_eq!(
                state.mailboxes_used + state.queued + bus.free(NodeId(node)),
                usize::from(scene.nodes[usize::from(node)].mailboxes) + scene.nodes[usize::from(node)].queue
            );
        }
    }

    #[test]
    fn same_calls_same_events(scene in scenes(faults())) {
        let run = || history(&mut set_up(&scene).0, [scene.until]);
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn smaller_steps_change_nothing(
        scene in scenes(faults()),
        mut steps in prop::collection::vec(0..60_000_000_u64, 0..60),
    ) {
        let (mut whole, _) = set_up(&scene);
        let (mut split, _) = set_up(&scene);
        steps.retain(|&t| t < scene.until);
        // Steps exactly at the time of events are the interesting ones.
        let mut times = Vec::new();
        whole.run_until(scene.until, |e| times.push(e.at()));
        let third = bits(&scene, 3);
        steps.extend(times.iter().filter(|t| **t % 3 == 0).map(|t| (t + third).min(scene.until)));
        steps.extend(times);
        steps.sort_unstable();
        steps.push(scene.until);
        let (mut whole, _) = set_up(&scene);
        prop_assert_eq!(history(&mut split, steps), history(&mut whole, [scene.until]));
        prop_assert_eq!(split.stats(), whole.stats());
    }

    /// Checks that `next` is a time at which the bus is further than before, and leaves nothing
    /// out.
    #[test]
    fn running_from_next_to_next_changes_nothing(scene in scenes(faults())) {
        let (mut whole, _) = set_up(&scene);
        let (mut hops, _) = set_up(&scene);
        let mut all = Vec::new();
        while let Some(t) = hops.next().filter(|&t| t <= scene.until) {
            prop_assert!(t > hops.now() || t == 0);
            all.extend(history(&mut hops, [t]));
        }
        all.extend(history(&mut hops, [scene.until]));
        prop_assert_eq!(all, history(&mut whole, [scene.until]));
    }

    /// Checks that the receivers in the events agree with the nodes' counts of received frames, and
    /// that the sender is never among them.
    #[test]
    fn frames_received_are_those_of_the_events(scene in scenes(faults())) {
        let (mut bus, _) = set_up(&scene);
        let mut received = vec![0; scene.nodes.len()];
        bus.run_until(scene.until, |event| {
            if let NodeEvent::Frame { node, receivers, .. } = event {
                assert!(!receivers.receives(*node));
                for node in receivers.iter() {
                    received[usize::from(node.0)] += 1;
                }
            }
        });
        for (node, &count) in received.iter().enumerate() {
            prop_assert_eq!(bus.node_state(NodeId(node as u16)).unwrap().received, count);
        }
    }

    /// Checks that counters and states agree, and that a lone node never goes bus-off by missing
    /// acknowledges.
    #[test]
    fn states_follow_counters(scene in scenes(faults())) {
        let (mut bus, _) = set_up(&scene);
        let watch = watch(&mut bus, scene.until);
        for node in 0..scene.nodes.len() as u16 {
            let state = bus.node_state(NodeId(node)).unwrap();
            let highest = state.tec.max(state.rec);
            let expected = match (state.tec, highest) {
                (256.., _) => ErrorState::BusOff,
                (_, 128..) => ErrorState::Passive,
                (_, 96..) => ErrorState::Warning,
                _ => ErrorState::Active,
            };
            prop_assert_eq!(state.state, expected);
            prop_assert_eq!(watch.state_at(node, bus.now()), expected, "reported last");
            if scene.nodes[usize::from(node)].listen_only {
                prop_assert_eq!((state.tec, state.rec), (0, 0));
            }
        }
    }
}

/// Different seeds must give different results.
#[test]
fn another_seed_gives_other_faults() {
    let run = |seed| {
        let mut bus = Bus::new(BusConfig {
            seed,
            faults: BusFaults {
                per_frame: 0.2,
                ..BusFaults::default()
            },
            ..BusConfig::fd(500_000, 2_000_000)
        })
        .unwrap();
        for _ in 0..2 {
            bus.attach(NodeConfig {
                queue: 100,
                ..NodeConfig::default()
            })
            .unwrap();
        }
        let frame = Frame::fd(CanId::sff(1).unwrap(), flags::BRS, &[3; 12]).unwrap();
        for tag in 0..100 {
            bus.send(NodeId(0), 0, &frame, tag).unwrap();
        }
        let log = history(&mut bus, [1_000_000_000]);
        (bus.stats().errors, log)
    };
    let (errors, first) = run(1);
    assert!((10..60).contains(&errors), "about 25 of 125: {errors}");
    assert_ne!(first, run(2).1);
    assert_eq!(first, run(1).1);
}
