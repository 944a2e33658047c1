//! Machines that share a controller on a Linux CAN interface.
//!
//! Needs a kernel with AF_CAN and vxcan, and permission to make interfaces. Without them each test
//! prints why it is skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
mod sharing;

use common::{FD_MTU, Pair, ip, now, or_skip};
use linux::can::{FrameOptions, FrameSocket};
use port::LinkState;
use port::controllers::ControllerSettings;
use port::socketcan::SocketCanSettings;
use sharing::machine::wait;
use sharing::{Lab, everything};

/// Returns two machines on one end of a pair, and a socket on the other end.
fn two(pair: &Pair) -> (Lab, FrameSocket) {
    let settings = ControllerSettings::Interface(SocketCanSettings::new(&pair.near));
    let options = FrameOptions {
        fd: true,
        hear: true,
        echo: true,
        ..FrameOptions::default()
    };
    let peer = FrameSocket::open(&pair.far, &options).unwrap();
    (Lab::new(&settings, vec![everything(), everything()]), peer)
}

/// Works until the condition holds.
fn work_until(lab: &mut Lab, what: &str, mut is_so: impl FnMut(&mut Lab) -> bool) {
    wait(what, || {
        lab.now = now();
        lab.work();
        is_so(lab)
    });
}

fn came(peer: &mut FrameSocket, all: &mut Vec<String>) {
    peer.receive(&mut |arrival| {
        if !arrival.local {
            all.push(arrival.frame.to_string());
        }
    })
    .unwrap();
}

#[test]
fn machines_send_by_priority_and_hear_the_interface_and_one_another() {
    let pair = or_skip!(Pair::new("cgsh", FD_MTU));
    let (mut lab, mut peer) = two(&pair);
    for id in [0x303, 0x302, 0x301] {
        lab.send(0, &format!("{id:03X}#AA"));
    }
    lab.send(1, "100#");
    let mut all = Vec::new();
    let mut results = Vec::new();
    work_until(&mut lab, "all are sent", |lab| {
        came(&mut peer, &mut all);
        results.extend(lab.results(0));
        all.len() == 4 && results.len() == 3
    });
    // The machine whose turn comes first begins; from then on the lowest ID of all goes first.
    assert_eq!(all, ["301#AA", "100#", "302#AA", "303#AA"]);
    assert_eq!(results, [0, 0, 0]);
    assert_eq!(lab.results(1), [0]);
    assert_eq!(lab.received(0), [0x100]);
    assert_eq!(lab.received(1), [0x301, 0x302, 0x303]);
    peer.send("123#01".parse::<frame::Frame>().unwrap().view())
        .unwrap();
    let mut heard = [Vec::new(), Vec::new()];
    work_until(&mut lab, "both hear it", |lab| {
        for (side, heard) in heard.iter_mut().enumerate() {
            heard.extend(lab.received(side));
        }
        heard.iter().all(|heard| !heard.is_empty())
    });
    assert_eq!(heard, [[0x123], [0x123]]);
}

#[test]
fn an_interface_that_goes_down_fails_what_waits_and_comes_back() {
    let pair = or_skip!(Pair::new("cgsd", FD_MTU));
    let (mut lab, mut peer) = two(&pair);
    work_until(&mut lab, "it is up", |_| true);
    ip(&format!("link set {} down", pair.near)).unwrap();
    lab.send(0, "111#");
    let mut results = Vec::new();
    work_until(&mut lab, "it has failed", |lab| {
        results.extend(lab.results(0));
        !results.is_empty()
    });
    assert_eq!(results, [1]);
    ip(&format!("link set {} up", pair.near)).unwrap();
    let mut all = Vec::new();
    work_until(&mut lab, "frames pass again", |lab| {
        came(&mut peer, &mut all);
        if lab.results(0) != [0] && all.is_empty() && lab.sides[0].heads.len() > 2 {
            lab.send(0, "112#");
        }
        !all.is_empty()
    });
    assert_eq!(all[0], "112#");
    assert_eq!(lab.sides[0].halves.0.link(), LinkState::Up);
}
