//! Every frame has one fate, with any failures in any order.

use super::bench::{Bench, UP, bench_with, classic};
use crate::OutgoingFrame;
use linux::Errno;
use linux::can::InterfaceState;
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(super) enum Op {
    Offer(bool),
    Flush(Vec<Option<Errno>>),
    Link(bool),
    Later,
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let error = prop_oneof![
        4 => Just(None),
        2 => Just(Some(Errno::NOBUFS)),
        1 => Just(Some(Errno::AGAIN)),
        1 => Just(Some(Errno::INTR)),
        1 => Just(Some(Errno::NETDOWN)),
        1 => Just(Some(Errno::NODEV)),
        1 => Just(Some(Errno::INVAL)),
    ];
    prop_oneof![
        6 => any::<bool>().prop_map(Op::Offer),
        3 => prop::collection::vec(error, 0..4).prop_map(Op::Flush),
        1 => any::<bool>().prop_map(Op::Link),
        1 => Just(Op::Later),
    ]
}

/// Checks that each frame that was taken is sent once, in order, or counted as lost, or held.
pub(super) fn each_has_one_fate(mut bench: Bench, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let (mut now, mut taken, mut out) = (0, 0u32, Vec::new());
    for op in ops {
        match op {
            Op::Offer(echo) => {
                let frame = classic(taken);
                let outgoing = OutgoingFrame {
                    echo,
                    ..OutgoingFrame::new(frame.view(), 0)
                };
                taken += u32::from(bench.tx.transmit(now, outgoing).is_ok());
                out.extend(bench.sent());
            }
            Op::Flush(errors) => {
                *bench.line().send_errors.lock().unwrap() = errors.into();
                let report = bench.tx.flush(now).unwrap();
                let new = bench.sent();
                prop_assert_eq!(new.len(), report.sent);
                out.extend(new);
                prop_assert_eq!(bench.tx.counters().held, report.held as u64);
            }
            Op::Link(up) => bench.set_link(Ok(InterfaceState { up, ..UP })),
            Op::Later => now += 600_000_000,
        }
        let c = bench.tx.counters();
        prop_assert_eq!(c.taken, u64::from(taken));
        prop_assert_eq!(c.taken, c.sent + c.lost + c.held);
        prop_assert_eq!(c.sent, out.len() as u64);
    }
    let number = |text: &String| u32::from_str_radix(&text[text.len() - 8..], 16).unwrap();
    let numbers: Vec<u32> = out.iter().map(number).collect();
    prop_assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "{numbers:?}"
    );
    Ok(())
}

proptest! {
    #[test]
    fn every_frame_taken_has_one_fate(
        ops in prop::collection::vec(op(), 1..100), queue in 1usize..9,
    ) {
        each_has_one_fate(bench_with(queue, UP), ops)?;
    }
}
