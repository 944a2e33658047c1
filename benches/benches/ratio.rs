//! Does the number of routes matter? All cases take turns in short batches, hundreds of times,
//! so that whatever else the machine does hits them alike; the fastest batch of each is what the
//! code costs. Prints nanoseconds for each decision and the ratio to the smallest table of the
//! same case. `cargo bench -p cangate-benches --bench ratio`.

#![allow(missing_docs)]

mod cases;

use cases::{ARRIVAL, Bench, CASES};
use std::{hint::black_box, time::Instant};

const ROUNDS: usize = 400;

fn main() {
    // Cargo passes `--bench`; under `cargo test --benches` one round shows that it runs.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        ROUNDS
    } else {
        1
    };
    println!(
        "{:28} {:>8} {:>9} {:>6} {:>9} {:>6}",
        "case", "routes", "fixed ns", "ratio", "random ns", "ratio"
    );
    for case in CASES {
        let mut benches: Vec<Bench> = case.4.iter().map(|n| Bench::new(&case, *n)).collect();
        let mut best = vec![[f64::MAX; 2]; benches.len()];
        for _ in 0..rounds {
            for (bench, best) in benches.iter_mut().zip(&mut best) {
                let Bench {
                    table,
                    memory,
                    sink,
                    fixed,
                    random,
                } = bench;
                // The first pass brings back what the other cases have put out of the caches.
                for pass in 0..2 {
                    let start = Instant::now();
                    for _ in 0..random.len() {
                        table.decide(memory, ARRIVAL, black_box(&*fixed).view(), sink);
                    }
                    let middle = Instant::now();
                    for frame in random.iter() {
                        table.decide(memory, ARRIVAL, frame.view(), sink);
                    }
                    let end = Instant::now();
                    if pass == 1 {
                        let each = |span: std::time::Duration| {
                            span.as_nanos() as f64 / random.len() as f64
                        };
                        best[0] = best[0].min(each(middle - start));
                        best[1] = best[1].min(each(end - middle));
                    }
                }
                assert!(sink.taken == sink.forwarded && sink.stopped == 0);
            }
        }
        let base = best.first().copied().unwrap_or_default();
        for (count, best) in case.4.iter().zip(&best) {
            println!(
                "{:28} {count:>8} {:>9.1} {:>6.2} {:>9.1} {:>6.2}",
                case.0,
                best[0],
                best[0] / base[0],
                best[1],
                best[1] / base[1]
            );
        }
    }
    conditions(rounds);
}

/// Measures conditions on the payload in the same way: all take turns.
fn conditions(rounds: usize) {
    let mut benches = cases::condition::benches();
    let mut best = [f64::MAX; 3];
    for _ in 0..rounds {
        for ((_, bench), best) in benches.iter_mut().zip(&mut best) {
            for _ in 0..2 {
                let start = Instant::now();
                for frame in &bench.random {
                    let Bench { memory, sink, .. } = bench;
                    (bench.table).decide(memory, ARRIVAL, black_box(frame).view(), sink);
                }
                let each = start.elapsed().as_nanos() as f64 / bench.random.len() as f64;
                *best = best.min(each);
            }
            assert!(bench.sink.taken == bench.sink.forwarded && bench.sink.stopped == 0);
        }
    }
    for ((name, _), best) in benches.iter().zip(best) {
        println!("{name:28} {:>8} {best:>9.1}", 1);
    }
}
