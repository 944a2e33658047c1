//! Faults around real halves.

use bus::{BusConfig, NodeConfig};
use engine::FaultCounters;
use engine::wrap::{FaultChances, FaultyHalf};
use frame::{CanId, Frame};
use port::embedded::{BusIndex, BusReceive, BusTransmit, BusWorld};
use port::log::{LogSource, ReplaySpeed, SourceConfig};
use port::{OutgoingFrame, Receive, Transmit, TransmitRefusal};
use std::io::{Seek, Write};

fn frame(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), data).unwrap()
}

/// Returns a bus with one gateway node that sends and one that receives.
fn pair() -> (BusWorld, BusTransmit, BusReceive) {
    let world = BusWorld::new();
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

fn replay(lines: usize) -> LogSource {
    let mut file = tempfile::tempfile().unwrap();
    for i in 0..lines {
        writeln!(file, "({i}.000000) can0 123#{i:016X}").unwrap();
    }
    file.rewind().unwrap();
    let config = SourceConfig {
        replay: ReplaySpeed::Fast,
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
fn mishaps_on_receiving_are_counted_and_repeat() {
    let chances = FaultChances {
        drop: 0.2,
        duplicate: 0.2,
        corrupt: 0.2,
        refuse: 0.0,
    };
    let run = |seed| {
        let mut rx = FaultyHalf::new(replay(1000), chances, seed).unwrap();
        let got = take(&mut rx, 7);
        (got, rx.faults(), rx.counters())
    };
    let (got, faults, counters) = run(1);
    assert_eq!((counters.overrun, counters.faults), (0, faults));
    assert_eq!(got.len() as u64, 1000 - faults.dropped + faults.duplicated);
    let wrong = |n: &&u64| **n >= 1000 || n.count_ones() == 64;
    assert!(got.iter().filter(wrong).count() > 0);
    for count in [faults.dropped, faults.duplicated, faults.corrupted] {
        assert!((100..300).contains(&count), "{faults:?}");
    }
    assert_eq!(run(1), (got, faults, counters), "same seed, same mishaps");
    assert_ne!(run(2).1, faults);
}

#[test]
fn certain_and_impossible_mishaps() {
    let none = |rx: LogSource| FaultyHalf::new(rx, FaultChances::default(), 0).unwrap();
    assert_eq!(take(&mut none(replay(50)), 9).len(), 50);
    let all = FaultChances {
        drop: 1.0,
        ..FaultChances::default()
    };
    assert!(take(&mut FaultyHalf::new(replay(50), all, 0).unwrap(), 9).is_empty());
    for wrong in [-0.1, 1.1, f64::NAN] {
        let chances = FaultChances {
            duplicate: wrong,
            ..FaultChances::default()
        };
        assert!(FaultyHalf::new(replay(1), chances, 0).is_err());
    }
}

#[test]
fn mishaps_on_sending_keep_the_sums() {
    let (world, tx, mut rx) = pair();
    let chances = FaultChances {
        drop: 0.1,
        duplicate: 0.1,
        corrupt: 0.1,
        refuse: 0.1,
    };
    let mut tx = FaultyHalf::new(tx, chances, 3).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for i in 0..500u32 {
        match tx.transmit(0, OutgoingFrame::new(frame(i, &[0; 8]).view(), 0)) {
            Ok(_) => accepted += 1,
            Err(TransmitRefusal::Full) => refused += 1,
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
        dropped,
        duplicated,
        corrupted,
        refused: faked,
    } = tx.faults();
    assert_eq!(refused, faked);
    assert_eq!(came, accepted - dropped + duplicated);
    assert!(changed >= corrupted && corrupted > 0 && dropped > 0 && duplicated > 0 && faked > 0);
    let c = tx.counters();
    assert_eq!((c.taken, c.faults), (accepted, tx.faults()));
    assert_eq!((c.taken + duplicated, c.held), (c.sent + c.lost, 0));
}
