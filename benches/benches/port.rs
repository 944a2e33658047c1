//! The cost of a frame's way through a port: `cargo bench -p cangate-benches --bench port`.
#![allow(clippy::unwrap_used)]

use bus::{BusConfig, NodeConfig};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frame::{CanId, Frame};
use port::embedded::{BusIndex, BusWorld};
use port::log::{
    InterfaceName, LogReader, LogSink, LogSource, ReplaySpeed, SinkConfig, SourceConfig,
};
use port::{OutgoingFrame, Receive, Transmit};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

const FRAMES: u64 = 1000;

fn frame(number: u64) -> Frame {
    let id = CanId::sff((number % 0x7FF) as u32).unwrap();
    Frame::classic(id, &number.to_be_bytes()).unwrap()
}

/// A full bus, and a gateway node that takes each frame at its end and sends it on another.
fn over_buses(c: &mut Criterion) {
    let mut group = c.benchmark_group("embedded");
    group.throughput(Throughput::Elements(FRAMES));
    group.bench_function("bus to bus", |b| {
        let world = BusWorld::new();
        let node = |name: &str| NodeConfig {
            queue: 2 * FRAMES as usize,
            ..NodeConfig::new(name)
        };
        for name in ["a", "b"] {
            let bus = world.bus(name, BusConfig::classic(500_000)).unwrap();
            world.tester(bus, node("listener")).unwrap();
        }
        let sender = world.tester(BusIndex(0), node("sender")).unwrap();
        let (mut rx, _) = world.attach(BusIndex(0), node("gateway")).unwrap();
        let (_, mut tx) = world.attach(BusIndex(1), node("gateway")).unwrap();
        b.iter(|| {
            let now = world.now();
            for i in 0..FRAMES {
                world.send(sender, now, &frame(i), i).unwrap();
            }
            while let Some(t) = world.next() {
                world.run_until(t, &mut |_, _| {});
                rx.receive(t, 64, &mut |r| {
                    tx.transmit(t, OutgoingFrame::new(r.frame, r.token))
                        .unwrap();
                })
                .unwrap();
                tx.flush(t).unwrap();
            }
        });
        assert_eq!(tx.counters().held, 0);
    });
    group.finish();
}

fn logs(c: &mut Criterion) {
    let mut text = String::new();
    for i in 0..FRAMES {
        writeln!(text, "({i:010}.000000) can0 {}", frame(i)).unwrap();
    }
    let mut path = std::env::temp_dir();
    path.push(format!("cangate-bench-{}.log", std::process::id()));
    std::fs::write(&path, text.repeat(100)).unwrap();

    let mut group = c.benchmark_group("log");
    group.throughput(Throughput::Elements(FRAMES * 100));
    group.sample_size(20);
    group.bench_function("read", |b| {
        let mut buf = frame::FrameBuf::new();
        b.iter(|| {
            let mut reader = LogReader::open(&path).unwrap();
            while let Some(logged) = reader.read(&mut buf).unwrap() {
                black_box((logged.ns, buf.view()));
            }
        });
    });
    group.bench_function("source to sink", |b| {
        let config = SourceConfig {
            replay: ReplaySpeed::Fast,
            ..SourceConfig::default()
        };
        let sink = SinkConfig {
            interface: InterfaceName::new("can1").unwrap(),
            epoch: 0,
        };
        b.iter(|| {
            let mut rx = LogSource::open("in", &path, config).unwrap();
            let mut tx = LogSink::create("out", Path::new("/dev/null"), sink).unwrap();
            loop {
                let report = rx.receive(0, 64, &mut |r| {
                    tx.transmit(0, OutgoingFrame::new(r.frame, r.token))
                        .unwrap();
                });
                tx.flush(0).unwrap();
                if report.unwrap().finished {
                    break;
                }
            }
            assert_eq!(tx.counters().sent, FRAMES * 100);
        });
    });
    group.finish();
    std::fs::remove_file(&path).unwrap();
}

criterion_group!(benches, over_buses, logs);
criterion_main!(benches);
