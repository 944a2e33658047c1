//! What one decision costs, and that the number of routes does not matter.
//!
//! Each case decides about a fixed frame (everything in the nearest cache) and about frames with
//! IDs picked at random from the table (as much out of cache as the table is large). The sink
//! counts, as a gateway's would.

#![allow(missing_docs, clippy::unwrap_used)]

use cangate_route::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use frame::{CanId, Frame};
use std::hint::black_box;

#[derive(Default)]
struct Count {
    taken: u64,
    stopped: u64,
    forwarded: u64,
    bytes: u64,
}

impl Sink for Count {
    fn taken(&mut self, _: RouteId) {
        self.taken += 1;
    }

    fn stopped(&mut self, _: RouteId, _: Stop) {
        self.stopped += 1;
    }

    fn forward(&mut self, copy: Forward<'_>) {
        self.forwarded += 1;
        self.bytes +=
            u64::from(copy.to.0) + copy.frame.data().iter().map(|b| u64::from(*b)).sum::<u64>();
    }
}

fn route(id: IdFilter, actions: Vec<Action>) -> Route {
    Route {
        name: String::new(),
        from: vec![PortId(0)],
        to: vec![PortId(1)],
        matching: Match {
            ids: vec![id],
            ..Match::default()
        },
        actions,
        drop: false,
        limit: None,
        hop_limit: None,
        allow_same_port: false,
        echo: false,
        keep_stamp: false,
    }
}

fn filter(set: IdSet) -> IdFilter {
    IdFilter {
        set,
        inverted: false,
    }
}

/// Numbers that are spread over 29 bits and all different.
fn spread(n: u32) -> u32 {
    n.wrapping_mul(0x9E37_79B1) & CanId::EFF_MASK
}

/// One route for each ID; the frame that the nth route takes.
type Make = fn(u32) -> (IdFilter, u32);

fn exact_eff(n: u32) -> (IdFilter, u32) {
    let number = spread(n);
    let set = IdSet::Range {
        eff: true,
        first: number,
        last: number,
    };
    (filter(set), CanId::EFF_FLAG | number)
}

fn exact_sff(n: u32) -> (IdFilter, u32) {
    let number = n & CanId::SFF_MASK;
    let set = IdSet::Range {
        eff: false,
        first: number,
        last: number,
    };
    (filter(set), number)
}

/// Eight masks, as a gateway for J1939 and a few blocks would have: source address, parameter
/// group, priority left out in different ways.
fn eight_masks(n: u32) -> (IdFilter, u32) {
    const MASKS: [u32; 8] = [
        0x9FFF_FFFF,
        0x9FFF_FF00,
        0x83FF_FF00,
        0x83FF_FFFF,
        0x9FFF_FFF0,
        0x9FFF_F000,
        0x81FF_FFFF,
        0xDFFF_FFFF,
    ];
    let mask = MASKS[n as usize % 8];
    // The bits that all masks look at, so that the routes differ in them.
    let number = (n << 12 | n >> 5) & CanId::EFF_MASK;
    let id = CanId::EFF_FLAG | number;
    (filter(IdSet::Masked { id, mask }), id)
}

fn one_modification() -> Vec<Action> {
    vec![Action::Modify(Modify {
        op: ModifyOp::Set,
        id: Some(0x123),
        len: None,
        flags: None,
        data: None,
    })]
}

fn modification_and_checksum() -> Vec<Action> {
    let mut actions = vec![Action::Modify(Modify {
        op: ModifyOp::Or,
        id: None,
        len: None,
        flags: None,
        data: Some(vec![1]),
    })];
    actions.push(Action::Crc8(Crc8 {
        from: 0,
        to: -2,
        result: -1,
        init: 0xFF,
        final_xor: 0xFF,
        table: Crc8::table_for(0x1D),
        profile: Crc8Profile::None,
    }));
    actions
}

fn decide_all(c: &mut Criterion) {
    let cases: [(&str, Make, Mode, fn() -> Vec<Action>, &[u32]); 7] = [
        (
            "eff exact",
            exact_eff,
            Mode::All,
            Vec::new,
            &[1, 64, 2048, 100_000],
        ),
        (
            "eff exact, first",
            exact_eff,
            Mode::First,
            Vec::new,
            &[1, 64, 2048, 100_000],
        ),
        (
            "eff exact, set id",
            exact_eff,
            Mode::All,
            one_modification,
            &[1, 64, 2048, 100_000],
        ),
        (
            "eff exact, or data + crc8",
            exact_eff,
            Mode::All,
            modification_and_checksum,
            &[1, 2048],
        ),
        (
            "8 masks",
            eight_masks,
            Mode::All,
            Vec::new,
            &[1, 8, 64, 2048, 100_000],
        ),
        (
            "8 masks, first",
            eight_masks,
            Mode::First,
            Vec::new,
            &[8, 2048, 100_000],
        ),
        ("sff exact", exact_sff, Mode::All, Vec::new, &[1, 64, 2048]),
    ];
    for (name, make, mode, actions, counts) in cases {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        for &count in counts {
            let routes = Routes {
                mode,
                max_hops: 1,
                routes: (0..count).map(|n| route(make(n).0, actions())).collect(),
            };
            let table = Table::compile(&routes, 2).unwrap();
            let mut memory = table.memory();
            let mut sink = Count::default();
            let arrival = Arrival {
                from: PortId(0),
                now: 0,
                hops: 0,
            };
            let frame = |n: u32| {
                Frame::classic(CanId::from_raw(make(n).1), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap()
            };
            let fixed = frame(count / 2);
            group.bench_function(BenchmarkId::new("fixed", count), |b| {
                b.iter(|| table.decide(&mut memory, arrival, black_box(&fixed).view(), &mut sink));
            });
            // More than any cache line prefetcher or branch predictor learns, less than fits
            // into the second-level cache, so that the frames do not count.
            let mut state = 1_u64;
            let frames: Vec<Frame> = (0..4096)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    frame((state >> 33) as u32 % count)
                })
                .collect();
            let mut at = 0;
            group.bench_function(BenchmarkId::new("random", count), |b| {
                b.iter(|| {
                    at = (at + 1) % frames.len();
                    table.decide(&mut memory, arrival, frames[at].view(), &mut sink);
                });
            });
            assert!(sink.taken > 0 && sink.taken == sink.forwarded && sink.stopped == 0);
            black_box(sink.bytes);
        }
        group.finish();
    }
}

criterion_group!(benches, decide_all);
criterion_main!(benches);
