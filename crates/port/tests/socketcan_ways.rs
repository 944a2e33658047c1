//! Every way to receive with every way to transmit, on real virtual interfaces: the same frames,
//! the same counts.
//!
//! Needs a kernel with AF_CAN, vcan and vxcan, and permission to make interfaces (`CAP_NET_ADMIN`,
//! `ip` on the path). Without them each test prints why it is skipped.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FD_MTU, Pair, ip, now, or_skip};
use frame::{CanId, Frame, flags};
use port::socketcan::{ReceiveBy, SocketCanSettings, TransmitBy, open};
use port::{FrameInterest, Halves, InterestIds, OutgoingFrame, RawFilter, TransmitRefusal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::Command;
use std::time::{Duration, Instant};

/// Opens a port on one end, with these ways.
fn port(pair: &Pair, (receive, transmit): (ReceiveBy, TransmitBy)) -> Halves {
    let config = SocketCanSettings {
        receive: Some(receive),
        transmit: Some(transmit),
        ..SocketCanSettings::new(&pair.near)
    };
    open("near", &config).unwrap()
}

/// Opens a port on the other end of the pair.
fn peer(pair: &Pair) -> Halves {
    open("far", &SocketCanSettings::new(&pair.far)).unwrap()
}

/// Returns all pairs of ways that can be opened.
fn pairs() -> impl Iterator<Item = (ReceiveBy, TransmitBy)> {
    let receive = ReceiveBy::ALL.into_iter().map(|(_, by)| by);
    let receive = receive.filter(|by| *by != ReceiveBy::IoUring);
    receive.flat_map(|receive| {
        let transmit = TransmitBy::ALL.into_iter().map(|(_, by)| by);
        let transmit = transmit.filter(|by| *by != TransmitBy::IoUring);
        transmit.map(move |transmit| (receive, transmit))
    })
}

fn classic(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::from_raw(id), data).unwrap()
}

/// Returns a frame of each kind that any interface carries.
fn frames() -> Vec<Frame> {
    vec![
        classic(0x123, &[1, 2, 3]),
        Frame::fd(CanId::eff(0x1234).unwrap(), flags::BRS, &[3; 32]).unwrap(),
        Frame::remote(CanId::sff(5).unwrap(), 3).unwrap(),
        classic(0x9ABC_DEF0, &[7; 8]),
        classic(7, &[9; 8]).with_len8_dlc(13),
        Frame::fd(CanId::from_raw(0x7FF), 0, &[9; 64]).unwrap(),
        classic(0, &[]),
    ]
}

fn texts(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(ToString::to_string).collect()
}

fn send(halves: &mut Halves, frames: &[Frame]) {
    for frame in frames {
        while halves
            .1
            .transmit(now(), OutgoingFrame::new(frame.view(), 0))
            == Err(TransmitRefusal::Full)
        {
            halves.1.flush(now()).unwrap();
        }
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

/// Returns all frames that there are now.
fn rest(halves: &mut Halves) -> Vec<String> {
    let mut got = Vec::new();
    for _ in 0..100 {
        let keep = &mut |r: port::ReceivedFrame<'_>| got.push(r.frame.to_string());
        halves.0.receive(now(), 64, keep).unwrap();
    }
    got
}

fn until(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn frames_of_every_kind_come_and_go_by_every_pair() {
    let pair = or_skip!(Pair::new("cgwk", FD_MTU));
    for by in pairs() {
        let (mut near, mut far) = (port(&pair, by), peer(&pair));
        let frames = frames();
        send(&mut near, &frames);
        assert_eq!(take(&mut far, frames.len()), texts(&frames), "{by:?}");
        send(&mut far, &frames);
        assert_eq!(take(&mut near, frames.len()), texts(&frames), "{by:?}");
        assert_eq!(rest(&mut near), [""; 0], "its own frames: {by:?}");
        let c = near.1.counters();
        let all = frames.len() as u64;
        assert_eq!(
            (c.taken, c.sent, c.lost, c.held),
            (all, all, 0, 0),
            "{by:?}"
        );
        let c = near.0.counters();
        assert_eq!((c.overrun, c.malformed), (0, 0), "{by:?}");
    }
}

/// As with raw sockets, frames that other programs send on the interface are received.
#[test]
fn frames_of_other_programs_on_the_interface_are_received() {
    let pair = or_skip!(Pair::new("cgwl", FD_MTU));
    for by in pairs() {
        let mut near = port(&pair, by);
        let mut other = open("other", &SocketCanSettings::new(&pair.near)).unwrap();
        send(&mut other, &[classic(0x77, &[1])]);
        assert_eq!(take(&mut near, 1), ["077#01"], "{by:?}");
    }
}

#[test]
fn the_kernel_leaves_out_what_is_of_no_use_by_every_way() {
    let pair = or_skip!(Pair::new("cgwf", FD_MTU));
    for by in pairs().filter(|by| by.1 == TransmitBy::Sendmmsg) {
        let (mut near, mut far) = (port(&pair, by), peer(&pair));
        let exact = |id| RawFilter {
            id,
            mask: 0xC000_07FF,
        };
        let inverted = RawFilter {
            id: 2 | RawFilter::INVERTED,
            mask: 0x7FF,
        };
        let many = |n| (0..n).map(exact).collect::<Vec<_>>();
        let cases: [(InterestIds, &[&str]); 5] = [
            (
                InterestIds::Filters(vec![exact(2), exact(4)]),
                &["002#", "004#"],
            ),
            (InterestIds::Nothing, &[]),
            (
                InterestIds::Filters(vec![inverted]),
                // For the EFF frame, too, only the bits of the mask count.
                &["001#", "003#", "004#"],
            ),
            (
                InterestIds::Filters(many(500)),
                &["001#", "002#", "003#", "004#"],
            ),
            (
                InterestIds::Everything,
                &["001#", "002#", "003#", "004#", "00000002#"],
            ),
        ];
        for (ids, expected) in cases {
            let what = format!("{by:?} {ids:?}");
            let interest = FrameInterest {
                ids,
                ..FrameInterest::default()
            };
            near.0.set_interest(&interest).unwrap();
            let ids = [1, 2, 3, 4, 0x8000_0002];
            let frames: Vec<Frame> = ids.map(|id| classic(id, &[])).into();
            send(&mut far, &frames);
            // vxcan delivers in a softirq, which may run in another thread for a moment.
            let got = take(&mut near, expected.len());
            std::thread::sleep(Duration::from_millis(2));
            let got = [got, rest(&mut near)].concat();
            assert_eq!(got, expected, "{what}");
        }
    }
}

#[test]
fn what_finds_no_room_is_counted_by_every_way() {
    let pair = or_skip!(Pair::new("cgwo", FD_MTU));
    for by in pairs().filter(|by| by.1 == TransmitBy::Sendmmsg) {
        let config = SocketCanSettings {
            receive: Some(by.0),
            receive_buffer: Some(4096),
            ..SocketCanSettings::new(&pair.near)
        };
        let (mut near, mut far) = (open("near", &config).unwrap(), peer(&pair));
        let frames: Vec<_> = (0..500).map(|id| classic(id, &[])).collect();
        send(&mut far, &frames);
        std::thread::sleep(Duration::from_millis(10));
        let lost_before = near.0.counters().overrun;
        assert!(lost_before > 0, "{by:?}");
        let mut got = rest(&mut near).len();
        got += take(&mut near, 500 - got - lost_before as usize).len();
        assert_eq!(got as u64 + near.0.counters().overrun, 500, "{by:?}");
        // Frames that were counted are not counted again.
        send(&mut far, &[classic(1, &[])]);
        got += take(&mut near, 1).len();
        assert_eq!(got as u64 + near.0.counters().overrun, 501, "{by:?}");
    }
}

#[test]
fn an_interface_goes_down_and_comes_back_by_every_pair() {
    let pair = or_skip!(Pair::new("cgwd", FD_MTU));
    for by in pairs() {
        let (mut near, mut far) = (port(&pair, by), peer(&pair));
        ip(&format!("link set {} down", pair.near)).unwrap();
        assert!(
            until(|| {
                // A busy ring asks for an error only now and then.
                rest(&mut near);
                let _ = near
                    .1
                    .transmit(now(), OutgoingFrame::new(classic(1, &[]).view(), 0));
                near.1.flush(now()).unwrap();
                !near.0.is_up()
            }),
            "{by:?}"
        );
        let refused = near
            .1
            .transmit(now(), OutgoingFrame::new(classic(1, &[]).view(), 0));
        assert_eq!(refused, Err(TransmitRefusal::Down), "{by:?}");
        ip(&format!("link set {} up", pair.near)).unwrap();
        let mut sent = 0;
        assert!(
            until(|| {
                rest(&mut far);
                let offer = near
                    .1
                    .transmit(now(), OutgoingFrame::new(classic(2, &[]).view(), 0));
                sent += u32::from(offer.is_ok());
                near.1.flush(now()).unwrap();
                near.0.is_up() && take(&mut far, 1) == ["002#"]
            }),
            "{by:?}"
        );
        assert_eq!(sent, 1, "none is lost after it is up: {by:?}");
        assert!(
            until(|| {
                send(&mut far, &[classic(3, &[])]);
                take(&mut near, 1) == ["003#"]
            }),
            "{by:?}"
        );
        let c = near.1.counters();
        assert_eq!(c.taken, c.sent + c.lost + c.held, "{by:?}");
        assert!(near.0.counters().reopened >= 1, "{by:?}");
    }
}

#[test]
fn an_interface_is_unplugged_and_plugged_in_again_by_every_pair() {
    let pair = or_skip!(Pair::new("cgwu", FD_MTU));
    for by in pairs() {
        let mut near = port(&pair, by);
        let exact = RawFilter {
            id: 0x42,
            mask: 0xC000_07FF,
        };
        let interest = FrameInterest {
            ids: InterestIds::Filters(vec![exact]),
            ..FrameInterest::default()
        };
        near.0.set_interest(&interest).unwrap();
        ip(&format!("link del {}", pair.near)).unwrap();
        assert!(
            until(|| {
                rest(&mut near);
                let _ = near
                    .1
                    .transmit(now(), OutgoingFrame::new(classic(1, &[]).view(), 0));
                near.1.flush(now()).unwrap();
                !near.0.is_up()
            }),
            "{by:?}"
        );
        pair.plug().unwrap();
        assert!(
            until(|| {
                rest(&mut near);
                near.0.is_up()
            }),
            "{by:?}"
        );
        let mut far = peer(&pair);
        send(&mut far, &[classic(0x43, &[]), classic(0x42, &[])]);
        assert_eq!(
            take(&mut near, 1),
            ["042#"],
            "the filters are back, too: {by:?}"
        );
        send(&mut near, &[classic(8, &[1])]);
        assert_eq!(take(&mut far, 1), ["008#01"], "{by:?}");
    }
}

/// A vxcan without a queue takes everything; with a slow one the rest is held, and leaves in order.
///
/// The queue lets next to nothing pass until the port is full, so that the test does not depend on
/// how fast this machine sends. The kernel delivers a frame of vxcan on the processor on which it
/// runs, and each processor has a queue of its own: a thread that moves to another processor, or a
/// timer that stays on the first, would reorder frames that the port has sent in order. So
/// everything runs on one processor.
#[test]
fn what_the_interface_has_no_room_for_is_held_and_leaves_in_order() {
    let allowed = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set(
        (0..CpuSet::MAX_CPU)
            .find(|cpu| allowed.is_set(*cpu))
            .unwrap(),
    );
    sched_setaffinity(None, &one).unwrap();
    let pair = or_skip!(Pair::new("cgwq", FD_MTU));
    // In case the kernel does not load it on its own; tc reports what is missing.
    let _ = Command::new("modprobe").arg("sch_tbf").status();
    if let Err(why) =
        ip(&format!("link set {} txqueuelen 10", pair.near)).and_then(|()| pass(&pair, "1kbit"))
    {
        eprintln!("SKIPPED because {why}");
        return;
    }
    for by in pairs().filter(|by| by.0 == ReceiveBy::Recvmmsg) {
        pass(&pair, "1kbit").unwrap();
        let (mut near, mut far) = (port(&pair, by), peer(&pair));
        let frames: Vec<Frame> = (0..5000u32)
            .map(|n| classic(n % 0x800, &n.to_be_bytes()))
            .collect();
        let accepted: Vec<String> = frames
            .iter()
            .take_while(|frame| {
                let frame = OutgoingFrame::new(frame.view(), 0);
                near.1.transmit(now(), frame).is_ok()
            })
            .map(ToString::to_string)
            .collect();
        let report = near.1.flush(now()).unwrap();
        assert!(report.held > 0, "{by:?}: the interface took everything");
        assert!(accepted.len() < frames.len(), "{by:?}");
        pass(&pair, "1mbit").unwrap();
        let mut got = Vec::new();
        let all = until(|| {
            let held = near.1.flush(now()).unwrap().held;
            got.extend(rest(&mut far));
            held == 0 && got.len() == accepted.len()
        });
        assert!(all, "{by:?}: {} of {}", got.len(), accepted.len());
        assert_eq!(got, accepted, "{by:?}");
        let c = near.1.counters();
        assert!(c.stalled > 0, "{by:?}");
        assert_eq!((c.taken, c.lost, c.held), (c.sent, 0, 0), "{by:?}");
    }
}

/// Sets the rate at which frames leave the near end's queue, which has room for a hundred of them.
fn pass(pair: &Pair, rate: &str) -> Result<(), String> {
    tc(&format!(
        "qdisc replace dev {} root tbf rate {rate} burst 160 limit 1600",
        pair.near
    ))
}

fn tc(arguments: &str) -> Result<(), String> {
    let output = Command::new("tc").args(arguments.split(' ')).output();
    let output = output.map_err(|e| format!("`tc` cannot be run ({e})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("`tc {arguments}` failed ({})", text.trim()))
}

/// Frames that are too long for the interface since its MTU was changed are lost and counted, those
/// after them leave.
#[test]
fn frames_that_became_too_long_are_left_out() {
    let pair = or_skip!(Pair::new("cgwm", FD_MTU));
    for by in pairs().filter(|by| by.0 == ReceiveBy::Recvmmsg) {
        let (mut near, mut far) = (port(&pair, by), peer(&pair));
        let fd = Frame::fd(CanId::sff(1).unwrap(), 0, &[0; 12]).unwrap();
        for frame in [classic(1, &[]), fd, classic(2, &[]), classic(3, &[])] {
            near.1
                .transmit(now(), OutgoingFrame::new(frame.view(), 0))
                .unwrap();
        }
        // The port does not notice it: for the port, the interface was up all the time.
        ip(&format!("link set {} down", pair.near)).unwrap();
        ip(&format!("link set {} mtu 16", pair.near)).unwrap();
        ip(&format!("link set {} up", pair.near)).unwrap();
        near.1.flush(now()).unwrap();
        let c = near.1.counters();
        assert_eq!(c.taken, c.sent + c.lost + c.held, "{by:?}");
        assert_eq!(
            take(&mut far, c.sent as usize).len() as u64,
            c.sent,
            "{by:?}"
        );
        drop((near, far));
        ip(&format!("link set {} down", pair.near)).unwrap();
        ip(&format!("link set {} mtu 72", pair.near)).unwrap();
        ip(&format!("link set {} up", pair.near)).unwrap();
    }
}

#[test]
fn what_a_vcan_would_drop_is_refused_by_name() {
    let _pair = or_skip!(Pair::new("cgwv", FD_MTU));
    let _ = ip("link del cgwv");
    ip("link add dev cgwv type vcan").unwrap();
    ip("link set cgwv up").unwrap();
    let config = SocketCanSettings {
        transmit: Some(TransmitBy::Ring),
        ..SocketCanSettings::new("cgwv")
    };
    let error = open("p", &config).err().unwrap().to_string();
    assert!(
        error.contains("cgwv is a vcan") && error.contains("sendmmsg"),
        "{error}"
    );
    let config = SocketCanSettings {
        receive: Some(ReceiveBy::Ring),
        ..SocketCanSettings::new("cgwv")
    };
    match open("p", &config) {
        // Linux 6.3 and later: frames have a mark.
        Ok(mut ring) => {
            let mut other = open("q", &SocketCanSettings::new("cgwv")).unwrap();
            send(&mut ring, &frames());
            assert_eq!(take(&mut other, 7), texts(&frames()));
            assert_eq!(rest(&mut ring), [""; 0], "its own frames");
            send(&mut other, &frames());
            assert_eq!(take(&mut ring, 7), texts(&frames()));
        }
        Err(error) => assert!(error.to_string().contains("before Linux 6.3"), "{error}"),
    }
    let config = SocketCanSettings {
        receive: Some(ReceiveBy::Ring),
        ..SocketCanSettings::new("lo")
    };
    let error = open("p", &config).err().unwrap().to_string();
    assert!(error.contains("lo is not a CAN interface"), "{error}");
    ip("link del cgwv").unwrap();
}
