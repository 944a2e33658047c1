//! The cost of one decision, by Criterion. `ratio` answers whether the number of routes matters.
//!
//! Each case decides about a fixed frame (everything in the nearest cache) and about frames with
//! IDs picked at random from the table (as much out of cache as the table is large).

#![allow(missing_docs)]

mod cases;

use cases::{ARRIVAL, Bench, CASES};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

fn decide(c: &mut Criterion) {
    for case in CASES {
        let mut group = c.benchmark_group(case.0);
        group.throughput(Throughput::Elements(1));
        for &count in case.4 {
            let Bench {
                table,
                mut memory,
                mut sink,
                fixed,
                random,
            } = Bench::new(&case, count);
            group.bench_function(BenchmarkId::new("fixed", count), |b| {
                b.iter(|| {
                    table.decide(&mut memory, ARRIVAL, black_box(&fixed).view(), &mut sink);
                });
            });
            let mut at = 0;
            group.bench_function(BenchmarkId::new("random", count), |b| {
                b.iter(|| {
                    at = (at + 1) % random.len();
                    table.decide(&mut memory, ARRIVAL, random[at].view(), &mut sink);
                });
            });
            assert!(sink.taken == sink.forwarded && sink.stopped == 0);
        }
        group.finish();
    }
}

fn condition(c: &mut Criterion) {
    let mut group = c.benchmark_group("condition");
    for (name, bench) in cases::condition::benches() {
        let Bench {
            table,
            mut memory,
            mut sink,
            fixed,
            ..
        } = bench;
        group.bench_function(name, |b| {
            b.iter(|| table.decide(&mut memory, ARRIVAL, black_box(&fixed).view(), &mut sink));
        });
        assert!(sink.taken == sink.forwarded && sink.stopped == 0);
    }
    group.finish();
}

criterion_group!(benches, decide, condition);
criterion_main!(benches);
