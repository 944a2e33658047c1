//! Nodes that send in order of priority: the bound is exact.

use crate::common;

use analysis::{
    Arrival, BusSpec, FrameShape, LengthSearch, Message, NoBound, NodeSpec, SendOrder,
    critical_instant, replay,
};
use common::reference::{Flaw, latency};
use common::{Kind, Phases, assess, for_each, outcomes, releases, set};
use frame::{CanId, Frame, Header, Nanos};

/// The results for a number of sets.
#[derive(Default)]
struct Seen {
    messages: u64,
    frames: u64,
    /// Number of messages whose critical instant came within a nanosecond of the bound.
    reached: u64,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.frames += other.frames;
        self.reached += other.reached;
    }
}

/// No simulated frame is above its bound, and the critical instants reach it.
fn hold(seed: u64, kind: Kind, joins: Nanos, span: Nanos, seen: &mut Seen) {
    let bus = BusSpec {
        joins,
        ..set(seed, kind)
    };
    let (compiled, found) = assess(&bus);
    let bound = |i: usize| found.messages[i].bound.unwrap();
    for phases in [Phases::Random, Phases::Together] {
        for (outcome, event) in outcomes(&bus, &releases(&bus, phases, seed, span)) {
            let bound = bound(outcome.message);
            assert!(
                outcome.latency() <= bound.latency,
                "set {seed}: {outcome:?}, {bound:?}"
            );
            let response = outcome.end - event;
            assert!(
                response <= bound.response,
                "set {seed}: {outcome:?}, {bound:?}"
            );
            seen.frames += 1;
        }
    }
    let mut lengths = LengthSearch::new();
    for i in 0..bus.messages.len() {
        let all = critical_instant(&compiled, &bus, &found, &mut lengths, i, 0).unwrap();
        let ended = replay(&bus, &all).unwrap();
        let own = ended.iter().filter(|o| o.message == i);
        let worst = own.map(analysis::ReleaseOutcome::latency).max().unwrap();
        let latency = bound(i).latency;
        assert!(
            worst <= latency,
            "set {seed}, message {i}: {worst} of {latency}"
        );
        seen.messages += 1;
        seen.reached += u64::from(worst + 1 >= latency);
    }
}

#[test]
fn no_frame_is_above_its_bound_and_the_critical_instant_reaches_it() {
    let mut seen = Seen::default();
    for seed in 0..12 {
        hold(seed, Kind::PRIORITY, 0, 200_000_000, &mut seen);
        let fd = Kind {
            fd: true,
            ..Kind::PRIORITY
        };
        hold(1000 + seed, fd, 0, 200_000_000, &mut seen);
        let curves = Kind {
            curves: 60,
            ..Kind::PRIORITY
        };
        hold(1500 + seed, curves, 0, 200_000_000, &mut seen);
    }
    assert!(seen.messages > 500 && seen.frames > 5_000);
    assert_eq!(seen.reached, seen.messages, "each within 1 ns");
}

/// Real nodes join an arbitration that has just begun; the bus model's do not.
#[test]
fn with_a_bit_time_to_join_nearly_all_are_reached() {
    let mut seen = Seen::default();
    for seed in 2000..2012 {
        hold(seed, Kind::PRIORITY, 2_000, 50_000_000, &mut seen);
    }
    let share = seen.reached as f64 / seen.messages as f64;
    assert!(share >= 0.99, "{share}");
}

/// If nothing is known of payloads, the longest ones reach it.
#[test]
fn the_longest_payloads_reach_it() {
    let free = Kind {
        free: true,
        messages: (20, 25),
        load: (30, 80),
        ..Kind::PRIORITY
    };
    let mut seen = Seen::default();
    hold(7, free, 0, 50_000_000, &mut seen);
    assert_eq!(seen.reached, seen.messages);
}

/// Sets in such numbers that they take half a minute or more.
mod long {
    use super::*;

    /// The figures of docs/bound.md.
    #[test]
    #[ignore = "heavy"]
    fn a_thousand_sets_hold() {
        let (mut exact, mut joining) = (Seen::default(), Seen::default());
        let each = for_each(10_000..11_000, |seed| {
            let (mut exact, mut joining) = (Seen::default(), Seen::default());
            hold(seed, Kind::PRIORITY, 0, 1_000_000_000, &mut exact);
            hold(seed, Kind::PRIORITY, 2_000, 0, &mut joining);
            (exact, joining)
        });
        for one in each {
            exact.add(&one.0);
            joining.add(&one.1);
        }
        for (name, seen) in [("no joining", exact), ("a bit to join", joining)] {
            let share = seen.reached as f64 / seen.messages as f64;
            eprintln!(
                "{name}: {} frames of {} messages, none above its bound; {} within 1 ns of it by their \
                 critical instant ({:.2} %)",
                seen.frames,
                seen.messages,
                seen.reached,
                share * 100.0
            );
            assert!(share >= 0.99);
        }
    }
}

/// A slow count of the same gives the same result.
#[test]
fn a_slow_count_agrees() {
    for seed in 3000..3010 {
        let kind = Kind {
            curves: seed % 2 * 60,
            ..Kind::PRIORITY
        };
        let bus = set(seed, kind);
        let (compiled, found) = assess(&bus);
        for (i, message) in found.messages.iter().enumerate() {
            let bound = message.bound.unwrap();
            let slow = latency(&bus, &compiled, i, Flaw::None, analysis::window::LONGEST);
            assert_eq!(Some(bound.latency), slow, "set {seed}, message {i}");
            let p = bound.parts;
            let sum = p.jitter + p.blocking + p.ahead + p.interference + p.errors + p.frame;
            assert_eq!(bound.response, sum - p.since);
        }
    }
}

/// Checks that an incorrect analysis would be detected: for each flaw, critical instants produce
/// frames that exceed its bounds.
#[test]
fn each_flaw_of_an_analysis_is_found() {
    let stress = Kind {
        messages: (10, 20),
        load: (90, 98),
        ..Kind::PRIORITY
    };
    let flaws = [
        Flaw::NoBlocking,
        Flaw::FirstOnly,
        Flaw::LateAtStart,
        Flaw::NoJitter,
    ];
    let mut exceeded = [0; 4];
    for seed in 4000..4030 {
        let bus = set(seed, stress);
        let (compiled, found) = assess(&bus);
        let mut lengths = LengthSearch::new();
        for i in 0..bus.messages.len() {
            let all = critical_instant(&compiled, &bus, &found, &mut lengths, i, 0).unwrap();
            let ended = replay(&bus, &all).unwrap();
            let own = ended.iter().filter(|o| o.message == i);
            let worst = own.map(analysis::ReleaseOutcome::latency).max().unwrap();
            for (flaw, exceeded) in flaws.iter().zip(&mut exceeded) {
                let output = latency(&bus, &compiled, i, *flaw, 10_000_000_000);
                *exceeded += u32::from(output.is_some_and(|output| worst > output));
            }
        }
    }
    for (flaw, exceeded) in flaws.iter().zip(exceeded) {
        assert!(exceeded > 0, "{flaw:?} is never found");
    }
}

fn message(number: u32, len: usize, period: Nanos) -> Message {
    let header = Header::new(frame::Kind::Classic, CanId::sff(number).unwrap(), len).unwrap();
    Message {
        name: String::new(),
        node: 0,
        shape: FrameShape::any(header).unwrap(),
        arrival: Arrival::new(period, 0, 0).unwrap(),
        offset: None,
        deadline: period,
    }
}

fn bus(rate: &str, messages: Vec<Message>) -> BusSpec {
    BusSpec {
        name: "bus".to_owned(),
        rate: rate.parse().unwrap(),
        lengths: analysis::LengthRule::Formula,
        errors: None,
        random_errors: None,
        joins: 0,
        nodes: vec![NodeSpec::new("node", SendOrder::Priority)],
        messages,
    }
}

/// Davis, Burns, Bril, Lukkien 2007, §3.3, table 2: three messages of 7 bytes (125 bits) at 125
/// kbit/s, with periods of 2.5, 3.5 and 3.5 ms: 2, 3 and 3.5 ms, the last by its second frame. The
/// paper counts the intermission of the frame itself; a frame here ends with its end of frame, 3
/// bits earlier.
#[test]
fn the_example_of_the_2007_paper() {
    let ms = 1_000_000;
    let messages = vec![
        message(1, 7, 5 * ms / 2),
        message(2, 7, 7 * ms / 2),
        message(3, 7, 7 * ms / 2),
    ];
    let bus = bus("125k", messages);
    let (_, found) = assess(&bus);
    let intermission = 3 * 8_000;
    let response: Vec<Nanos> = found
        .messages
        .iter()
        .map(|m| m.bound.unwrap().response + intermission)
        .collect();
    assert_eq!(response, [2 * ms, 3 * ms, 7 * ms / 2]);
    assert_eq!(found.messages[2].bound.unwrap().instance, 1);
    assert!((found.load - (1.0 / 2.5 + 2.0 / 3.5)).abs() < 1e-12);
}

#[test]
fn too_much_load_has_no_bound_and_states_how_much() {
    let ms = 1_000_000;
    let bus = bus(
        "125k",
        vec![
            message(1, 7, 2 * ms),
            message(2, 7, 5 * ms / 2),
            message(3, 7, 3 * ms),
        ],
    );
    let (_, found) = assess(&bus);
    assert!(found.messages[0].bound.is_ok() && found.messages[1].bound.is_ok());
    let Err(NoBound::Overload(load)) = found.messages[2].bound else {
        panic!("{found:?}");
    };
    assert!((load - (0.5 + 0.4 + 1.0 / 3.0)).abs() < 1e-9, "{load}");
}

#[test]
fn what_cannot_be_decided_is_refused() {
    use analysis::{CompiledBus, ModelError};
    let refused =
        |messages| CompiledBus::new(&bus("500k", messages), &mut LengthSearch::new()).err();
    let two = vec![message(1, 7, 1), message(1, 3, 1)];
    let same = ModelError::SameField {
        first: 0,
        second: 1,
    };
    assert_eq!(refused(two), Some(same));
    let mut strange = message(1, 7, 1);
    strange.node = 1;
    assert_eq!(
        refused(vec![strange]),
        Some(ModelError::NoNode { message: 0 })
    );
    let mut fd = message(1, 7, 1);
    fd.shape = FrameShape::exact(&Frame::fd(CanId::sff(1).unwrap(), 0, &[]).unwrap()).unwrap();
    assert_eq!(refused(vec![fd]), Some(ModelError::NoFd { message: 0 }));
}
