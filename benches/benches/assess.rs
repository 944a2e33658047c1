//! Bounds for 1000 messages on 8 buses, lengths and all; also with gateways between them.

use analysis::{
    Arrival, BusSpec, CompiledBus, FrameShape, GatewayHop, HopFrames, LengthRule, LengthSearch,
    Message, MessagePlace, Network, NodeSpec, SendOrder,
};
use criterion::{Criterion, criterion_group, criterion_main};
use frame::{CanId, Frame, Header, Kind, Nanos};
use std::hint::black_box;
use std::num::NonZeroU8;

const BUSES: u32 = 8;
const MESSAGES: u32 = 125;
const NODES: u32 = 12;
const PERIODS: [Nanos; 6] = [20, 50, 100, 200, 500, 1000];

/// A bus at 500 kbit/s, loaded by 61 %.
fn bus(number: u32, order: SendOrder, known: bool, offsets: bool) -> BusSpec {
    let message = |n: u32| {
        let id = CanId::from_raw(n * 16 + number);
        let len = (n % 9) as usize;
        let header = Header::new(Kind::Classic, id, len).expect("8 bytes fit");
        let frame = Frame::classic(id, &[n as u8; 8][..len]).expect("8 bytes fit");
        let shape = if known {
            FrameShape::exact(&frame)
        } else {
            FrameShape::any(header)
        };
        let period = PERIODS[(n * 7 + number) as usize % PERIODS.len()] * 1_000_000;
        Message {
            name: String::new(),
            node: (n % NODES) as usize,
            shape: shape.expect("a data frame"),
            arrival: Arrival::new(period, period / 10, 0).expect("a period"),
            // Spread over the period, in steps of a millisecond.
            offset: offsets
                .then_some(Nanos::from(n.wrapping_mul(0x9E37_79B9) >> 16) * 1_000_000 % period),
            deadline: period,
        }
    };
    BusSpec {
        name: format!("bus {number}"),
        rate: "500k".parse().expect("a rate"),
        lengths: LengthRule::Greatest,
        errors: Some(50_000_000),
        random_errors: None,
        joins: 2_000,
        nodes: (0..NODES)
            .map(|n| NodeSpec::new(&format!("node {n}"), order))
            .collect(),
        messages: (0..MESSAGES).map(message).collect(),
    }
}

fn assess(criterion: &mut Criterion) {
    let one = SendOrder::Mailboxes(NonZeroU8::MIN);
    let three = SendOrder::Mailboxes(NonZeroU8::MIN.saturating_add(2));
    for (name, order, known, offsets) in [
        ("priority, payloads known", SendOrder::Priority, true, false),
        ("priority, any payload", SendOrder::Priority, false, false),
        ("one mailbox, any payload", one, false, false),
        ("three mailboxes, any payload", three, false, false),
        ("priority, offsets", SendOrder::Priority, true, true),
        ("one mailbox, offsets", one, true, true),
        ("three mailboxes, offsets", three, true, true),
    ] {
        let buses: Vec<BusSpec> = (0..BUSES).map(|n| bus(n, order, known, offsets)).collect();
        criterion.bench_function(name, |b| {
            b.iter(|| {
                let mut lengths = LengthSearch::new();
                for bus in &buses {
                    let compiled = CompiledBus::new(bus, &mut lengths).expect("a model");
                    let found = compiled.assess(&compiled.arrivals());
                    assert!(found.messages.iter().all(|m| m.bound.is_ok()));
                    black_box(found);
                }
            });
        });
    }
}

/// The same buses, and each passes on every tenth message to the next one, by a gateway that takes
/// up to 100 µs.
fn network(order: SendOrder) -> Network {
    let mut network = Network {
        buses: (0..BUSES).map(|n| bus(n, order, false, false)).collect(),
        hops: Vec::new(),
        tunnels: Vec::new(),
    };
    for from in 0..BUSES as usize {
        let to = (from + 1) % BUSES as usize;
        let passed: Vec<(usize, Message)> = network.buses[from].messages[..MESSAGES as usize]
            .iter()
            .cloned()
            .enumerate()
            .step_by(10)
            .collect();
        let spec = &mut network.buses[to];
        spec.nodes.push(NodeSpec::new("gateway", order));
        for (message, passed) in passed {
            spec.messages.push(Message {
                node: spec.nodes.len() - 1,
                ..passed
            });
            network.hops.push(GatewayHop {
                from: MessagePlace { bus: from, message },
                to: MessagePlace {
                    bus: to,
                    message: spec.messages.len() - 1,
                },
                delay: 100_000,
                unchanged: true,
                frames: HopFrames::Same,
                passage: None,
            });
        }
    }
    network
}

fn gateways(criterion: &mut Criterion) {
    for (name, order) in [
        ("gateways, priority, any payload", SendOrder::Priority),
        (
            "gateways, three mailboxes, any payload",
            SendOrder::Mailboxes(NonZeroU8::MIN.saturating_add(2)),
        ),
    ] {
        let network = network(order);
        criterion.bench_function(name, |b| {
            b.iter(|| {
                let found = network.assess(&mut LengthSearch::new()).expect("a model");
                assert!(found.circle.is_empty());
                black_box(found)
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = assess, gateways
}
criterion_main!(benches);
