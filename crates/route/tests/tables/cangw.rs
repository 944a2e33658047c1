//! For everything that can-gw can express, the result is the same as can-gw's.

use crate::common;

use cangate_route::*;
use common::cangw::{Job, KernelFrame, Operand, Outcome, process};
use common::{Event, Owned, Rng, decide, random_crc8, random_raw};
use frame::{Kind, flags};

const RTR: u32 = 0x4000_0000;

fn random_operand(rng: &mut Rng, fd: bool) -> Operand {
    let mut data = [0; 64];
    data.fill_with(|| rng.byte());
    Operand {
        id: rng.one_in(2),
        len: rng.one_in(3),
        data: rng.one_in(2),
        flags: fd && rng.one_in(2),
        frame: KernelFrame {
            fd,
            can_id: random_raw(rng),
            len: if rng.one_in(3) {
                rng.byte()
            } else {
                rng.below(18) as u8
            },
            flags: rng.byte(),
            len8_dlc: 0,
            data,
        },
    }
}

fn random_job(rng: &mut Rng, max_hops: u8) -> Job {
    let fd = rng.one_in(2);
    let size = if fd { 64 } else { 8 };
    let index = |rng: &mut Rng| (rng.below(2 * size) as i32 - size as i32) as i16;
    Job {
        fd,
        filter_id: random_raw(rng) & !0x2000_0000 | if rng.one_in(3) { 0x2000_0000 } else { 0 },
        filter_mask: match rng.below(6) {
            0 => 0,
            1 => 0xC000_07FF,
            2 => 0xDFFF_FFFF,
            3 => 0x2000_0000 | rng.next() as u32,
            4 => 0x700,
            _ => rng.next() as u32 & rng.next() as u32 & rng.next() as u32 & !0x2000_0000,
        },
        modify: std::array::from_fn(|_| rng.one_in(2).then(|| random_operand(rng, fd))),
        crc8: rng.one_in(2).then(|| random_crc8(rng, size as i32)),
        xor: rng.one_in(2).then(|| XorSum {
            from: index(rng),
            to: index(rng),
            result: index(rng),
            init: rng.byte(),
        }),
        limit_hops: if rng.one_in(3) {
            1 + rng.below(max_hops.into()) as u8
        } else {
            0
        },
    }
}

/// Returns the route that is equivalent to the rule.
fn route_for(job: &Job) -> Route {
    let error_filter = job.filter_mask & 0x2000_0000 != 0;
    let mut route = common::plain("rule");
    route.matching = FrameMatch {
        ids: vec![IdFilter {
            set: IdSet::Masked {
                id: job.filter_id & !0x2000_0000,
                mask: job.filter_mask,
            },
            // The kernel ignores the inversion of an error filter.
            inverted: job.filter_id & 0x2000_0000 != 0 && !error_filter,
        }],
        kinds: KindSet {
            classic: !job.fd,
            fd: job.fd,
            xl: false,
        },
        err: if error_filter {
            TriState::Yes
        } else {
            TriState::No
        },
        ..FrameMatch::default()
    };
    let mut modifies = false;
    for (op, operand) in [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set]
        .into_iter()
        .zip(&job.modify)
    {
        let Some(operand) = operand else { continue };
        modifies |= operand.id || operand.len || operand.flags || operand.data;
        let size = if job.fd { 64 } else { 8 };
        route.actions.push(Action::Modify(Modify {
            op,
            id: operand.id.then_some(IdOperand::Raw(operand.frame.can_id)),
            len: operand.len.then_some(operand.frame.len),
            flags: operand.flags.then_some(operand.frame.flags),
            data: operand.data.then(|| operand.frame.data[..size].to_vec()),
        }));
    }
    // can-gw computes checksums only if something is modified.
    if modifies {
        route.actions.extend(job.crc8.clone().map(Action::Crc8));
        route.actions.extend(job.xor.map(Action::XorSum));
    }
    route.hop_limit = (job.limit_hops > 0).then_some(job.limit_hops);
    route
}

fn to_kernel(frame: &Owned) -> KernelFrame {
    let mut data = [0; 64];
    data[..frame.data.len()].copy_from_slice(&frame.data);
    let fd = frame.header.kind() == Kind::Fd;
    KernelFrame {
        fd,
        can_id: frame.header.id().raw(),
        len: frame.header.len() as u8,
        flags: frame.header.flags() | if fd { flags::FDF } else { 0 },
        len8_dlc: frame.header.len8_dlc(),
        data,
    }
}

/// The parts of the kernel's result that a listener sees.
fn assert_same(got: &Owned, kernel: &KernelFrame, what: &str) {
    assert_eq!(got.header.id().raw(), kernel.can_id, "{what}");
    assert_eq!(got.header.len(), usize::from(kernel.len), "{what}");
    assert_eq!(got.header.len8_dlc(), kernel.len8_dlc, "{what}");
    if kernel.fd {
        // can_send sets FDF regardless of the rule.
        assert_eq!(got.header.flags(), kernel.flags & !flags::FDF, "{what}");
    }
    assert_eq!(got.data, kernel.data[..got.header.data_len()], "{what}");
}

#[test]
fn a_rule_does_what_the_kernel_does() {
    let mut rng = Rng(3);
    let (mut sent, mut deleted, mut not_seen, mut remote, mut refused) = (0, 0, 0, 0, 0);
    for _ in 0..8000 {
        let max_hops = 1 + rng.below(6) as u8;
        let job = random_job(&mut rng, max_hops);
        let routes = Routes {
            max_hops,
            routes: vec![route_for(&job)],
            ..Routes::default()
        };
        let table = match RoutingTable::compile(&routes, 2) {
            Ok(table) => table,
            // can-gw would send these frames.
            Err(why) if job.fd && format!("{why:?}").contains("FD frames remote") => {
                refused += 1;
                continue;
            }
            Err(why) => panic!("{why:?}"),
        };
        let mut memory = table.memory();
        for _ in 0..15 {
            let mut frame = common::random_frame(&mut rng);
            if frame.header.kind() == Kind::Xl {
                frame = common::random_frame(&mut rng);
                if frame.header.kind() == Kind::Xl {
                    continue;
                }
            }
            let arrival = FrameArrival {
                from: PortId(0),
                now: 0,
                hops: if rng.one_in(2) { 0 } else { rng.below(8) as u8 },
            };
            let got = decide(&table, &mut memory, arrival, &frame);
            let expected = process(&job, &to_kernel(&frame), arrival.hops, max_hops);
            let what = format!("{job:?} {frame:?} {arrival:?} {got:?} {expected:?}");
            match (&got[..], &expected) {
                ([], Outcome::NotSeen) => not_seen += 1,
                (
                    [
                        Event::Taken(0),
                        Event::Stopped(0, StopReason::HopLimit | StopReason::TooLong),
                    ],
                    Outcome::Deleted,
                ) => deleted += 1,
                ([Event::Taken(0), Event::Forward { frame, hops, .. }], Outcome::Sent(out, h)) => {
                    assert_eq!(hops, h, "{what}");
                    assert_same(frame, out, &what);
                    sent += 1;
                }
                // A frame that cannot exist on a bus comes in.
                (
                    [Event::Taken(0), Event::Stopped(0, StopReason::IdRange)],
                    Outcome::Sent(out, _),
                ) if job.fd && frame.header.id().is_rtr() && out.can_id & RTR != 0 => {
                    remote += 1;
                }
                _ => panic!("{what}"),
            }
        }
    }
    assert!(
        sent > 10_000 && deleted > 5_000 && not_seen > 10_000 && remote > 100 && refused > 100,
        "{sent} {deleted} {not_seen} {remote} {refused}"
    );
}

/// One case by hand for each common mistake.
mod by_hand {
    use super::*;

    fn sent(route: Route, frame: &Owned) -> Vec<u8> {
        let table = common::table(vec![route]);
        match &decide(&table, &mut table.memory(), common::arrival(0), frame)[..] {
            [Event::Taken(0), Event::Forward { frame, .. }] => frame.data.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn xor(from: i16, to: i16, result: i16) -> Route {
        let mut route = common::plain("xor");
        route.actions = vec![Action::XorSum(XorSum {
            from,
            to,
            result,
            init: 0,
        })];
        route
    }

    #[test]
    fn negative_indices_count_from_the_end_of_the_payload() {
        let frame = Owned::new(Kind::Classic, 0x123, &[1, 2, 4, 0]);
        assert_eq!(sent(xor(0, -2, -1), &frame), [1, 2, 4, 7]);
    }

    #[test]
    fn an_index_before_the_payload_leaves_the_frame_alone() {
        let frame = Owned::new(Kind::Classic, 0x123, &[1, 2]);
        assert_eq!(sent(xor(-3, 1, 0), &frame), [1, 2]);
    }

    #[test]
    fn crc8_of_negative_indices_is_that_of_the_fixed_kernels() {
        // CVE-2026-31570: without the fix the kernel reads and writes before the frame.
        let mut route = common::plain("crc");
        route.actions = vec![Action::Crc8(Crc8 {
            from: -4,
            to: -2,
            result: -1,
            init: 0xFF,
            final_xor: 0xFF,
            table: Crc8::table_of(0x1D),
            profile: Crc8Profile::None,
        })];
        let frame = Owned::new(Kind::Classic, 0x123, &[0xAA, 0, 0, 0, 0]);
        // SAE J1850 over 00 00 00; 00 00 00 00 gives 59 in AUTOSAR's list, checked below.
        let got = sent(route, &frame);
        let crc = |bytes: &[u8]| {
            let table = Crc8::table_of(0x1D);
            !bytes
                .iter()
                .fold(0xFF_u8, |crc, b| table[usize::from(crc ^ b)])
        };
        assert_eq!(crc(&[0, 0, 0, 0]), 0x59);
        assert_eq!(crc(b"123456789"), 0x4B);
        assert_eq!(got, [0xAA, 0, 0, 0, crc(&[0, 0, 0])]);
    }

    #[test]
    fn a_remote_frame_turned_into_a_data_frame_carries_zeros_and_what_was_set() {
        let mut route = common::plain("no rtr");
        route.actions = vec![
            Action::Modify(Modify {
                op: ModifyOp::And,
                id: Some(IdOperand::Raw(!0x4000_0000)),
                len: None,
                flags: None,
                data: None,
            }),
            Action::Modify(Modify {
                op: ModifyOp::Or,
                id: None,
                len: None,
                flags: None,
                data: Some(vec![0, 0x11]),
            }),
        ];
        let header = frame::Header::new(Kind::Classic, frame::CanId::from_raw(0x4000_0123), 3);
        let remote = Owned {
            header: header.unwrap(),
            data: Vec::new(),
        };
        assert_eq!(sent(route, &remote), [0, 0x11, 0]);
    }

    #[test]
    fn bytes_past_the_length_are_part_of_the_buffer() {
        let mut route = common::plain("grow");
        let set = |len, data: &[u8]| {
            Action::Modify(Modify {
                op: ModifyOp::Set,
                id: None,
                len,
                flags: None,
                data: Some(data.to_vec()),
            })
        };
        route.actions = vec![set(None, &[9, 9, 9, 9]), set(Some(4), &[1])];
        let frame = Owned::new(Kind::Classic, 0x123, &[0]);
        assert_eq!(sent(route, &frame), [1, 9, 9, 9]);
    }
}
