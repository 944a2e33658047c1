//! The cost of matching frames, making traffic and storing results.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frame::{CanId, Frame};
use probe::matching::{FrameMatcher, KeyRule, MatcherSettings, SentFrame};
use probe::traffic::{SetSchedule, TrafficSource, sae_class_c};
use probe::{
    FrameRecord, IncomingFrame, LatencyProfile, RunDescription, RunResults, SentCopy, Status,
    results,
};
use std::hint::black_box;

fn matching(c: &mut Criterion) {
    let mut group = c.benchmark_group("matching");
    group.throughput(Throughput::Elements(1));
    let id = CanId::from_raw(0x123);
    for (name, rule) in [
        ("number", KeyRule::Number { offset: 0 }),
        ("id_and_payload", KeyRule::IdAndPayload),
    ] {
        // A frame goes in, the one 16 places before comes out.
        group.bench_function(name, |b| {
            let mut matcher = FrameMatcher::new(MatcherSettings::default());
            let frame = |n: u64| {
                let [.., hi, lo] = n.to_be_bytes();
                Frame::classic(id, &[hi, lo, 3, 4, 5, 6, 7, 8]).ok()
            };
            let key = |n: u64| rule.key(frame(n)?.view());
            let mut n = 16u64;
            b.iter(|| {
                let mut sink = |o| {
                    black_box(o);
                };
                let at = n * 100_000;
                if let Some(key) = key(n) {
                    matcher.sent(
                        key,
                        SentFrame {
                            tag: n,
                            at,
                            stream: 0,
                        },
                        &mut sink,
                    );
                }
                if let Some(key) = key(n - 16) {
                    matcher.received(&key, n, at, &mut sink);
                }
                n += 1;
            });
        });
    }
    group.finish();
}

fn traffic(c: &mut Criterion) {
    let mut group = c.benchmark_group("traffic");
    group.throughput(Throughput::Elements(1));
    group.bench_function("sae_class_c", |b| {
        let mut schedule = SetSchedule::new(&sae_class_c(), 1, u64::MAX).ok();
        b.iter(|| black_box(schedule.as_mut().and_then(TrafficSource::next)));
    });
    group.finish();
}

fn kept(c: &mut Criterion) {
    const FRAMES: u64 = 100_000;
    let id = CanId::from_raw(0x123);
    let record = |n: u64| FrameRecord {
        tag: n,
        route: Some(0),
        incoming: Some(IncomingFrame {
            port: 0,
            id,
            kind: Some(frame::Kind::Classic),
            len: 8,
            end: n * 300_000,
        }),
        outgoing: Some(SentCopy {
            port: 1,
            id,
            kind: Some(frame::Kind::Classic),
            len: 8,
            end: n * 300_000 + 230_000 + n % 977,
            duration: 222_000,
        }),
        status: Status::Delivered,
        processing: Some(100 + n % 31),
        accesses: None,
    };
    let run = RunResults {
        description: RunDescription::default(),
        routes: vec!["r".into()],
        ports: vec!["a".into(), "b".into()],
        records: (0..FRAMES).map(record).collect(),
        ..RunResults::default()
    };
    let mut group = c.benchmark_group("results");
    group
        .throughput(Throughput::Elements(FRAMES))
        .sample_size(10);
    group.bench_function("profile", |b| {
        b.iter(|| run.latencies(None).collect::<LatencyProfile>().summary());
    });
    group.bench_function("write_parquet", |b| {
        b.iter(|| results::write_to(Vec::new(), &run).map(|data| data.len()));
    });
    if let Ok(data) = results::write_to(Vec::new(), &run) {
        group.bench_function("read_parquet", |b| {
            b.iter(|| results::read_bytes("x".as_ref(), data.clone()).map(|r| r.records.len()));
        });
    }
    group.finish();
}

criterion_group!(benches, matching, traffic, kept);
criterion_main!(benches);
