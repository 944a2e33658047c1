//! XL frames by every way to receive and to transmit, on real virtual interfaces.
//!
//! Needs a kernel with CAN XL (6.1 and later), in addition to the requirements of
//! `socketcan_ways.rs`. Since 6.9, raw sockets pass virtual networks' numbers on only with an
//! option, so the step `guests` runs it on a newer one.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Pair, XL_MTU, now, or_skip};
use frame::FrameBuf;
use port::socketcan::{ReceiveBy, SocketCanSettings, TransmitBy, open};
use port::{Halves, OutgoingFrame};
use std::time::{Duration, Instant};

fn frames() -> Vec<FrameBuf> {
    let long = "A5".repeat(2048);
    let some = "0123456789ABCDEF".repeat(20);
    let texts = [
        "00123#80:00:00000000#01".to_owned(),
        "007FF#81:07:12345678#1122334455667788".to_owned(),
        format!("00000#80:FF:FFFFFFFF#{some}"),
        format!("00456#80:01:00000001#{long}"),
        // With a virtual network's number, which raw sockets pass on according to their options.
        "45123#80:00:00000000#02".to_owned(),
        // Other frames still pass, too.
        "123#DEAD".to_owned(),
        "12345678##1AABB".to_owned(),
    ];
    let read = |text: &String| {
        let mut buf = FrameBuf::new();
        frame::text::parse_frame(text.as_bytes(), &mut buf).unwrap();
        buf
    };
    texts.iter().map(read).collect()
}

fn send(halves: &mut Halves, frames: &[FrameBuf], by: &str) {
    for frame in frames {
        let taken = halves
            .1
            .transmit(now(), OutgoingFrame::new(frame.view(), 0));
        assert!(taken.is_ok(), "{by}: {taken:?} {}", frame.view());
    }
    let start = Instant::now();
    while halves.1.flush(now()).unwrap().held > 0 && start.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn take(halves: &mut Halves, count: usize) -> Vec<String> {
    let (mut got, start) = (Vec::new(), Instant::now());
    while got.len() < count && start.elapsed() < Duration::from_secs(1) {
        let keep = &mut |r: port::ReceivedFrame<'_>| got.push(r.frame.to_string());
        halves.0.receive(now(), 64, keep).unwrap();
    }
    got
}

#[test]
fn xl_frames_come_and_go_by_every_pair() {
    let _pair = or_skip!(Pair::new("cgwx", XL_MTU));
    let frames = frames();
    let texts: Vec<String> = frames.iter().map(|f| f.view().to_string()).collect();
    let mut wrong = Vec::new();
    for (name, receive) in ReceiveBy::ALL {
        for (way, transmit) in TransmitBy::ALL {
            let by = format!("{name}-{way}");
            let with = |config| SocketCanSettings { xl: true, ..config };
            let config = SocketCanSettings {
                receive: Some(receive),
                transmit: Some(transmit),
                ..SocketCanSettings::new("cgwx0")
            };
            let mut near = open("near", &with(config)).unwrap();
            let mut far = open("far", &with(SocketCanSettings::new("cgwx1"))).unwrap();
            send(&mut near, &frames, &by);
            let out = take(&mut far, frames.len());
            send(&mut far, &frames, &by);
            let back = take(&mut near, frames.len());
            let c = near.1.counters();
            for (what, got) in [("out", out), ("in", back)] {
                if got != texts {
                    wrong.push(format!("{by} {what}: {} of {}", got.len(), texts.len()));
                }
            }
            if (c.taken, c.sent, c.lost, c.held) != (7, 7, 0, 0) {
                wrong.push(format!("{by}: {c:?}"));
            }
            let c = near.0.counters();
            if (c.overrun, c.malformed) != (0, 0) {
                wrong.push(format!("{by}: {c:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
