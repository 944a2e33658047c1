//! Conditions on signals and assignments to them: the results, and the instructions that they cost.

use super::super::check::survey;
use super::EmulatedTable;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind};
use route::parts::{BitMeaning, ByteOrder, FieldLayout, FieldTest, SignalField};
use route::{
    IdOperand, KernelPort, Modify, ModifyOp, PayloadPattern, PortId, Route, Routes,
    SignalCondition, StopReason,
};

#[path = "../../../../route/tests/exact/mod.rs"]
mod exact;

use exact::{Case, Outcome};

/// Returns the outcome of a frame by BPF.
fn outcome(table: &mut EmulatedTable, frame: FrameRef<'_>) -> Outcome {
    let before = table.counts(0);
    let run = table.run(0, frame);
    let after = table.counts(0);
    let counted = std::array::from_fn(|at| after[at] - before[at]);
    let counted: [u64; 3 + StopReason::ALL.len()] = counted;
    let [taken, sent, stopped @ .., failed] = counted;
    assert_eq!(failed, 0);
    assert_eq!(taken, sent + stopped.iter().sum::<u64>());
    assert_eq!(sent, run.sent.len() as u64);
    if let [(ifindex, bytes)] = &run.sent[..] {
        let header = frame.header();
        assert_eq!((*ifindex, usize::from(bytes[4])), (2, header.len()));
        assert_eq!(bytes[..4], frame.id().raw().to_le_bytes());
        return Outcome::Sent(bytes[8..8 + header.data_len()].to_vec());
    }
    let reasons = StopReason::ALL.iter().zip(stopped);
    match reasons.into_iter().find(|(_, count)| *count == 1) {
        Some((reason, _)) => Outcome::Stopped(*reason),
        None => Outcome::NotTaken,
    }
}

/// Runs a case by BPF; returns whether BPF can express it.
fn run(case: &Case) -> bool {
    let ports = ["a", "b"].map(|name| Some(KernelPort::new(name)));
    if !survey(&case.routes, &ports, &[]).is_empty() {
        return false;
    }
    let mut table = EmulatedTable::load(&case.routes, 2);
    case.check(|frame| outcome(&mut table, frame));
    true
}

#[test]
fn signals_in_bpf_equal_those_of_exact_numbers() {
    let tally = exact::run(1, 20_000, run);
    tally.check();
    // Nine bytes, more than eight comparisons, assignments that swap or need more than 64 bits.
    assert!(tally.refused < tally.cases / 5, "{tally:?}");
}

/// Frames in such numbers that they take half a minute, and the build of the test with optimization
/// as long.
mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn millions_of_signals_in_bpf_equal_those_of_exact_numbers() {
        let tally = exact::run(2, 10_000_000, run);
        tally.check();
        println!("{tally:?}");
    }
}

/// Where the signals of a condition are, and in which frame.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: Kind,
    order: ByteOrder,
    /// The first byte of a signal of two bytes.
    byte: u16,
}

/// Returns the instructions that the program executes for a frame in which the signal is 50, with
/// alternatives of ranges.
fn executed(place: Place, alternatives: &[Vec<(u64, u64)>]) -> (u64, bool) {
    let start = 8 * place.byte
        + if place.order == ByteOrder::Intel {
            0
        } else {
            7
        };
    let layout = FieldLayout {
        start,
        bits: 16,
        order: place.order,
    };
    let size = if place.kind == Kind::Fd { 64 } else { 8 };
    let field = SignalField::new(layout, size).unwrap();
    let test = |range: &(u64, u64)| FieldTest::new(field, BitMeaning::Signed, *range, false);
    let alternatives = alternatives
        .iter()
        .map(|tests| tests.iter().map(|range| test(range).unwrap()).collect());
    let mut route = Route::new("when", vec![PortId(0)], vec![PortId(1)]);
    route.matching.when = Some(SignalCondition {
        text: String::new(),
        alternatives: alternatives.collect(),
    });
    let routes = Routes {
        routes: vec![route],
        ..Routes::default()
    };
    let mut table = EmulatedTable::load(&routes, 2);
    let mut frame = FrameBuf::new();
    frame.reset(Header::new(place.kind, CanId::from_raw(0x123), size).unwrap());
    field.write(&mut frame.buffer_mut()[..size], 50);
    let run = table.run(0, frame.view());
    (run.instructions, !run.sent.is_empty())
}

const PASSES: (u64, u64) = (40, 60);
const FAILS: (u64, u64) = (51, 60);

/// Issue 30's bound for one comparison.
const BOUND: u64 = 15;

#[test]
fn a_comparison_is_at_most_fifteen_instructions() {
    for (kind, byte) in [(Kind::Classic, 3), (Kind::Fd, 3), (Kind::Fd, 40)] {
        for order in [ByteOrder::Intel, ByteOrder::Motorola] {
            let place = Place { kind, order, byte };
            let all = |count: usize| executed(place, &[vec![PASSES; count]]);
            let (one, took) = all(1);
            assert!(took, "{place:?}");
            let mut most = 0;
            for count in 2..=8 {
                let ((before, _), (after, took)) = (all(count - 1), all(count));
                assert!(took, "{place:?} {count}");
                most = most.max(after - before);
            }
            // The last comparison of an alternative fails, and the next alternative begins.
            let mut most_failed = 0;
            for count in 2..=8 {
                let failing = |failed: usize| {
                    let mut alternatives = vec![vec![FAILS]; failed];
                    alternatives.push(vec![PASSES]);
                    executed(place, &alternatives)
                };
                let ((before, _), (after, took)) = (failing(count - 2), failing(count - 1));
                assert!(took, "{place:?} {count}");
                most_failed = most_failed.max(after - before);
            }
            println!(
                "{place:?}: {most} for a comparison that passes, {most_failed} for one that fails \
                 and the next alternative's beginning; {one} for a frame with one comparison"
            );
            assert!(most <= BOUND, "{place:?}: {most}");
            // The beginning of an alternative is the comparison of the length: two instructions.
            assert!(most_failed <= BOUND + 2, "{place:?}: {most_failed}");
        }
    }
}

#[test]
fn a_frame_that_one_comparison_refuses_ends_there() {
    for (kind, byte) in [(Kind::Classic, 3), (Kind::Fd, 40)] {
        let place = Place {
            kind,
            order: ByteOrder::Motorola,
            byte,
        };
        let (first, took) = executed(place, &[vec![FAILS; 8]]);
        assert!(!took);
        // Comparisons behind the one that fails are passed over: three instructions each.
        let (alone, took) = executed(place, &[vec![FAILS]]);
        assert!(!took);
        assert!(first <= alone + 7 * 3, "{place:?}: {first} and {alone}");
    }
}

/// Returns the instructions for a frame of eight or 64 bytes of zeros, and whether it was sent.
fn executed_by(route: Route, kind: Kind) -> (u64, bool) {
    let routes = Routes {
        routes: vec![route],
        ..Routes::default()
    };
    let mut table = EmulatedTable::load(&routes, 2);
    let len = if kind == Kind::Fd { 64 } else { 8 };
    let mut frame = FrameBuf::new();
    frame.reset(Header::new(kind, CanId::from_raw(0x123), len).unwrap());
    let run = table.run(0, frame.view());
    (run.instructions, !run.sent.is_empty())
}

/// The bounds are the instructions before conditions on signals had their present form: a table
/// without conditions does not pay for them.
#[test]
fn tables_without_conditions_cost_no_more_than_before() {
    let plain = || Route::new("plain", vec![PortId(0)], vec![PortId(1)]);
    let with_pattern = |value: u8| {
        let mut route = plain();
        route.matching.payload.push(PayloadPattern {
            at: 1,
            value: vec![value, 0],
            mask: vec![0xFF, 0x0F],
        });
        route
    };
    let with_action = || {
        let mut route = plain();
        let set = IdOperand::Raw(0x321);
        route.actions.push(
            Modify {
                op: ModifyOp::Set,
                id: Some(set),
                len: None,
                flags: None,
                data: None,
            }
            .into(),
        );
        route
    };
    for (name, route, kind, is_sent, bound) in [
        ("plain", plain(), Kind::Classic, true, 110),
        ("plain, FD", plain(), Kind::Fd, true, 378),
        ("sets the ID", with_action(), Kind::Classic, true, 124),
        ("sets the ID, FD", with_action(), Kind::Fd, true, 549),
        ("pattern", with_pattern(0), Kind::Classic, true, 423),
        ("pattern, FD", with_pattern(0), Kind::Fd, true, 470),
        ("other pattern", with_pattern(1), Kind::Classic, false, 268),
        ("other pattern, FD", with_pattern(1), Kind::Fd, false, 277),
    ] {
        let (instructions, sent) = executed_by(route, kind);
        println!("{name}: {instructions}");
        assert_eq!(sent, is_sent, "{name}");
        assert!(instructions <= bound, "{name}: {instructions}");
    }
}
