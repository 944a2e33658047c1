//! Frames a second on a bus at full load: every node always has something to send, every
//! payload differs from the last, every length is computed.

use bus::{Bus, BusConfig, BusFaults, ErrorKind, NodeConfig, NodeEvent, NodeId};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use frame::{CanId, Frame, flags};

const FRAMES: u64 = 100_000;

/// Keeps `nodes` nodes saturated until `FRAMES` frames have been sent; the number sent.
fn flood(mut bus: Bus, fd: bool) -> u64 {
    let nodes = bus.nodes().len() as u16;
    let mut counter = 0_u64;
    let mut frame = |node: u16| {
        counter += 1;
        // Priorities change from frame to frame, so that all nodes get their turn; no two nodes
        // have an identifier in common.
        let blocks = 0x800 / u64::from(nodes);
        let id = (counter * 7919 % blocks) as u32 * u32::from(nodes) + u32::from(node);
        let id = CanId::from_raw(id);
        let data = counter.to_le_bytes();
        if fd {
            Frame::fd(id, flags::BRS, &data)
        } else {
            Frame::classic(id, &data)
        }
        .expect("8 bytes fit")
    };
    for node in 0..nodes {
        while bus.free(NodeId(node)) > 0 {
            bus.send(NodeId(node), 0, &frame(node), 0)
                .expect("there is room");
        }
    }
    let mut sent = 0;
    while sent < FRAMES {
        let Some(t) = bus.next() else {
            return sent;
        };
        let mut sender = None;
        bus.run_until(t, |event| {
            if let NodeEvent::Frame { node, .. } = event {
                sender = Some(*node);
            }
        });
        if let Some(node) = sender {
            sent += 1;
            // Errors aside, a sent frame has left a place.
            let _ = bus.send(node, bus.now(), &frame(node.0), 0);
        }
    }
    sent
}

fn saturated(nodes: u16, faults: BusFaults) -> Bus {
    let config = BusConfig {
        faults,
        ..BusConfig::fd(500_000, 2_000_000)
    };
    let mut bus = Bus::new(config).expect("the rates are usual ones");
    for n in 0..nodes {
        bus.attach(NodeConfig::new(format!("n{n}")))
            .expect("mailboxes are given");
    }
    bus
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("flood");
    group.throughput(Throughput::Elements(FRAMES));
    group.sample_size(20);
    for nodes in [2, 10, 100] {
        group.bench_with_input(BenchmarkId::new("classic", nodes), &nodes, |b, &n| {
            b.iter(|| flood(saturated(n, BusFaults::default()), false));
        });
    }
    group.bench_function("fd/10", |b| {
        b.iter(|| flood(saturated(10, BusFaults::default()), true));
    });
    let faults = BusFaults {
        per_frame: 0.001,
        kinds: vec![ErrorKind::Bit],
        ..BusFaults::default()
    };
    group.bench_function("classic, one frame in 1000 disturbed/10", |b| {
        b.iter(|| flood(saturated(10, faults.clone()), false));
    });
    group.finish();
}

criterion_group!(flood_benches, benches);
criterion_main!(flood_benches);
