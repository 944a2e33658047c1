//! Raw sockets on real virtual interfaces: behaviour that no fake can show.
//!
//! Needs a kernel with AF_CAN, vcan, and permission to make interfaces (`CAP_NET_ADMIN`, `ip` on
//! the path). Without them each test prints why it is skipped.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Vcan, ip, now, or_skip};
use frame::{CanId, Frame, flags};
use port::socketcan::{ReceiveBy, SocketCanSettings, TransmitBy, open};
use port::{
    FrameInterest, Halves, InterestIds, OutgoingFrame, RawFilter, StampSource, TransmitRefusal,
};
use std::time::{Duration, Instant};

fn config(interface: &str) -> SocketCanSettings {
    SocketCanSettings {
        queue: 64,
        ..SocketCanSettings::new(interface)
    }
}

fn port(interface: &str) -> Halves {
    open(interface, &config(interface)).unwrap()
}

fn classic(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::from_raw(id), data).unwrap()
}

fn send(halves: &mut Halves, frames: &[Frame]) {
    for frame in frames {
        halves
            .1
            .transmit(now(), OutgoingFrame::new(frame.view(), 0))
            .unwrap();
    }
    while halves.1.flush(now()).unwrap().held > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Takes frames until there are `count`, or nothing comes for a second.
fn take(halves: &mut Halves, count: usize) -> Vec<String> {
    let mut got = Vec::new();
    let start = Instant::now();
    while got.len() < count && start.elapsed() < Duration::from_secs(1) {
        let keep = &mut |r: port::ReceivedFrame<'_>| got.push(r.frame.to_string());
        halves.0.receive(now(), 64, keep).unwrap();
    }
    got
}

/// Waits until a condition holds.
fn until(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn frames_go_from_port_to_port_and_not_to_oneself() {
    let vcan = or_skip!(Vcan::new("cgt_pair"));
    let (mut a, mut b) = (port(&vcan.0), port(&vcan.0));
    // The kernel switches stamping on in a work queue, after the first socket asked for it.
    let mut stamped = false;
    assert!(until(|| {
        send(&mut a, &[classic(1, &[])]);
        let look =
            &mut |r: port::ReceivedFrame<'_>| stamped = r.stamp.source == StampSource::Kernel;
        b.0.receive(now(), 64, look).unwrap();
        stamped
    }));
    let sent = a.1.counters().sent;
    let before = now();
    let fd = Frame::fd(CanId::eff(0x1234).unwrap(), flags::BRS, &[3; 32]).unwrap();
    let remote = Frame::remote(CanId::sff(5).unwrap(), 3).unwrap();
    let raw_dlc = classic(7, &[9; 8]).with_len8_dlc(13);
    let frames = [classic(0x123, &[1, 2]), fd, remote, raw_dlc];
    send(&mut a, &frames);
    let mut got = Vec::new();
    b.0.receive(now(), 64, &mut |r| {
        assert_eq!(r.stamp.source, StampSource::Kernel);
        assert!(
            r.stamp.ns >= before && r.stamp.ns <= now(),
            "{}",
            r.stamp.ns
        );
        got.push(r.frame.to_string());
    })
    .unwrap();
    let expected: Vec<String> = frames.iter().map(ToString::to_string).collect();
    assert_eq!(got, expected);
    a.0.receive(now(), 64, &mut |r| panic!("own frame {}", r.frame))
        .unwrap();
    assert_eq!(a.1.counters().sent, sent + 4);
}

#[test]
fn the_kernel_leaves_out_what_is_of_no_use() {
    let vcan = or_skip!(Vcan::new("cgt_filter"));
    let (mut a, mut b) = (port(&vcan.0), port(&vcan.0));
    let only = |ids| FrameInterest {
        ids,
        ..FrameInterest::default()
    };
    let exact = |id| RawFilter {
        id,
        mask: 0xC000_07FF,
    };
    b.0.set_interest(&only(InterestIds::Filters(vec![exact(2)])))
        .unwrap();
    send(&mut a, &[classic(1, &[]), classic(2, &[]), classic(3, &[])]);
    assert_eq!(take(&mut b, 1), ["002#"]);
    b.0.set_interest(&only(InterestIds::Nothing)).unwrap();
    send(&mut a, &[classic(2, &[])]);
    let mut count = 0;
    b.0.receive(now(), 64, &mut |_| count += 1).unwrap();
    assert_eq!(count, 0);
    // More filters than the kernel takes: they are wider, but no frame of use is missing.
    let many: Vec<_> = (0..700).map(exact).collect();
    b.0.set_interest(&only(InterestIds::Filters(many))).unwrap();
    let frames: Vec<_> = (0..700).step_by(100).map(|id| classic(id, &[])).collect();
    send(&mut a, &frames);
    assert_eq!(take(&mut b, 7).len(), 7);
    let inverted = RawFilter {
        id: 2 | RawFilter::INVERTED,
        mask: 0x7FF,
    };
    b.0.set_interest(&only(InterestIds::Filters(vec![inverted])))
        .unwrap();
    send(&mut a, &[classic(2, &[]), classic(3, &[])]);
    assert_eq!(take(&mut b, 1), ["003#"]);
}

#[test]
fn down_and_up_again() {
    let vcan = or_skip!(Vcan::new("cgt_down"));
    let (mut a, mut b) = (port(&vcan.0), port(&vcan.0));
    ip(&format!("link set {} down", vcan.0)).unwrap();
    b.0.receive(now(), 64, &mut |_| {}).unwrap();
    assert!(!b.0.is_up());
    let frame = classic(1, &[]);
    let offer = |a: &mut Halves| {
        let result = a.1.transmit(now(), OutgoingFrame::new(frame.view(), 0));
        a.1.flush(now()).unwrap();
        result
    };
    // The first is still taken if the receiving half was not called before; it counts as lost.
    let _ = offer(&mut a);
    assert_eq!(offer(&mut a), Err(TransmitRefusal::Down));
    vcan.up();
    assert!(until(|| offer(&mut a).is_ok()));
    assert!(until(|| take(&mut b, 1).len() == 1 && b.0.is_up()));
    let c = a.1.counters();
    assert_eq!(c.taken, c.sent + c.lost + c.held);
    assert!(b.0.counters().reopened >= 1);
}

#[test]
fn unplugged_and_plugged_in_again() {
    let vcan = or_skip!(Vcan::new("cgt_unplug"));
    let (mut a, mut b) = (port(&vcan.0), port(&vcan.0));
    let exact = RawFilter {
        id: 0x42,
        mask: 0xC000_07FF,
    };
    let interest = FrameInterest {
        ids: InterestIds::Filters(vec![exact]),
        ..FrameInterest::default()
    };
    b.0.set_interest(&interest).unwrap();
    ip(&format!("link del {}", vcan.0)).unwrap();
    b.0.receive(now(), 64, &mut |_| {}).unwrap();
    assert!(!b.0.is_up());
    a.0.receive(now(), 64, &mut |_| {}).unwrap();
    let frame = classic(0x42, &[]);
    let refused = a.1.transmit(now(), OutgoingFrame::new(frame.view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Down));
    ip(&format!("link add dev {} type vcan", vcan.0)).unwrap();
    vcan.up();
    assert!(until(|| {
        for half in [&mut a.0, &mut b.0] {
            half.receive(now(), 64, &mut |_| {}).unwrap();
        }
        a.0.is_up() && b.0.is_up()
    }));
    send(&mut a, &[classic(0x43, &[]), frame]);
    assert_eq!(take(&mut b, 1), ["042#"], "the filters are back, too");
    assert_eq!(b.0.counters().reopened, 1);
}

#[test]
fn an_overrun_is_counted() {
    let vcan = or_skip!(Vcan::new("cgt_overrun"));
    let small = SocketCanSettings {
        receive_buffer: Some(4096),
        ..config(&vcan.0)
    };
    let mut a = port(&vcan.0);
    let mut b = open("small", &small).unwrap();
    for _ in 0..40 {
        let frames: Vec<_> = (0..50).map(|id| classic(id, &[])).collect();
        send(&mut a, &frames);
    }
    let mut got = take(&mut b, 2000).len() as u64;
    // The kernel reports with the next frame how many it dropped.
    send(&mut a, &[classic(1, &[])]);
    got += take(&mut b, 1).len() as u64;
    let lost = b.0.counters().overrun;
    assert!(lost > 0);
    assert_eq!(got + lost, 2001);
}

#[test]
fn classic_only_where_the_mtu_is_classic() {
    let vcan = or_skip!(Vcan::new("cgt_mtu"));
    ip(&format!("link set {} down", vcan.0)).unwrap();
    ip(&format!("link set {} mtu 16", vcan.0)).unwrap();
    ip(&format!("link set {} up", vcan.0)).unwrap();
    let mut a = port(&vcan.0);
    let fd = Frame::fd(CanId::sff(1).unwrap(), 0, &[0; 12]).unwrap();
    let refused = a.1.transmit(now(), OutgoingFrame::new(fd.view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Unsupported));
    send(&mut a, &[classic(1, &[])]);
}

#[test]
fn what_is_no_can_interface_is_named() {
    let _vcan = or_skip!(Vcan::new("cgt_lo"));
    let error = open("p", &config("lo")).err().unwrap().to_string();
    assert!(
        error.contains("lo is not a CAN interface") && error.contains("cgt_lo"),
        "{error}"
    );
    let error = open("p", &config("nosuchcan0")).err().unwrap().to_string();
    assert!(error.contains("no interface nosuchcan0"), "{error}");
}

/// Read and write pass the same frames, one by one, and count the frames that the socket lost.
#[test]
fn frames_one_by_one() {
    let vcan = or_skip!(Vcan::new("cgone"));
    let one_by_one = SocketCanSettings {
        receive: Some(ReceiveBy::Read),
        transmit: Some(TransmitBy::Write),
        qdisc_bypass: false,
        receive_buffer: Some(4096),
        ..config(&vcan.0)
    };
    let mut a = open("a", &one_by_one).unwrap();
    let mut b = port(&vcan.0);
    let fd = Frame::fd(CanId::from_raw(0x7FF), flags::BRS, &[9; 64]).unwrap();
    let frames = [classic(1, &[1, 2]), fd, classic(3, &[])];
    send(&mut a, &frames);
    let expected: Vec<String> = frames.iter().map(|f| f.view().to_string()).collect();
    assert_eq!(take(&mut b, 3), expected);
    send(&mut b, &frames);
    assert_eq!(take(&mut a, 3), expected);
    let many: Vec<Frame> = (0..200).map(|n| classic(n, &[0; 8])).collect();
    send(&mut b, &many);
    let got = take(&mut a, 200).len() as u64;
    assert!(got < 200);
    assert_eq!(a.0.counters().overrun, 200 - got);
}
