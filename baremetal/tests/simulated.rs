//! A gateway on the bench, without a machine: every frame has exactly one fate, whatever happens on
//! the buses.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use baremetal::bench::{
    BenchStamp, BenchTask, DisturbedFrames, SendPattern, SimulatedBench, StampKind, TaskFrame,
};
use baremetal::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use engine::CounterSnapshot;
use frame::{CanId, Frame};
use proptest::prelude::*;
use route::{PortId, Route, Routes};

const MS: u64 = 1_000_000;
const LONG: u64 = 1_000_000 * MS;

fn plan(drive: DriveMode, queue: u32) -> ImagePlan {
    let port = |name: &str, bus| PortPlan {
        drive,
        restart: Some(5 * MS),
        queue,
        ..PortPlan::new(name, ControllerPlace::Bench { bus }, 500_000)
    };
    ImagePlan {
        ports: vec![port("a", 0), port("b", 1)],
        routes: Routes {
            routes: vec![Route::new("there", vec![PortId(0)], vec![PortId(1)])],
            ..Routes::default()
        },
    }
}

fn task(pattern: SendPattern, frames: Vec<TaskFrame>) -> BenchTask {
    BenchTask {
        ideal: false,
        pattern,
        timeout: 100 * MS,
        ticks: None,
        on_cards: None,
        stamps: None,
        disturbed: None,
        frames,
    }
}

fn frames(pauses: &[u64]) -> Vec<TaskFrame> {
    let mut at = 0;
    (0u16..)
        .zip(pauses)
        .map(|(n, pause)| {
            at += pause;
            let frame = Frame::classic(CanId::from_raw(0x123), &n.to_be_bytes()).unwrap();
            TaskFrame::new(at, &frame)
        })
        .collect()
}

fn run(plan: &ImagePlan, task: &BenchTask) -> (CounterSnapshot, Vec<BenchStamp>) {
    let mut bench = SimulatedBench::new(task).unwrap();
    let gateway = bench.run(plan, LONG).unwrap();
    let (stamps, lost) = bench.inspect(|world| {
        assert!(world.is_done());
        let (stamps, lost) = world.stamps();
        (stamps.collect(), lost)
    });
    assert_eq!(lost, 0);
    (serde_json::from_str(&gateway.stats()).unwrap(), stamps)
}

fn count(stamps: &[BenchStamp], bus: u8, ours: bool, kind: StampKind) -> u64 {
    let is = |s: &&BenchStamp| s.bus == bus && (s.node != 0) == ours && s.kind == kind;
    stamps.iter().filter(is).count() as u64
}

#[test]
fn one_at_a_time_each_comes_out_once() {
    for drive in [DriveMode::Poll, DriveMode::Interrupt] {
        let (counters, stamps) = run(
            &plan(drive, 8),
            &task(SendPattern::OneAtATime, frames(&[0; 50])),
        );
        assert_eq!(count(&stamps, 0, false, StampKind::Frame), 50);
        assert_eq!(count(&stamps, 1, true, StampKind::Frame), 50);
        assert_eq!(counters.port("b").unwrap().tx.sent, 50);
        // The gateway takes no time here: a frame is ready at the end of the incoming one.
        for pair in stamps.chunks(2) {
            assert_eq!(pair[1].end - pair[1].duration, pair[0].end);
        }
    }
}

#[test]
fn an_ideal_gateway_passes_each_frame_once() {
    let mut ideal = task(SendPattern::OneAtATime, frames(&[0; 20]));
    ideal.ideal = true;
    let (counters, stamps) = run(&plan(DriveMode::Poll, 8), &ideal);
    assert_eq!(count(&stamps, 1, true, StampKind::Frame), 20);
    assert_eq!(counters.received(), 0);
}

#[test]
fn a_task_with_what_is_no_frame_is_none() {
    let bad = TaskFrame(0, 1, None, "zz".to_owned());
    assert!(SimulatedBench::new(&task(SendPattern::Schedule, vec![bad])).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_frame_has_one_fate(
        pauses in prop::collection::vec(prop_oneof![Just(0), 0..2 * MS], 1..80),
        disturbed in prop::option::of((1u64..60, 1u64..60)),
        queue in 1u32..16,
        interrupt: bool,
    ) {
        let drive = if interrupt { DriveMode::Interrupt } else { DriveMode::Poll };
        let mut task = task(SendPattern::Schedule, frames(&pauses));
        task.disturbed = disturbed.map(|(first, count)| DisturbedFrames { first, count });
        let (counters, stamps) = run(&plan(drive, queue), &task);
        prop_assert!(counters.check().is_ok());
        let (a, b) = (counters.port("a").unwrap(), counters.port("b").unwrap());
        let went = count(&stamps, 0, false, StampKind::Frame);
        prop_assert_eq!(went, pauses.len() as u64);
        let overruns = stamps.iter().filter(|s| s.kind == StampKind::Overrun).count() as u64;
        prop_assert_eq!(a.rx.overrun, overruns);
        prop_assert_eq!(a.received + overruns, went);
        prop_assert_eq!(b.tx.taken, b.tx.sent + b.tx.lost + b.tx.held);
        prop_assert_eq!(count(&stamps, 1, true, StampKind::Frame), b.tx.sent);
        let bus_off = stamps.iter().filter(|s| s.kind == StampKind::BusOff).count() as u64;
        prop_assert!(b.rx.reopened <= bus_off);
        if disturbed.is_none() {
            prop_assert_eq!(b.tx.lost + bus_off, 0);
        }
    }
}
