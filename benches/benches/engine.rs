//! Frames a second from a port in memory through the engine to another.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use engine::{
    Accepted, Engine, EngineCounts, FlushReport, NamedPort, OutgoingFrame, PortError, Receive,
    ReceiveStamp, ReceivedFrame, RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
};
use frame::{CanId, Frame, Nanos};
use route::{FrameMatch, IdFilter, IdSet, PortId, Route, RouteMode, Routes, RoutingTable};
use std::hint::black_box;
use std::sync::Arc;

/// Hands over frames with ever new IDs, as fast as they are taken.
struct Source {
    frames: Vec<Frame>,
    at: usize,
}

#[derive(Default)]
struct Drain(TxCounters);

impl Receive for Source {
    fn receive(
        &mut self,
        _: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        for _ in 0..budget {
            take(ReceivedFrame {
                frame: self.frames[self.at].view(),
                stamp: ReceiveStamp::default(),
                hops: 0,
                token: 0,
            });
            self.at = (self.at + 1) % self.frames.len();
        }
        Ok(RxReport {
            frames: budget,
            more: true,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

/// A receiving half that has nothing.
struct Silent;

impl Receive for Silent {
    fn receive(
        &mut self,
        _: Nanos,
        _: usize,
        _: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        Ok(RxReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl Transmit for Drain {
    fn transmit(
        &mut self,
        _: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        black_box(outgoing.frame.data());
        self.0.taken += 1;
        self.0.sent += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        self.0
    }
}

/// One route for each of `n` EFF IDs.
fn routes(n: u32) -> Routes {
    let route = |id: u32| Route {
        matching: FrameMatch {
            ids: vec![IdFilter {
                set: IdSet::Range {
                    eff: true,
                    first: id * 7,
                    last: id * 7,
                },
                inverted: false,
            }],
            ..FrameMatch::default()
        },
        ..Route::new(format!("route {id}"), vec![PortId(0)], vec![PortId(1)])
    };
    Routes {
        mode: RouteMode::All,
        max_hops: 1,
        routes: (0..n).map(route).collect(),
    }
}

fn engine(n: u32) -> Engine {
    let routes = routes(n);
    let frame = |id: u32| Frame::classic(CanId::eff(id * 7).unwrap(), &[0x11; 8]).unwrap();
    // IDs in a fixed, mixed order; every one of them has its route.
    let frames = (0..n).map(|i| frame((i * 1_031) % n)).collect();
    let table = Arc::new(RoutingTable::compile(&routes, 2).unwrap());
    let ports: Vec<NamedPort> = vec![
        NamedPort {
            name: "in".into(),
            rx: Box::new(Source { frames, at: 0 }),
            tx: Box::new(Drain::default()),
        },
        NamedPort {
            name: "out".into(),
            rx: Box::new(Silent),
            tx: Box::new(Drain::default()),
        },
    ];
    Engine::new(ports, table, &routes).unwrap()
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine");
    for n in [1, 2_048] {
        let mut engine = engine(n);
        let mut now = 0;
        group.throughput(Throughput::Elements(engine::BUDGET as u64));
        group.bench_with_input(BenchmarkId::new("frames", n), &n, |b, _| {
            b.iter(|| {
                now += 1;
                engine.step(black_box(now))
            });
        });
        assert!(engine.snapshot().check().is_ok());
    }
    group.finish();

    // What a reader of the counters costs the worker, and what writing them as JSON costs the
    // control thread.
    let engine = engine(2_048);
    let mut counts = EngineCounts::default();
    engine.count(&mut counts);
    c.bench_function("count/2048 routes", |b| {
        b.iter(|| engine.count(black_box(&mut counts)));
    });
    c.bench_function("snapshot as JSON/2048 routes", |b| {
        b.iter_batched(
            || engine.snapshot(),
            |snapshot| serde_json::to_vec(&snapshot).unwrap(),
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(all, benches);
criterion_main!(all);
