//! Frames of every kind, full queues and buffers, echo.

use super::super::config::{ReceiveBy, TransmitBy};
use super::bench::{Bench, UP, bench, bench_by, bench_with, classic};
use crate::{OutgoingFrame, TransmitRefusal};
use frame::{CanId, Frame, FrameBuf, Header, Kind, flags, wire};
use linux::Errno;
use linux::can::InterfaceState;
use linux::can::layout::{CLASSIC_SIZE, XL_SIZE};

#[test]
fn frames_of_every_kind_come_and_go() {
    for receive in [ReceiveBy::Recvmmsg, ReceiveBy::Read] {
        for transmit in [TransmitBy::Sendmmsg, TransmitBy::Write] {
            every_kind_by((receive, transmit));
        }
    }
}

pub(super) fn fd() -> Frame {
    Frame::fd(CanId::eff(5).unwrap(), flags::BRS, &[7; 24]).unwrap()
}

/// Sends a frame of each kind; returns the frames that were seen on the bus.
pub(super) fn one_of_each_goes(bench: &mut Bench) -> [String; 3] {
    let fd = fd();
    let mut xl = FrameBuf::new();
    xl.reset(Header::new(Kind::Xl, CanId::from_raw(9), 300).unwrap());
    for view in [classic(1).view(), fd.view(), xl.view()] {
        bench.tx.transmit(0, OutgoingFrame::new(view, 0)).unwrap();
    }
    let report = bench.tx.flush(0).unwrap();
    assert_eq!((report.sent, report.held), (3, 0));
    let expected = [
        classic(1).view().to_string(),
        fd.view().to_string(),
        xl.view().to_string(),
    ];
    assert_eq!(bench.sent(), expected);
    expected
}

fn every_kind_by(by: (ReceiveBy, TransmitBy)) {
    let link = InterfaceState { mtu: XL_SIZE, ..UP };
    let mut bench = bench_by(by, 8, link);
    let expected = one_of_each_goes(&mut bench);
    bench.come(&classic(3));
    bench.come(&fd());
    let mut got = bench.take(0);
    if by.0 == ReceiveBy::Read {
        // One per call; the next poll returns the next one.
        assert_eq!(got.len(), 1);
        got.extend(bench.take(0));
    }
    assert_eq!(got, ["003#00000003", &expected[1]]);
    assert_eq!(bench.take(0).len(), 0, "nothing there is no error");
}

/// Checks that the same frames are held, refused and lost with another way to move them.
#[test]
fn one_by_one_a_full_queue_loses_nothing() {
    let mut bench = bench_by((ReceiveBy::Read, TransmitBy::Write), 4, UP);
    for id in 0..4 {
        bench.offer(0, id).unwrap();
    }
    let errors = [None, Some(Errno::NOBUFS)];
    bench.line().send_errors.lock().unwrap().extend(errors);
    let report = bench.tx.flush(0).unwrap();
    assert_eq!((report.sent, report.held), (1, 3));
    assert_eq!(bench.offer(0, 4), Ok(crate::Accepted));
    assert_eq!(bench.offer(0, 5), Err(TransmitRefusal::Full));
    assert_eq!(bench.tx.flush(1_000_000).unwrap().sent, 4);
    let expected: Vec<String> = (0..5).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(bench.sent(), expected);
    assert_eq!(bench.tx.counters().taken, 5);
}

#[test]
fn what_is_no_frame_is_counted() {
    let mut bench = bench();
    bench.bus.send(&[0; 15]).unwrap();
    bench.come(&classic(3));
    let mut long = [0; CLASSIC_SIZE];
    long[4] = 9;
    bench.bus.send(&long).unwrap();
    assert_eq!(bench.take(0).len(), 1);
    assert_eq!(bench.rx.counters().malformed, 2);
}

#[test]
fn the_bits_on_the_bus_are_counted_on_both_sides() {
    let mut bench = bench();
    let frames = [
        classic(3),
        "12345678#112233".parse().unwrap(),
        "123#R5".parse().unwrap(),
        "123##1112233445566778899".parse().unwrap(),
        "123##0112233445566778899".parse().unwrap(),
        // Error frames are not on the bus.
        "20000080#0000000000000000".parse().unwrap(),
    ];
    let mut expected = (0, 0);
    for frame in &frames {
        if wire::length(frame.view()).is_some() {
            let least = wire::unstuffed(&frame.header());
            expected.0 += u64::from(least.nominal);
            expected.1 += u64::from(least.data);
        }
        bench.come(frame);
        let _ = bench.tx.transmit(0, OutgoingFrame::new(frame.view(), 0));
        bench.tx.flush(0).unwrap();
    }
    bench.take(0);
    let (rx, tx) = (bench.rx.counters(), bench.tx.counters());
    assert_eq!((rx.bits, rx.data_bits), expected);
    assert_eq!(
        (tx.bits, tx.data_bits, tx.sent),
        (expected.0, expected.1, 5)
    );
    // A frame that is taken back was not sent.
    bench
        .line()
        .send_errors
        .lock()
        .unwrap()
        .push_back(Some(Errno::NOBUFS));
    bench
        .tx
        .transmit(0, OutgoingFrame::new(frames[3].view(), 0))
        .unwrap();
    bench.tx.flush(0).unwrap();
    assert!(bench.tx.recall());
    let tx = bench.tx.counters();
    assert_eq!((tx.bits, tx.data_bits), expected);
}

#[test]
fn a_budget_is_kept_over_several_batches() {
    let mut bench = bench();
    let mut got = 0;
    for round in 0..30 {
        for id in 0..5 {
            bench.come(&classic(round * 5 + id));
        }
        let report = bench.rx.receive(0, 3, &mut |_| got += 1).unwrap();
        assert_eq!((report.frames, report.more), (3, true));
        let report = bench.rx.receive(0, 100, &mut |_| got += 1).unwrap();
        assert_eq!((report.frames, report.more), (2, false));
    }
    assert_eq!(got, 150);
}

#[test]
fn no_buffers_means_later_not_lost() {
    let mut bench = bench();
    for id in 0..4 {
        bench.offer(0, id).unwrap();
    }
    let errors = [Some(Errno::NOBUFS), Some(Errno::NOBUFS)];
    bench.line().send_errors.lock().unwrap().extend(errors);
    assert_eq!(bench.tx.flush(1_000).unwrap().held, 4);
    assert!(!bench.tx.wait().writable, "poll would say writable at once");
    assert!(bench.tx.deadline().is_some_and(|at| at > 1_000));
    assert_eq!(bench.tx.flush(2_000_000).unwrap().held, 4);
    assert_eq!(bench.tx.flush(3_000_000).unwrap().sent, 4);
    assert_eq!(bench.sent().len(), 4);
    let counters = bench.tx.counters();
    assert_eq!((counters.sent, counters.lost, counters.stalled), (4, 0, 2));
    assert_eq!(bench.tx.wait(), crate::PortWait::default());
    assert_eq!(bench.tx.deadline(), None);
}

#[test]
fn a_full_socket_buffer_is_polled_for() {
    let mut bench = bench_with(4096, UP);
    assert!((0..4096).all(|id| bench.offer(0, id).is_ok()));
    let report = bench.tx.flush(0).unwrap();
    assert!(
        report.held > 0,
        "the peer's queue took everything: nothing is shown"
    );
    assert!(bench.tx.wait().writable && bench.tx.wait().fd.is_some());
    let mut out = bench.sent();
    while bench.tx.flush(0).unwrap().held > 0 {
        out.extend(bench.sent());
    }
    out.extend(bench.sent());
    let expected: Vec<String> = (0..4096).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_full_ring_refuses() {
    let mut bench = bench_with(2, UP);
    assert!(bench.offer(0, 1).is_ok() && bench.offer(0, 2).is_ok());
    let errors = &bench.line().send_errors;
    errors.lock().unwrap().push_back(Some(Errno::NOBUFS));
    assert_eq!(bench.offer(0, 3), Err(TransmitRefusal::Full));
    // The interface has just reported that it has no room: it is not tried for every frame.
    assert_eq!(bench.offer(0, 3), Err(TransmitRefusal::Full));
    assert_eq!(bench.tx.counters().stalled, 1);
    bench.tx.flush(1_000_000).unwrap();
    assert!(bench.offer(1_000_000, 3).is_ok());
}

#[test]
fn a_batch_larger_than_the_ring_leaves_as_it_comes() {
    let mut bench = bench_with(2, UP);
    assert!((0..7).all(|id| bench.offer(0, id).is_ok()));
    bench.tx.flush(0).unwrap();
    let expected: Vec<String> = (0..7).map(|id| classic(id).view().to_string()).collect();
    assert_eq!(bench.sent(), expected);
    assert!((0..2).all(|id| bench.offer(0, id).is_ok()));
    bench
        .line()
        .send_errors
        .lock()
        .unwrap()
        .push_back(Some(Errno::NETDOWN));
    bench.set_link(Ok(InterfaceState { up: false, ..UP }));
    assert_eq!(bench.offer(0, 3), Err(TransmitRefusal::Down));
    assert_eq!(bench.tx.counters().lost, 2);
}

/// After the last frame of a flood, there is no further frame with which the kernel could report
/// the loss.
#[test]
fn what_was_lost_after_the_last_frame_is_counted_too() {
    let bench = bench();
    let set = |lost| *bench.line().lost.lock().unwrap() = lost;
    assert_eq!(bench.rx.counters().overrun, 0, "a kernel that does not say");
    set(Some(7));
    assert_eq!(bench.rx.counters().overrun, 7);
    assert_eq!(bench.rx.counters().overrun, 7, "once");
    set(Some(9));
    assert_eq!(bench.rx.counters().overrun, 9);
}

#[test]
fn echo_follows_the_route_where_the_driver_can() {
    let echoes = |echo: bool| {
        let mut bench = bench_with(8, InterfaceState { echo, ..UP });
        bench.calls();
        for (id, echo) in [(1, false), (2, false), (3, true), (4, false)] {
            let frame = classic(id);
            let outgoing = OutgoingFrame {
                echo,
                ..OutgoingFrame::new(frame.view(), 0)
            };
            bench.tx.transmit(0, outgoing).unwrap();
        }
        bench.tx.flush(0).unwrap();
        assert_eq!(bench.sent().len(), 4);
        bench.calls()
    };
    assert_eq!(
        echoes(true),
        ["loopback false", "loopback true", "loopback false"]
    );
    assert_eq!(echoes(false), ["loopback true"]);
}
