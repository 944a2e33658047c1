//! Tracing and faults around real halves.
#![allow(clippy::unwrap_used)]

use bus::{BusConfig, NodeConfig};
use frame::{CanId, Frame};
use port::embedded::{BusIndex, BusReceive, BusTransmit, World};
use port::log::{InterfaceName, LogReader, LogSink, LogSource, Replay, SinkConfig, SourceConfig};
use port::wrap::{Chances, FaultCounters, Faulty, Traced};
use port::{Outgoing, Receive, Refused, Transmit};
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

fn frame(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), data).unwrap()
}

/// A bus with one gateway node that sends and one that receives.
fn pair() -> (World, BusTransmit, BusReceive) {
    let world = World::new();
    let bus = world.bus("a", BusConfig::classic(500_000)).unwrap();
    let node = NodeConfig {
        queue: 1000,
        ..NodeConfig::new("sender")
    };
    let (_, tx) = world.attach(bus, node).unwrap();
    let receiver = NodeConfig::new("receiver");
    let (rx, _) = world.attach_with_fifo(BusIndex(0), receiver, 4096).unwrap();
    (world, tx, rx)
}

fn sink(path: &Path) -> LogSink {
    let config = SinkConfig {
        interface: InterfaceName::new("trace").unwrap(),
        epoch: 0,
    };
    LogSink::create("trace", path, config).unwrap()
}

fn replay(lines: usize) -> LogSource {
    let mut file = tempfile::tempfile().unwrap();
    for i in 0..lines {
        writeln!(file, "({i}.000000) can0 123#{i:016X}").unwrap();
    }
    file.rewind().unwrap();
    let config = SourceConfig {
        replay: Replay::Fast,
        ..SourceConfig::default()
    };
    LogSource::from_file("replay", "made up", file, config).unwrap()
}

fn take(rx: &mut dyn Receive, budget: usize) -> Vec<u64> {
    let mut out = Vec::new();
    loop {
        let mut count = 0;
        let report = rx
            .receive(0, budget, &mut |r| {
                count += 1;
                out.push(u64::from_be_bytes(r.frame.data().try_into().unwrap()));
            })
            .unwrap();
        assert_eq!(report.frames, count);
        assert!(count <= budget);
        if report.finished {
            return out;
        }
    }
}

#[test]
fn a_trace_has_what_was_sent_and_what_came() {
    let dir = tempfile::tempdir().unwrap();
    let (out, back) = (dir.path().join("sent.log"), dir.path().join("came.log"));
    let (world, tx, rx) = pair();
    let (mut tx, mut rx) = (Traced::new(tx, sink(&out)), Traced::new(rx, sink(&back)));
    for id in 1..=3 {
        tx.transmit(0, Outgoing::new(frame(id, &[]).view(), 0))
            .unwrap();
    }
    tx.flush(0).unwrap();
    world.run_until(1_000_000, &mut |_, _| {});
    let mut ends = Vec::new();
    rx.receive(1_000_000, 10, &mut |r| ends.push(r.stamp.ns / 1000))
        .unwrap();
    let read = |path| -> Vec<(u64, u32)> {
        let reader = LogReader::open(path).unwrap().map(Result::unwrap);
        reader
            .map(|e| (e.logged.ns / 1000, e.frame.view().id().number()))
            .collect()
    };
    assert_eq!(read(&out), [(0, 1), (0, 2), (0, 3)]);
    let expected: Vec<_> = ends.into_iter().zip(1..=3).collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(read(&back), expected);
    assert_eq!(tx.untraced() + rx.untraced(), 0);
}

#[test]
fn a_trace_that_fails_stops_nothing() {
    let (_world, tx, _rx) = pair();
    let full = SinkConfig {
        interface: InterfaceName::new("x").unwrap(),
        epoch: 0,
    };
    let full = LogSink::from_file(
        "trace",
        "/dev/full",
        File::create("/dev/full").unwrap(),
        full,
    );
    // In a box, as a gateway has it.
    let mut tx = Traced::new(Box::new(tx) as Box<dyn Transmit>, full);
    for id in 0..3 {
        tx.transmit(0, Outgoing::new(frame(id, &[]).view(), 0))
            .unwrap();
        tx.flush(0).unwrap();
    }
    assert_eq!(tx.counters().taken, 3);
    assert_eq!(tx.untraced(), 2, "the first was lost in the failing write");
    assert!(tx.remarks()[0].contains("/dev/full"));
}

#[test]
fn mishaps_on_receiving_are_counted_and_repeat() {
    let chances = Chances {
        lose: 0.2,
        double: 0.2,
        corrupt: 0.2,
        refuse: 0.0,
    };
    let run = |seed| {
        let mut rx = Faulty::new(replay(1000), chances, seed).unwrap();
        let got = take(&mut rx, 7);
        (got, rx.faults(), rx.counters())
    };
    let (got, faults, counters) = run(1);
    assert_eq!(counters.overrun, faults.lost);
    assert_eq!(got.len() as u64, 1000 - faults.lost + faults.doubled);
    let wrong = |n: &&u64| **n >= 1000 || n.count_ones() == 64;
    assert!(got.iter().filter(wrong).count() > 0);
    for count in [faults.lost, faults.doubled, faults.corrupted] {
        assert!((100..300).contains(&count), "{faults:?}");
    }
    assert_eq!(run(1), (got, faults, counters), "same seed, same mishaps");
    assert_ne!(run(2).1, faults);
}

#[test]
fn certain_and_impossible_mishaps() {
    let none = |rx: LogSource| Faulty::new(rx, Chances::default(), 0).unwrap();
    assert_eq!(take(&mut none(replay(50)), 9).len(), 50);
    let all = Chances {
        lose: 1.0,
        ..Chances::default()
    };
    assert!(take(&mut Faulty::new(replay(50), all, 0).unwrap(), 9).is_empty());
    for wrong in [-0.1, 1.1, f64::NAN] {
        let chances = Chances {
            double: wrong,
            ..Chances::default()
        };
        assert!(Faulty::new(replay(1), chances, 0).is_err());
    }
}

#[test]
fn mishaps_on_sending_keep_the_sums() {
    let (world, tx, mut rx) = pair();
    let chances = Chances {
        lose: 0.1,
        double: 0.1,
        corrupt: 0.1,
        refuse: 0.1,
    };
    let mut tx = Faulty::new(tx, chances, 3).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for i in 0..500u32 {
        match tx.transmit(0, Outgoing::new(frame(i, &[0; 8]).view(), 0)) {
            Ok(_) => accepted += 1,
            Err(Refused::Full) => refused += 1,
            Err(e) => panic!("{e:?}"),
        }
    }
    tx.flush(0).unwrap();
    world.run_until(1_000_000_000, &mut |_, _| {});
    let (mut came, mut changed) = (0, 0);
    rx.receive(0, 10_000, &mut |r| {
        came += 1;
        changed += u64::from(r.frame.data() != [0; 8]);
    })
    .unwrap();
    let FaultCounters {
        lost,
        doubled,
        corrupted,
        refused: faked,
    } = tx.faults();
    assert_eq!(refused, faked);
    assert_eq!(came, accepted - lost + doubled);
    assert!(changed >= corrupted && corrupted > 0 && lost > 0 && doubled > 0 && faked > 0);
    let c = tx.counters();
    assert_eq!(c.taken, accepted + doubled);
    assert_eq!((c.taken, c.held), (c.sent + c.lost, 0));
}
