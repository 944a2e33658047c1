//! Conditions on signals and assignments to signals in an image, against exact numbers. The process
//! and BPF run the same cases (`crates/route/tests/tables/exact.rs`,
//! `crates/offload/src/bpf/emulator`).

use super::bare::{Left, port, run, task};
use super::exact::{Case, Outcome, Rng, Tally};
use super::lab;
use baremetal::bench::SendPattern;
use baremetal::{ControllerPlace, DriveMode, ImagePlan};
use frame::Frame;
use route::{Routes, StopReason};

/// The number of routes, each with frames of its own.
const CASES: u16 = 60;
/// The first identifier.
const FIRST: u16 = 0x100;
/// The distance of two frames in ns: more than the longest one and its copy take.
const APART: u64 = 3_000_000;

#[test]
#[ignore = "runs images in QEMU"]
fn signals_in_an_image_equal_those_of_exact_numbers() {
    let Some(_lab) = lab() else { return };
    let (mut rng, mut tally) = (Rng(0xBA2E_0030), Tally::default());
    let cases: Vec<Case> = (FIRST..FIRST + CASES)
        .map(|id| {
            let mut case = Case::random(&mut rng, &mut tally);
            case.number(id);
            case
        })
        .collect();
    tally.check();
    let ports = [("a", 0), ("b", 1)].map(|(name, bus)| {
        let mut port = port(name, ControllerPlace::Bench { bus }, DriveMode::Poll);
        port.data_bitrate = Some(2_000_000);
        port
    });
    let routes = cases.iter().flat_map(|case| case.routes.routes.clone());
    let plan = ImagePlan {
        ports: ports.into(),
        routes: Routes {
            routes: routes.collect(),
            ..Routes::default()
        },
    };
    // The frames of all cases take turns.
    let rounds = cases[0].frames.len();
    let in_turn = (0..rounds).flat_map(|round| cases.iter().map(move |case| &case.frames[round]));
    let in_turn: Vec<_> = in_turn.collect();
    let frames = in_turn.iter().zip(0..).map(|((frame, _), n)| {
        let frame = Frame::from_view(frame.view()).unwrap();
        (n * APART, frame)
    });
    let mut todo = task(SendPattern::Schedule, frames);
    todo.stamps = Some(3 * in_turn.len() as u32);
    let left = Left::of(&run(Some(&plan), Some(&todo), |_| ()));
    let came = left.came(1);
    let expected: Vec<_> = in_turn
        .iter()
        .filter_map(|(frame, outcome)| match outcome {
            Outcome::Sent(payload) => Some((frame.view().id().number(), payload.clone())),
            _ => None,
        })
        .collect();
    let came: Vec<_> = came
        .iter()
        .map(|frame| (frame.view().id().number(), frame.view().data().to_vec()))
        .collect();
    assert_eq!(came, expected);
    for reason in [StopReason::Absent, StopReason::OutOfRange] {
        let stopped = |case: &Case| {
            let all = case.frames.iter();
            all.filter(|(_, outcome)| *outcome == Outcome::Stopped(reason))
                .count() as u64
        };
        for (case, route) in cases.iter().zip(&left.counters.routes) {
            let counted = route.count.stopped.get(reason);
            assert_eq!(counted, stopped(case), "{} {reason:?}", route.name);
        }
    }
    println!(
        "{} frames, {} came out; {tally:?}",
        in_turn.len(),
        came.len()
    );
}
