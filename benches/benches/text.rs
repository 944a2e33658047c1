//! How many lines of a log are read and written in a second: `cargo bench -p cangate-benches
//! --bench text`.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frame::{FrameBuf, text};
use std::fmt::Write;
use std::hint::black_box;

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("text");
    let fd = format!("(1398128223.803317) can0 12345678##5{}", "A5".repeat(64));
    for (name, line) in [
        ("classic 4 B", "(1398128223.803317) can0 166#D0320009"),
        (
            "classic 8 B",
            "(1398128223.803317) can0 12345678#1122334455667788",
        ),
        ("FD 64 B", &fd),
    ] {
        group.throughput(Throughput::Elements(1));
        let mut buf = FrameBuf::new();
        group.bench_function(format!("read a line, {name}"), |b| {
            b.iter(|| {
                let entry = text::parse_line(black_box(line.as_bytes()), &mut buf);
                entry.unwrap().unwrap().stamp
            });
        });
        let entry = text::parse_line(line.as_bytes(), &mut buf)
            .unwrap()
            .unwrap();
        let mut out = String::with_capacity(256);
        group.bench_function(format!("write a line, {name}"), |b| {
            b.iter(|| {
                out.clear();
                let line = text::LogLine {
                    stamp: entry.stamp,
                    interface: entry.interface,
                    frame: buf.view(),
                    direction: entry.direction,
                };
                write!(out, "{}", black_box(line)).unwrap();
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
