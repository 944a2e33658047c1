//! Presentation times from port to port: the time of each frame, and what becomes of one whose time
//! is over, uncertain or missing.

use super::super::presentation::{TimeScale, TransitRules};
use super::timed::{EPOCH, GOOD, PRESENTED, TRANSIT, TimedTunnel, TunnelParts, good, without_tai};
use super::*;
use linux::clock::{ClockLead, ClockState};
use std::sync::atomic::{AtomicBool, AtomicI64};

/// Frames with stamps of their bus share datagrams: each is handed on 20 ms after its stamp, to the
/// nanosecond, whatever the network and the packing did. Those that come later are late.
#[test]
fn each_frame_has_a_time_of_its_own_in_a_shared_datagram() {
    for (scale, pack) in [
        (TimeScale::Tai, 0),
        (TimeScale::Tai, 3 * MS),
        (TimeScale::Utc, 3 * MS),
    ] {
        let parts = TunnelParts {
            scale,
            pack,
            // Of no effect on UTC.
            far: if scale == TimeScale::Utc {
                without_tai
            } else {
                good
            },
            ..TunnelParts::default()
        };
        let mut tunnel = parts.open();
        let mut numbers = SeededNumbers(5);
        let mut stamps = Vec::new();
        let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
        let mut came = Vec::new();
        let (mut late, mut datagrams) = (0, 0);
        for step in 0..60_000_u64 {
            let now = step * MS / 10;
            if step % 7 == 0 {
                // The kernel's stamp is a little older than the time of sending.
                let stamp = now.saturating_sub(numbers.below(90_000));
                tunnel.send(stamps.len() as u64, Some(EPOCH + stamp), now);
                stamps.push(stamp);
            }
            tunnel.out.flush(now).unwrap();
            while let Some(datagram) = tunnel.near.take() {
                // One in a hundred is slower than the transit time.
                let slow = numbers.below(100) == 0;
                let way = if slow {
                    25 * MS
                } else {
                    numbers.below(16 * MS)
                };
                under_way.insert((now + way, datagrams), datagram);
                datagrams += 1;
            }
            let next = now + MS / 10;
            loop {
                let arrival = under_way.first_key_value().map(|((at, _), _)| *at);
                let due = tunnel.into.deadline();
                let Some(at) = arrival.into_iter().chain(due).min().filter(|at| *at < next) else {
                    break;
                };
                if let Some(entry) = under_way.first_entry()
                    && entry.key().0 == at
                {
                    tunnel.far.put(entry.remove());
                }
                came.extend(tunnel.receive(at).into_iter().map(|number| (number, at)));
            }
        }
        for (number, at) in &came {
            let due = stamps[*number as usize] + 20 * MS;
            assert!(*at >= due, "{number}");
            late += u64::from(*at > due);
        }
        let rx = tunnel.into.counters();
        assert_eq!(
            (rx.late, rx.unstamped, rx.expired, rx.refused),
            (late, 0, 0, 0)
        );
        assert!(late > 20 && late < 200, "{rx:?}");
        let all = came.len() as u64 + rx.behind + rx.waiting;
        let waits = tunnel.out.counters().held + under_way.len() as u64;
        assert!(stamps.len() as u64 - all <= 5 * waits, "{rx:?} {waits}");
        let shared = stamps.len() as u64 / datagrams;
        assert_eq!(shared, if pack > 0 { 5 } else { 1 });
        assert_eq!(tunnel.into.remarks(), [""; 0]);
        assert_eq!(tunnel.out.remarks(), [""; 0]);
    }
}

/// The fields of a datagram: TSCF with the time of its first frame by gPTP's clock.
#[test]
fn the_first_frame_has_the_time_of_the_header() {
    let mut tunnel = TunnelParts::default().open();
    // The second one is the oldest.
    for (number, stamp) in [(1, 9), (2, 4), (3, 6)] {
        tunnel.send(number, Some(EPOCH + stamp * MS), 10 * MS);
    }
    tunnel.out.flush(10 * MS).unwrap();
    let datagram = tunnel.near.take().unwrap();
    assert_eq!(datagram[4..8], [0x05, 0x81, 0, 0]);
    let tai = EPOCH + 4 * MS + 37_000_000_000;
    let low = (tai + 20 * MS) as u32;
    assert_eq!(datagram[16..20], low.to_be_bytes());
    tunnel.far.put(datagram);
    assert_eq!(tunnel.receive(10 * MS), [0; 0]);
    let due = [(2, 24 * MS), (3, 26 * MS), (1, 29 * MS)];
    assert_eq!(tunnel.play(), due);
}

/// Frames whose stamps are far apart, and frames of messages without stamps, do not share a
/// datagram: one time would not be right for both.
#[test]
fn frames_share_a_datagram_only_if_its_time_is_right_for_all() {
    let mut tunnel = TunnelParts::default().open();
    let sent = [(1, 50), (2, 150), (3, 151), (4, 60)];
    for (number, stamp) in sent {
        tunnel.send(number, Some(EPOCH + stamp * MS), 160 * MS);
    }
    tunnel.out.flush(160 * MS).unwrap();
    assert_eq!(tunnel.deliver(), 2);
    let transit = TransitRules { span: 0, ..TRANSIT };
    let parts = TunnelParts {
        transit,
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    for (number, stamp) in [(1, 5), (2, 5), (3, 6), (4, 5)] {
        tunnel.send(number, Some(EPOCH + stamp * MS), 7 * MS);
    }
    tunnel.out.flush(7 * MS).unwrap();
    assert_eq!(tunnel.deliver(), 3);
    assert_eq!(tunnel.receive(7 * MS), [0; 0]);
    let due = [(1, 25 * MS), (2, 25 * MS), (4, 25 * MS), (3, 26 * MS)];
    assert_eq!(tunnel.play(), due);
}

/// While the sender's clock is not synchronised, its times are marked, and have no effect; NTSCF
/// has none. The frames are handed on at once, and none after a later one of its ID.
#[test]
fn uncertain_times_have_no_effect() {
    static IS_FREE: AtomicBool = AtomicBool::new(false);
    fn some() -> ClockState {
        ClockState {
            is_synchronised: Some(!IS_FREE.load(Relaxed)),
            ..GOOD
        }
    }
    let parts = TunnelParts {
        near: some,
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    let send = |tunnel: &mut TimedTunnel, number, now| {
        tunnel.send(number, None, now);
        tunnel.out.flush(now).unwrap();
        tunnel.deliver();
        tunnel.receive(now)
    };
    assert_eq!(send(&mut tunnel, 1, 0), [0; 0]);
    assert_eq!(tunnel.play(), [(1, 20 * MS)]);
    assert_eq!(send(&mut tunnel, 2, 990 * MS), [0; 0]);
    // The state is read once a second.
    IS_FREE.store(true, Relaxed);
    assert_eq!(send(&mut tunnel, 3, 991 * MS), [0; 0]);
    // 34 has the ID of 2.
    assert_eq!(send(&mut tunnel, 34, 1000 * MS), [34]);
    assert_eq!(tunnel.play(), [(3, 1011 * MS)]);
    let remarks = tunnel.out.remarks();
    let remark = "the system clock is not synchronised (PTP, NTP): presentation times leave marked as uncertain";
    assert_eq!(remarks, [remark]);
    let mut ntscf = sender(
        tunnel.near.clone(),
        PackRules::default(),
        StreamRun::default(),
    );
    ntscf
        .transmit(0, OutgoingFrame::new(numbered(35).view(), 0))
        .unwrap();
    ntscf.flush(0).unwrap();
    let mut datagram = tunnel.near.take().unwrap();
    // Of another sender.
    datagram[..2].copy_from_slice(&[OTHER_SENDER, 1]);
    tunnel.far.put(datagram);
    assert_eq!(tunnel.receive(1100 * MS), [35]);
    let rx = tunnel.into.counters();
    assert_eq!((rx.unstamped, rx.behind, rx.waiting), (2, 1, 0));
    let remark =
        "2 frames had no presentation time, or an uncertain one (1), and were handed over at once";
    assert_eq!(tunnel.into.remarks(), [remark]);
}

/// A step of the system clock, by ten minutes or by 20 us, moves no presentation time: the kernel's
/// stamps have it, and both gateways follow it.
#[test]
fn steps_of_the_system_clock_are_followed() {
    static NEAR: AtomicI64 = AtomicI64::new(0);
    static FAR: AtomicI64 = AtomicI64::new(0);
    fn state(ns: i64) -> ClockState {
        ClockState {
            lead: ClockLead { ns, error: 50 },
            ..GOOD
        }
    }
    let parts = TunnelParts {
        near: || state(NEAR.load(Relaxed)),
        far: || state(FAR.load(Relaxed)),
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    let minutes = 600_000_000_000;
    let steps = [
        (0, 0),
        (minutes, minutes),
        (-minutes, 5 - minutes),
        (20_000, 20_000),
        (40_000, 40_000),
    ];
    for (number, (near, far)) in (0..).zip(steps) {
        NEAR.store(near, Relaxed);
        FAR.store(far, Relaxed);
        let now = 1000 * MS * (1 + number);
        // With a stamp of the kernel, and without one.
        let stamp = EPOCH.saturating_add_signed(near) + now - MS;
        tunnel.send(2 * number, Some(stamp), now);
        tunnel.send(2 * number + 1, None, now);
        tunnel.out.flush(now).unwrap();
        tunnel.deliver();
        assert_eq!(tunnel.receive(now), [0; 0], "{near}");
        let apart = near.abs_diff(far);
        let due = [
            (2 * number, now + 19 * MS - apart),
            (2 * number + 1, now + 20 * MS - apart),
        ];
        assert_eq!(tunnel.play(), due, "{near}");
    }
    assert_eq!(tunnel.into.counters().late, 0);
}

/// A machine that does not know TAI has other times. They show as late, or are far in the past; the
/// remark names the cure.
#[test]
fn another_time_scale_is_named() {
    let parts = TunnelParts {
        far: without_tai,
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    for number in 0..10 {
        let now = number * 1500 * MS;
        tunnel.send(number, None, now);
        tunnel.out.flush(now).unwrap();
        tunnel.deliver();
        // 37 s are 8 times 4.29 s and 2.6 s.
        assert_eq!(tunnel.receive(now), [number]);
    }
    assert_eq!(tunnel.into.counters().late, 10);
    let remark = "the kernel does not know the offset of TAI: presentation times are in Unix time; set it, \
                  or use `timescale = \"utc\"` at both ends";
    assert_eq!(tunnel.into.remarks(), [remark]);
}

/// Where a sandbox forbids to ask whether the clock is synchronised, times are uncertain, and the
/// remark has the reason.
#[test]
fn a_forbidden_call_leaves_times_uncertain() {
    let parts = TunnelParts {
        near: || ClockState {
            is_synchronised: None,
            ..GOOD
        },
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    tunnel.send(1, None, 0);
    tunnel.out.flush(0).unwrap();
    tunnel.deliver();
    assert_eq!(tunnel.receive(0), [1]);
    let remarks = tunnel.out.remarks();
    assert!(
        remarks[0].starts_with("adjtimex is forbidden"),
        "{remarks:?}"
    );
}

/// Frames that are old when they leave, from a log or because the socket had no room, look no
/// younger to the other side, whatever their age: they are late, or expire.
#[test]
fn old_frames_do_not_look_fresh() {
    for (late, max_age) in [
        (LateRule::Send, None),
        (LateRule::Send, Some(200 * MS)),
        (LateRule::Expire, None),
    ] {
        let parts = TunnelParts {
            rules: PlayOutRules {
                late,
                max_age,
                ..PRESENTED
            },
            ..TunnelParts::default()
        };
        let mut tunnel = parts.open();
        let now = 100_000 * MS;
        let (mut old, mut passed) = (0, 0);
        for age in (500..60_000).step_by(97) {
            tunnel.send(age, Some(EPOCH + now - age * MS), now);
            tunnel.out.flush(now).unwrap();
            tunnel.deliver();
            passed += tunnel.receive(now).len() as u64;
            old += 1;
        }
        let rx = tunnel.into.counters();
        let expires = max_age.is_some() || late == LateRule::Expire;
        let (expected_late, expired) = if expires { (0, old) } else { (old, 0) };
        assert_eq!(
            (rx.late, rx.expired, rx.waiting),
            (expected_late, expired, 0)
        );
        assert_eq!(passed, expected_late);
    }
}

/// A stamp far ahead, such as one of a log, has the time of sending.
#[test]
fn a_stamp_far_ahead_is_the_time_of_sending() {
    let mut tunnel = TunnelParts::default().open();
    let now = 5000 * MS;
    for (number, ahead) in [(1, 900 * MS), (2, 1001 * MS), (3, 9000 * MS)] {
        tunnel.send(number, Some(EPOCH + now + ahead), now);
        tunnel.out.flush(now).unwrap();
    }
    tunnel.deliver();
    assert_eq!(tunnel.receive(now), [0; 0]);
    let due = [2, 3].map(|number| (number, now + 20 * MS));
    assert_eq!(tunnel.play(), [due[0], due[1], (1, now + 920 * MS)]);
}

/// The least and the greatest stamps that a frame can have: a time that can be told, and one fate.
#[test]
fn any_stamp_has_one_fate() {
    let parts = TunnelParts {
        rules: PlayOutRules {
            frames: 3,
            ..PRESENTED
        },
        ..TunnelParts::default()
    };
    let mut tunnel = parts.open();
    let now = 5000 * MS;
    let stamps = [0, 1, EPOCH, EPOCH + now, EPOCH + now + 990 * MS, u64::MAX];
    let mut passed = 0;
    for (number, stamp) in (0..).zip(stamps.into_iter().cycle().take(24)) {
        tunnel.send(number, Some(stamp), now);
        tunnel.out.flush(now).unwrap();
        tunnel.deliver();
        passed += tunnel.receive(now).len() as u64;
    }
    // No frame waits for longer than a second.
    assert!(tunnel.into.deadline().unwrap() <= now + 1000 * MS);
    passed += tunnel.play().len() as u64;
    let rx = tunnel.into.counters();
    assert_eq!((rx.waiting, rx.missing, rx.malformed), (0, 0, 0));
    assert_eq!((rx.unstamped, rx.expired), (0, 0));
    assert!(rx.refused > 0 && rx.late > 0, "{rx:?}");
    assert_eq!(passed + rx.refused + rx.behind, 24);
}
