//! For any routes, frames and behaviour of ports: every sum adds up after every step, no counter
//! ever decreases, and the fates are those of a slow reference count.

use crate::common::{Handle, memory_port};
use engine::wrap::{FaultChances, FaultyHalf};
use engine::{CounterSnapshot, Engine, Fate, LayoutChange, NamedPort, PortChange};
use frame::{CanId, Frame};
use proptest::collection::vec;
use proptest::prelude::*;
use route::parts::{
    BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap, OutOfRange,
    RangePolicy, SignalField,
};
use route::{
    Action, DecisionSink, ForwardedCopy, FrameArrival, FrameMatch, IdFilter, IdSet, Modify,
    ModifyOp, OffsetId, PortId, RateLimit, Route, RouteId, RouteMode, Routes, RoutingTable,
    SignalCondition, StopReason, TableMemory, WriteSignals,
};
use std::sync::Arc;

const PORTS: u16 = 4;

fn some_ports() -> impl Strategy<Value = Vec<PortId>> {
    proptest::sample::subsequence((0..PORTS).map(PortId).collect::<Vec<_>>(), 1..=3)
}

fn some_ids() -> impl Strategy<Value = Vec<IdFilter>> {
    let range = (0u32..16, 0u32..16, any::<bool>(), any::<bool>());
    let filter = range.prop_map(|(a, b, eff, inverted)| IdFilter {
        set: IdSet::Range {
            eff,
            first: a.min(b),
            last: a.max(b),
        },
        inverted,
    });
    vec(filter, 0..3)
}

fn some_actions() -> impl Strategy<Value = Vec<Action>> {
    let length = (0u8..80).prop_map(|len| {
        Action::Modify(Modify {
            op: ModifyOp::Set,
            id: None,
            len: Some(len),
            flags: None,
            data: None,
        })
    });
    let offset = (-20i64..0x7FF).prop_map(|by| Action::OffsetId(OffsetId { by }));
    vec(
        prop_oneof![2 => length, 2 => offset, 1 => some_write()],
        0..2,
    )
}

/// A signal of four bits; all frames have the payload bytes 5A.
fn some_field() -> impl Strategy<Value = SignalField> {
    (0u16..60, any::<bool>()).prop_map(|(start, is_intel)| {
        let order = match is_intel {
            true => ByteOrder::Intel,
            false => ByteOrder::Motorola,
        };
        let layout = FieldLayout {
            start,
            bits: 4,
            order,
        };
        SignalField::new(layout, 8).unwrap()
    })
}

fn some_condition() -> impl Strategy<Value = SignalCondition> {
    let test = (some_field(), 0u64..8, any::<bool>()).prop_map(|(field, first, is_negated)| {
        let range = (first, first + 7);
        FieldTest::new(field, BitMeaning::Unsigned, range, is_negated).unwrap()
    });
    vec(vec(test, 1..3), 1..3).prop_map(|alternatives| SignalCondition {
        text: String::new(),
        alternatives,
    })
}

/// An assignment that some frames are too short for, and whose value is often out of range.
fn some_write() -> impl Strategy<Value = Action> {
    (some_field(), some_field(), -4i64..4).prop_map(|(to, from, offset)| {
        let map = LinearMap {
            offset,
            ..LinearMap::SAME
        };
        let source = FieldSource::Signal {
            from,
            is_signed: false,
            map,
            range: RangePolicy::of_field(&to, BitMeaning::Unsigned, OutOfRange::Drop),
        };
        Action::WriteSignals(WriteSignals {
            text: String::new(),
            writes: [FieldWrite { to, source }].to_vec(),
        })
    })
}

fn some_limit() -> impl Strategy<Value = Option<RateLimit>> {
    let limit = (1u32..4, 1u32..4, any::<bool>()).prop_map(|(frames, burst, per_id)| RateLimit {
        frames,
        per: 1_000,
        burst,
        per_id: per_id.then_some(2),
    });
    proptest::option::weighted(0.3, limit)
}

fn some_route() -> impl Strategy<Value = Route> {
    (
        some_ports(),
        some_ports(),
        (
            some_ids(),
            proptest::option::weighted(0.3, some_condition()),
        ),
        some_actions(),
        some_limit(),
        proptest::option::weighted(0.2, 1u8..3),
        proptest::bool::weighted(0.15),
        any::<bool>(),
    )
        .prop_map(
            |(from, to, (ids, when), actions, limit, hop_limit, drop, allow_same_port)| Route {
                name: String::new(),
                from,
                to: if drop { vec![] } else { to },
                matching: FrameMatch {
                    ids,
                    when,
                    ..FrameMatch::default()
                },
                actions: if drop { vec![] } else { actions },
                drop,
                limit: limit.filter(|_| !drop),
                hop_limit: hop_limit.filter(|_| !drop),
                allow_same_port,
                echo: false,
                keep_stamp: false,
                verify: None,
                protect: None,
            },
        )
}

/// Routes that compile: a route that does not compile alone is left out.
fn some_routes() -> impl Strategy<Value = Routes> {
    (vec((some_route(), 0u8..12), 0..8), any::<bool>(), 1u8..4).prop_map(
        |(list, first, max_hops)| {
            let mut routes = Routes {
                mode: if first {
                    RouteMode::First
                } else {
                    RouteMode::All
                },
                max_hops,
                routes: vec![],
            };
            for (mut route, name) in list {
                route.name = format!("r{name}");
                if routes.routes.iter().any(|r| r.name == route.name) {
                    continue;
                }
                let alone = Routes {
                    routes: vec![route],
                    ..routes.clone()
                };
                if RoutingTable::compile(&alone, usize::from(PORTS)).is_ok() {
                    routes.routes.extend(alone.routes);
                }
            }
            routes
        },
    )
}

#[derive(Clone, Debug)]
enum Event {
    Feed(u16, Vec<(Frame, u8)>),
    Mood {
        port: u16,
        queue: usize,
        room: usize,
        down: bool,
        classic_only: bool,
    },
    Step(u64),
    FailReceiving(u16),
    FailFlushing(u16),
    Reload(Routes, [bool; PORTS as usize], bool),
}

fn some_frame() -> impl Strategy<Value = Frame> {
    (0u32..16, any::<bool>(), any::<bool>(), 0usize..9).prop_map(|(id, eff, fd, len)| {
        let id = if eff { CanId::eff(id) } else { CanId::sff(id) }.unwrap();
        let data = &[0x5A; 8][..len];
        if fd {
            Frame::fd(id, 0, data)
        } else {
            Frame::classic(id, data)
        }
        .unwrap()
    })
}

fn some_event() -> impl Strategy<Value = Event> {
    let port = 0..PORTS;
    prop_oneof![
        6 => (port.clone(), vec((some_frame(), 0u8..4), 1..12))
            .prop_map(|(port, frames)| Event::Feed(port, frames)),
        4 => (port.clone(), 0usize..6, 0usize..4, proptest::bool::weighted(0.2), any::<bool>())
            .prop_map(|(port, queue, room, down, classic_only)| Event::Mood {
                port, queue, room, down, classic_only,
            }),
        8 => (0u64..2_000).prop_map(Event::Step),
        1 => port.clone().prop_map(Event::FailReceiving),
        1 => port.prop_map(Event::FailFlushing),
        2 => (some_routes(), any::<[bool; PORTS as usize]>(), any::<bool>())
            .prop_map(|(routes, anew, drop)| Event::Reload(routes, anew, drop)),
    ]
}

/// Returns every number of a snapshot that may only increase, with its name.
fn growing(snapshot: &CounterSnapshot) -> Vec<(String, u64)> {
    fn walk(path: &str, value: &serde_json::Value, out: &mut Vec<(String, u64)>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    if key != "held" {
                        walk(&format!("{path}.{key}"), value, out);
                    }
                }
            }
            serde_json::Value::Number(number) => {
                out.push((path.to_owned(), number.as_u64().unwrap()));
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    for row in &snapshot.ports {
        walk(
            &row.name,
            &serde_json::to_value(row.count).unwrap(),
            &mut out,
        );
    }
    for row in &snapshot.routes {
        walk(
            &row.name,
            &serde_json::to_value(row.count).unwrap(),
            &mut out,
        );
    }
    walk(
        "retired ports",
        &serde_json::to_value(snapshot.retired_ports).unwrap(),
        &mut out,
    );
    walk(
        "retired routes",
        &serde_json::to_value(snapshot.retired_routes).unwrap(),
        &mut out,
    );
    out
}

fn check(before: &CounterSnapshot, engine: &Engine) -> Result<CounterSnapshot, TestCaseError> {
    let now = engine.snapshot();
    if let Err(error) = now.check() {
        return Err(TestCaseError::fail(error.to_string()));
    }
    let numbers: std::collections::HashMap<_, _> = growing(&now).into_iter().collect();
    for (name, old) in growing(before) {
        if let Some(&new) = numbers.get(&name) {
            prop_assert!(new >= old, "{} went from {} to {}", name, old, new);
        }
    }
    Ok(now)
}

fn start(routes: &Routes) -> (Engine, Vec<Handle>) {
    crate::common::engine(usize::from(PORTS), routes)
}

/// Probabilities of faults on receiving and on sending; half of the ports have none.
type Faults = Option<(FaultChances, FaultChances)>;

fn some_faults() -> impl Strategy<Value = Faults> {
    // Never and always are included.
    let chance = || prop_oneof![2 => 0.0..1.0, 1 => Just(0.0), 1 => Just(1.0)];
    let chances =
        (chance(), chance(), chance(), chance()).prop_map(|(drop, duplicate, corrupt, refuse)| {
            FaultChances {
                drop,
                duplicate,
                corrupt,
                refuse,
            }
        });
    proptest::option::of((chances.clone(), chances))
}

/// A port with injected faults.
fn with_faults(port: NamedPort, faults: &Faults) -> NamedPort {
    let Some((receiving, sending)) = *faults else {
        return port;
    };
    NamedPort {
        name: port.name,
        rx: Box::new(FaultyHalf::new(port.rx, receiving, 1).unwrap()),
        tx: Box::new(FaultyHalf::new(port.tx, sending, 2).unwrap()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn sums_add_up_after_every_step(
        routes in some_routes(),
        events in vec(some_event(), 1..40),
        faults in vec(some_faults(), usize::from(PORTS)),
    ) {
        let (ports, mut handles): (Vec<_>, Vec<_>) = faults.iter().enumerate().map(|(i, faults)| {
            let (port, handle) = memory_port(&format!("p{i}"));
            (with_faults(port, faults), handle)
        }).unzip();
        let table = Arc::new(RoutingTable::compile(&routes, usize::from(PORTS)).unwrap());
        let mut engine = Engine::new(ports, table, &routes).unwrap();
        let mut before = engine.snapshot();
        let mut fed = 0u128;
        for event in events {
            match event {
                Event::Feed(port, frames) => {
                    for (frame, hops) in frames {
                        handles[usize::from(port)].inside().incoming.push_back((frame, hops, 0));
                        fed += 1;
                    }
                }
                Event::Mood { port, queue, room, down, classic_only } => {
                    let mut inside = handles[usize::from(port)].inside();
                    inside.queue = queue;
                    inside.room = room;
                    inside.down = down;
                    inside.classic_only = classic_only;
                }
                Event::Step(now) => {
                    engine.step(now);
                }
                Event::FailReceiving(port) => handles[usize::from(port)].inside().rx_fails = true,
                Event::FailFlushing(port) => handles[usize::from(port)].inside().flush_fails = true,
                Event::Reload(routes, anew, without_last) => {
                    // Some ports are opened again under their names; the last one is sometimes
                    // removed and added again immediately, so that its number stays in the routes.
                    let next = (0..usize::from(PORTS)).map(|i| {
                        let name = format!("p{i}");
                        let gone = without_last && i + 1 == usize::from(PORTS);
                        if anew[i] || gone {
                            let unread = handles[i].inside().incoming.len();
                            fed -= unread as u128;
                            let name = if gone { format!("q{}", before.reloads) } else { name };
                            let (port, handle) = memory_port(&name);
                            handles[i] = handle;
                            PortChange::New(with_faults(port, &faults[i]))
                        } else if engine.layout().ports.contains(&name) {
                            PortChange::Keep(name)
                        } else {
                            // It has had another name since an earlier reload.
                            PortChange::Keep(engine.layout().ports[i].clone())
                        }
                    }).collect();
                    let table = Arc::new(RoutingTable::compile(&routes, usize::from(PORTS)).unwrap());
                    let change = LayoutChange::new(engine.layout(), next, table, &routes).unwrap();
                    let removed = engine.apply(change).map_err(|(e, _)| e).unwrap();
                    before = check(&before, &engine)?;
                    for mut port in removed.leaving {
                        port.flush(0).ok();
                        let name = port.name().to_owned();
                        engine.settle(&name, port.close());
                        before = check(&before, &engine)?;
                    }
                }
            }
            before = check(&before, &engine)?;
        }
        let waiting: usize = handles.iter().map(|h| h.inside().incoming.len()).sum();
        let ports = before.ports.iter().map(|row| &row.count).chain([&before.retired_ports]);
        let injected = ports.fold((0u128, 0u128), |(dropped, duplicated), port| {
            let faults = port.rx.faults;
            (dropped + u128::from(faults.dropped), duplicated + u128::from(faults.duplicated))
        });
        let left = before.received() + waiting as u128 + injected.0;
        prop_assert_eq!(left, fed + injected.1, "a frame is missing");
        engine.close();
        let after = check(&before, &engine)?;
        prop_assert_eq!(after.ports.iter().map(|p| p.count.tx.held).sum::<u64>(), 0);
        prop_assert_eq!(after.retired_ports.tx.held, 0);
    }

    /// Against a reference count: each frame is decided alone, its copies are offered to ports
    /// whose answer is known beforehand, and its fate is found by checking each in turn.
    #[test]
    fn fates_are_those_of_a_slow_count(
        routes in some_routes(),
        frames in vec((0..PORTS, some_frame(), 0u8..4), 1..30),
        full in any::<[bool; PORTS as usize]>(),
        down in any::<[bool; PORTS as usize]>(),
    ) {
        #[derive(Default)]
        struct Notes {
            stops: Vec<StopReason>,
            copies: Vec<PortId>,
            taken: usize,
        }
        impl DecisionSink for Notes {
            fn taken(&mut self, _: RouteId) { self.taken += 1; }
            fn stopped(&mut self, _: RouteId, why: StopReason) { self.stops.push(why); }
            fn forward(&mut self, copy: ForwardedCopy<'_>) { self.copies.push(copy.to); }
        }
        let (mut engine, handles) = start(&routes);
        for (i, handle) in handles.iter().enumerate() {
            let mut inside = handle.inside();
            inside.queue = if full[i] { 0 } else { usize::MAX };
            inside.down = down[i];
        }
        let table = RoutingTable::compile(&routes, usize::from(PORTS)).unwrap();
        let mut memory: TableMemory = table.memory();
        let mut expected = std::collections::HashMap::new();
        for (port, frame, hops) in frames {
            let mut notes = Notes::default();
            let arrival = FrameArrival { from: PortId(port), now: 0, hops };
            table.decide(&mut memory, arrival, frame.view(), &mut notes);
            let answers = |wanted: fn(bool, bool) -> bool| {
                notes.copies.iter().any(|p| {
                    let p = usize::from(p.0);
                    wanted(full[p], down[p])
                })
            };
            let fate = if answers(|full, down| !full && !down) { Fate::Routed }
                else if answers(|full, down| full && !down) { Fate::Refused }
                else if answers(|_, down| down) { Fate::Undeliverable }
                else if notes.stops.contains(&StopReason::RateLimit) { StopReason::RateLimit.into() }
                else if notes.stops.contains(&StopReason::DropRule) { StopReason::DropRule.into() }
                else if notes.stops.contains(&StopReason::HopLimit) { StopReason::HopLimit.into() }
                else if notes.stops.contains(&StopReason::TooLong) { StopReason::TooLong.into() }
                else if notes.stops.contains(&StopReason::IdRange) { StopReason::IdRange.into() }
                else if notes.stops.contains(&StopReason::Absent) { StopReason::Absent.into() }
                else if notes.stops.contains(&StopReason::OutOfRange) { StopReason::OutOfRange.into() }
                else { prop_assert_eq!(notes.taken, 0); Fate::NoRoute };
            *expected.entry(fate).or_insert(0u128) += 1;
            handles[usize::from(port)].inside().incoming.push_back((frame, hops, 0));
            // One at a time: token buckets see the same order as the reference count.
            engine.step(0);
        }
        let snapshot = engine.snapshot();
        for fate in Fate::ALL {
            let counted = snapshot.frames(fate);
            prop_assert_eq!(counted, expected.get(&fate).copied().unwrap_or(0), "{:?}", fate);
        }
    }
}

/// The check is effective: a change of any single number by one is detected.
#[test]
fn a_single_wrong_number_is_an_imbalance() {
    let routes = crate::common::all(vec![crate::common::route("r", &[0], &[1, 2])]);
    let (mut engine, handles) = start(&routes);
    handles[0].feed(0..10);
    handles[1].inside().queue = 4;
    handles[1].inside().room = 2;
    engine.step(0);
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    let json = serde_json::to_value(&snapshot).unwrap();
    let mut paths = Vec::new();
    numbers(&json, String::new(), &mut paths);
    // No sum includes the time, the number of reloads, and the frames that were lost before the
    // gateway or had to wait.
    let free = ["/at_ns", "/reloads", "/rx/", "/stalled"];
    let mut tried = 0;
    for path in paths.iter().filter(|p| !free.iter().any(|f| p.contains(f))) {
        let mut wrong = json.clone();
        let number = wrong.pointer_mut(path).unwrap();
        *number = (number.as_u64().unwrap() + 1).into();
        let wrong: CounterSnapshot = serde_json::from_value(wrong).unwrap();
        assert!(wrong.check().is_err(), "{path} can be wrong");
        tried += 1;
    }
    assert!(tried > 80, "only {tried} numbers");
}

fn numbers(value: &serde_json::Value, path: String, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                numbers(value, format!("{path}/{key}"), out);
            }
        }
        serde_json::Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                numbers(value, format!("{path}/{i}"), out);
            }
        }
        serde_json::Value::Number(_) => out.push(path),
        _ => {}
    }
}
