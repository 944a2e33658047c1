//! In the steady state the passage of a frame from one Linux interface to another allocates
//! nothing, by every way to receive and every way to transmit.
//!
//! This test is alone in its file, because the count is of the whole process. It has the
//! requirements of `socketcan_ways.rs`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FD_MTU, Pair, now, or_skip};
use frame::{CanId, Frame, flags};
use port::socketcan::{ReceiveBy, SocketCanSettings, TransmitBy, open};
use port::{Halves, OutgoingFrame};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

fn allocations(stats: &Stats) -> usize {
    stats.allocations + stats.reallocations
}

/// Sends the frames in and forwards them, until all are at the end; returns how many arrived.
fn pass(
    sender: &mut Halves,
    (near, far): (&mut Halves, &mut Halves),
    end: &mut Halves,
    frames: &[Frame],
) -> usize {
    for frame in frames {
        let offer = OutgoingFrame::new(frame.view(), 0);
        sender.1.transmit(now(), offer).unwrap();
    }
    let (mut arrived, start) = (0, Instant::now());
    while arrived < frames.len() && start.elapsed() < Duration::from_secs(5) {
        sender.1.flush(now()).unwrap();
        let t = now();
        near.0
            .receive(t, 64, &mut |r| {
                let offer = OutgoingFrame::new(r.frame, r.token);
                far.1.transmit(t, offer).unwrap();
            })
            .unwrap();
        far.1.flush(t).unwrap();
        // Both halves, as a worker calls them: no frames come here, and that allocates nothing
        // either.
        let nothing = far.0.receive(t, 64, &mut |_| {});
        nothing.unwrap();
        let count = &mut |_: port::ReceivedFrame<'_>| arrived += 1;
        end.0.receive(now(), 64, count).unwrap();
    }
    arrived
}

#[test]
fn none_for_a_frame_by_any_way() {
    // Frames sent on `cgza1` come in on `cgza0`, and frames sent on `cgzb0` on `cgzb1`.
    let _in = or_skip!(Pair::new("cgza", FD_MTU));
    let _out = or_skip!(Pair::new("cgzb", FD_MTU));
    let region = Region::new(ALLOCATOR);
    drop(std::hint::black_box(Box::new(1)));
    assert!(allocations(&region.change()) > 0, "the count counts");
    let frames = [
        Frame::classic(CanId::from_raw(0x123), &[1; 8]).unwrap(),
        Frame::fd(CanId::from_raw(0x7FF), flags::BRS, &[9; 64]).unwrap(),
        Frame::remote(CanId::sff(5).unwrap(), 3).unwrap(),
        Frame::classic(CanId::from_raw(0x9ABC_DEF0), &[7; 3]).unwrap(),
    ];
    let (mut tried, mut refused) = (0, Vec::new());
    for (name, receive) in ReceiveBy::ALL {
        for (way, transmit) in TransmitBy::ALL {
            let port = |interface| {
                let config = SocketCanSettings {
                    receive: Some(receive),
                    transmit: Some(transmit),
                    ..SocketCanSettings::new(interface)
                };
                open(interface, &config)
            };
            let (Ok(mut near), Ok(mut far)) = (port("cgza0"), port("cgzb0")) else {
                refused.push(format!("{name}-{way}"));
                continue;
            };
            let mut sender = open("sender", &SocketCanSettings::new("cgza1")).unwrap();
            let mut end = open("end", &SocketCanSettings::new("cgzb1")).unwrap();
            let mut round = || {
                let pair = (&mut near, &mut far);
                assert_eq!(
                    pass(&mut sender, pair, &mut end, &frames),
                    4,
                    "{name}-{way}"
                );
            };
            // Warm-up: some memory is allocated once.
            for _ in 0..3 {
                round();
            }
            let region = Region::new(ALLOCATOR);
            for _ in 0..40 {
                round();
            }
            let count = allocations(&region.change());
            assert_eq!(count, 0, "{name}-{way}: for 160 frames");
            tried += 1;
        }
    }
    // A kernel before 6.0 has no io_uring of this kind; all other ways exist everywhere.
    let old = refused.iter().all(|pair| pair.contains("io_uring"));
    assert!(old, "cannot be opened: {refused:?}");
    assert_eq!(tried + refused.len(), 28);
}
