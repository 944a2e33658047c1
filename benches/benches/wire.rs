//! How long it takes to know a frame's length, fast and slow: `cargo bench -p cangate-benches
//! --bench wire`.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../crates/frame/tests/reference/mod.rs"]
mod reference;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frame::{CanId, Frame, wire};
use std::hint::black_box;

/// Frames with different IDs and payloads, so that no branch predictor knows them by heart.
fn frames(make: impl Fn(CanId, &[u8]) -> Frame) -> Vec<Frame> {
    let mut x: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    (0..1024)
        .map(|_| {
            let id = CanId::sff(next() as u32 & CanId::SFF_MASK).unwrap();
            let mut data = [0; 64];
            for chunk in data.chunks_mut(8) {
                // Sparse bits: more stuff bits than in noise.
                chunk.copy_from_slice(&(next() & next()).to_le_bytes());
            }
            make(id, &data)
        })
        .collect()
}

fn bench(c: &mut Criterion) {
    let classic = frames(|id, data| Frame::classic(id, &data[..8]).unwrap());
    let eff = frames(|id, data| {
        let id = CanId::eff(id.number() << 18 | 0x2_A5C3).unwrap();
        Frame::classic(id, &data[..8]).unwrap()
    });
    let fd = frames(|id, data| Frame::fd(id, 1, data).unwrap());
    let rate = "500k/2M".parse().unwrap();

    let mut group = c.benchmark_group("wire");
    group.throughput(Throughput::Elements(1024));
    for (name, set) in [
        ("classic SFF 8 B", &classic),
        ("classic EFF 8 B", &eff),
        ("FD SFF BRS 64 B", &fd),
    ] {
        group.bench_function(format!("{name}, length and duration"), |b| {
            b.iter(|| {
                let mut sum = 0;
                for frame in set {
                    let length = wire::length(black_box(frame).view()).unwrap();
                    sum += length.duration(rate, true);
                }
                sum
            });
        });
        group.bench_function(format!("{name}, bit by bit"), |b| {
            b.iter(|| {
                let mut sum = 0;
                for frame in set {
                    let wire = reference::wire(black_box(frame).view()).unwrap();
                    sum += wire.stuff_bits() + wire.fast_bits();
                }
                sum
            });
        });
    }
    group.bench_function("arbitration key", |b| {
        let headers: Vec<_> = classic.iter().map(Frame::header).collect();
        b.iter(|| {
            headers
                .iter()
                .fold(0, |sum, h| sum ^ wire::arbitration_key(black_box(h)))
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
