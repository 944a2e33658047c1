//! The same halves by io_uring, if this machine has it.

use super::super::receive::uring::ByUring as ReceiveByUring;
use super::super::shared::SharedSockets;
use super::super::transmit::RawTransmit;
use super::super::transmit::uring::ByUring as TransmitByUring;
use super::bench::{Bench, End, Failing, UP, bench_with, classic, receiving};
use super::fates::{each_has_one_fate, op};
use super::frames::{fd, one_of_each_goes};
use linux::Errno;
use linux::can::InterfaceState;
use linux::can::layout::XL_SIZE;
use proptest::prelude::*;
use std::sync::Arc;

/// Returns a bench by io_uring; prints a message and returns `None` if there is no io_uring.
fn uring(queue: usize, link: InterfaceState) -> Option<Bench> {
    let mut bench = bench_with(queue, link);
    let end = End(Arc::clone(&bench.fake));
    let shared = SharedSockets::attach(end.clone(), "engine", "can7", Vec::new(), false).unwrap();
    let shared = Arc::new(shared);
    let ways = ReceiveByUring::new(end.clone(), XL_SIZE)
        .and_then(|rx| Ok((rx, TransmitByUring::new(end, queue, XL_SIZE)?)));
    let (rx, way) = match ways {
        Ok(ways) => ways,
        Err(why) => {
            eprintln!("SKIPPED because {why}");
            return None;
        }
    };
    let fake = Arc::clone(&bench.fake);
    bench.rx = receiving(&fake, &shared, rx);
    let way = Failing { way, fake };
    bench.tx = Box::new(RawTransmit::new(shared, way, queue, (true, true)));
    bench.calls();
    Some(bench)
}

#[test]
fn frames_of_every_kind_come_and_go_by_io_uring() {
    let link = InterfaceState { mtu: XL_SIZE, ..UP };
    let Some(mut bench) = uring(8, link) else {
        return;
    };
    let expected = one_of_each_goes(&mut bench);
    assert_eq!(bench.rx.deadline(), Some(0), "no request was started");
    assert!(bench.take(0).is_empty());
    assert_eq!(bench.rx.deadline(), None);
    assert!(bench.rx.wait().fd.is_some());
    bench.come(&classic(3));
    bench.bus.send(&[0; 15]).unwrap();
    bench.come(&fd());
    assert_eq!(bench.take(0), ["003#00000003", &expected[1]]);
    assert_eq!(bench.rx.counters().malformed, 1);
    assert!(bench.take(0).is_empty(), "nothing there is no error");
}

/// With more frames than buffers, the others wait in the socket, and are requested at once.
#[test]
fn frames_that_find_no_buffer_wait_in_the_socket() {
    let Some(mut bench) = uring(8, UP) else {
        return;
    };
    assert!(bench.take(0).is_empty());
    let expected: Vec<String> = (0..150).map(|id| classic(id).view().to_string()).collect();
    for id in 0..150 {
        bench.come(&classic(id));
    }
    let mut got = Vec::new();
    for _ in 0..10 {
        got.extend(bench.take(0));
    }
    assert_eq!(got, expected);
}

#[test]
fn down_and_up_again_by_io_uring() {
    let Some(mut bench) = uring(8, UP) else {
        return;
    };
    bench.offer(0, 1).unwrap();
    bench.set_link(Ok(InterfaceState { up: false, ..UP }));
    let errors = &bench.line().receive_errors;
    errors.lock().unwrap().push_back(Errno::NETDOWN);
    assert!(bench.take(0).is_empty());
    assert!(!bench.rx.is_up());
    assert_eq!(bench.tx.flush(0).unwrap().held, 0);
    assert_eq!(bench.tx.counters().lost, 1, "what waited is stale");
    bench.set_link(Ok(UP));
    assert!(bench.take(600_000_000).is_empty());
    assert!(bench.rx.is_up());
    bench.come(&classic(1));
    assert_eq!(bench.take(600_000_000).len(), 1);
    assert!(bench.offer(600_000_000, 2).is_ok());
    assert_eq!(bench.tx.flush(600_000_000).unwrap().sent, 1);
    assert_eq!(bench.sent(), [classic(2).view().to_string()]);
}

proptest! {
    /// Checks the same as with system calls, with chains of requests that end anywhere.
    #[test]
    fn every_frame_taken_by_io_uring_has_one_fate(
        ops in prop::collection::vec(op(), 1..60), queue in 1usize..9,
    ) {
        if let Some(bench) = uring(queue, UP) {
            each_has_one_fate(bench, ops)?;
        }
    }
}
