//! A bus with faults: bit-exact times and counters, computed by hand.
//!
//! 500 kbit/s, a bit is 2 µs. `123#` is 45 bits long without intermission, with 1 stuff bit.
use bus::{
    Bus, BusConfig, DropReason, ErrorKind, ErrorState, FaultTime, FrameFault, NodeConfig,
    NodeEvent, NodeId,
};
use cangate_bus as bus;
use frame::{CanId, Frame, flags};

const BIT: u64 = 2_000;

fn sff(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), data).unwrap()
}

fn with(nodes: usize, change: impl Fn(usize, &mut NodeConfig)) -> Bus {
    let mut bus = Bus::new(BusConfig::fd(500_000, 2_000_000)).unwrap();
    for i in 0..nodes {
        let mut node = NodeConfig::new(format!("n{i}"));
        change(i, &mut node);
        bus.attach(node).unwrap();
    }
    bus
}

/// Returns all events until `t`, as short text.
fn log(bus: &mut Bus, t: u64) -> Vec<String> {
    let mut log = Vec::new();
    bus.run_until(t, |e| {
        log.push(match *e {
            NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                attempts,
                receivers,
                ..
            } => format!(
                "{start}-{end} {} sent {tag} at {attempts} to {receivers:?}",
                node.0
            ),
            NodeEvent::Error {
                start,
                at,
                end,
                node,
                by,
                kind,
                ..
            } => format!("{start}-{at}-{end} {} failed: {kind:?} by {}", node.0, by.0),
            NodeEvent::State { at, node, state } => format!("{at} {} {state:?}", node.0),
            NodeEvent::Dropped {
                at, node, tag, why, ..
            } => format!("{at} {} dropped {tag}: {why:?}", node.0),
        });
    });
    log
}

fn counters(bus: &Bus) -> Vec<(u16, u16)> {
    let all = bus.nodes().map(|(id, _)| bus.node_state(id).unwrap());
    all.map(|s| (s.tec, s.rec)).collect()
}

const N0: NodeId = NodeId(0);

/// Fails `n` frames of node 0 in a row with bit errors.
fn spoil(bus: &mut Bus, n: u64) {
    for i in 1..=n {
        bus.inject(
            FaultTime::StartOf(N0, i),
            FrameFault::new(ErrorKind::Bit).at_bit(13),
        );
    }
}

/// `123#` on the wire: bit 0 start of frame, 1 to 11 identifier, 12 RTR, 13 IDE, 14 r0, 15 and 16
/// zeros of the DLC, 17 stuff bit, 18 and 19 rest of the DLC, 20 to 34 CRC, 35 delimiter, 36
/// acknowledge, 37 delimiter, 38 to 44 end of frame.
#[test]
fn a_bit_error_lasts_flag_echo_delimiter() {
    let mut bus = with(2, |_, _| ());
    // IDE, dominant; inverted it is recessive, so no dominant run reaches into the flag: the
    // receiver sees the sixth dominant bit at the flag's end and echoes 6 more.
    bus.inject(
        FaultTime::Start(1),
        FrameFault::new(ErrorKind::Bit).at_bit(13),
    );
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    let end = (14 + 6 + 6 + 8) * BIT;
    let again = end + 3 * BIT;
    assert_eq!(
        log(&mut bus, 1_000_000),
        [
            format!("0-{}-{end} 0 failed: Bit by 0", 14 * BIT),
            format!("{again}-{} 0 sent 1 at 2 to [1]", again + 45 * BIT),
        ]
    );
    assert_eq!(counters(&bus), [(7, 0), (0, 0)]);
    assert_eq!(bus.stats().errors, 1);
    assert_eq!(bus.stats().error_time, end);
}

#[test]
fn counters_right_after_a_bit_error() {
    let mut bus = with(2, |_, _| ());
    bus.inject(
        FaultTime::Start(1),
        FrameFault::new(ErrorKind::Bit).at_bit(13),
    );
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    bus.run_until(14 * BIT, |_| ());
    assert_eq!(counters(&bus), [(8, 0), (0, 0)], "the sender knows");
    bus.run_until(20 * BIT, |_| ());
    assert_eq!(
        counters(&bus),
        [(8, 0), (0, 1)],
        "six bits later the receiver"
    );
    bus.run_until(40 * BIT, |_| ());
    assert_eq!(counters(&bus), [(8, 0), (0, 1)]);
}

/// A form error that all nodes see in the same bit: one flag of six bits, no echo.
#[test]
fn a_form_error_that_all_see_has_no_echo() {
    let mut bus = with(3, |_, _| ());
    // End of frame: bits 38 to 44. Its second bit.
    bus.inject(
        FaultTime::Start(1),
        FrameFault::new(ErrorKind::Form).at_bit(39),
    );
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    let end = (40 + 6 + 8) * BIT;
    assert_eq!(
        log(&mut bus, end + 3 * BIT),
        [format!("0-{}-{end} 0 failed: Form by 0", 40 * BIT)]
    );
    assert_eq!(counters(&bus), [(8, 0), (0, 1), (0, 1)]);
}

/// One receiver of two finds the checksum wrong. It flags after the acknowledge delimiter (bit
/// 37), sees the others' flags after its own, and is charged 8 for it (rule 2).
#[test]
fn a_local_checksum_error_is_charged_to_the_one_who_flagged_first() {
    let mut bus = with(3, |_, _| ());
    let fault = FrameFault::new(ErrorKind::Crc).for_receiver(NodeId(2));
    bus.inject(FaultTime::Start(1), fault);
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    // Flag from bit 38; the others see it there and flag from 39 to 44; delimiter 8.
    let end = (38 + 1 + 6 + 8) * BIT;
    assert_eq!(
        log(&mut bus, end + 3 * BIT),
        [format!("0-{}-{end} 0 failed: Crc by 2", 39 * BIT)]
    );
    assert_eq!(counters(&bus), [(8, 0), (0, 1), (0, 9)]);
}

/// A stuff error of one receiver: it flags, the sender detects the flag.
#[test]
fn a_local_stuff_error() {
    let mut bus = with(3, |_, _| ());
    let fault = FrameFault::new(ErrorKind::Stuff)
        .at_bit(20)
        .for_receiver(NodeId(1));
    bus.inject(FaultTime::Start(1), fault);
    bus.send(N0, 0, &sff(0x123, &[0xFF; 8]), 1).unwrap();
    // Bits 20 to 24 are recessive data, so the sender detects the flag in its first bit.
    // Receiver 2 has seen no dominant bit directly before it and echoes after all six bits.
    let end = (21 + 6 + 6 + 8) * BIT;
    assert_eq!(
        log(&mut bus, end + BIT),
        [format!("0-{}-{end} 0 failed: Stuff by 1", 22 * BIT)]
    );
    assert_eq!(counters(&bus)[0], (8, 0));
    assert_eq!(counters(&bus)[1], (0, 9));
    assert_eq!(counters(&bus)[2], (0, 1));
}

/// No node acknowledges: flag from the acknowledge delimiter on. TEC rises by 8 each time until
/// the node is error-passive and then no more: a lone node never goes bus-off.
#[test]
fn a_lone_node_ends_error_passive() {
    let mut bus = with(1, |_, _| ());
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    // Acknowledge slot: bit 36.
    let period = 37 + 6 + 8 + 3;
    let first = log(&mut bus, 10 * period * BIT);
    assert_eq!(
        first[1],
        format!(
            "{}-{}-{} 0 failed: Ack by 0",
            period * BIT,
            (period + 37) * BIT,
            (2 * period - 3) * BIT
        )
    );
    assert_eq!(counters(&bus), [(80, 0)]);
    bus.run_until(1_000_000_000, |_| ());
    assert_eq!(counters(&bus), [(128, 0)]);
    let state = bus.node_state(N0).unwrap();
    assert_eq!(state.state, ErrorState::Passive);
    assert!(state.failed_attempts > 1_000);
    // Suspend transmission: 8 bits more between attempts.
    let before = bus.stats();
    bus.run_until(2_000_000_000, |_| ());
    let s = bus.stats().since(&before);
    let ratio = s.suspend_time as f64 / s.intermission_time as f64;
    assert!((ratio - 8.0 / 3.0).abs() < 0.01, "{s:?}");
    // A second node ends it.
    bus.attach(NodeConfig::new("late")).unwrap();
    let log = log(&mut bus, 2_001_000_000);
    assert!(log.last().unwrap().ends_with("Warning"), "{log:?}");
    assert_eq!(counters(&bus), [(127, 0), (0, 0)]);
}

/// Listeners do not acknowledge, and nothing happens to their counters.
#[test]
fn listeners_do_not_acknowledge() {
    let mut bus = with(2, |i, n| n.listen_only = i == 1);
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    let first = log(&mut bus, 60 * BIT);
    assert!(first[0].contains("failed: Ack by 0"), "{first:?}");
    let state = bus.node_state(NodeId(1)).unwrap();
    assert_eq!((state.tec, state.rec, state.received), (0, 0, 0));
}

#[test]
fn thirty_two_bit_errors_take_a_node_off_and_recovery_takes_its_bits() {
    let mut bus = with(2, |i, n| n.restart = (i == 0).then_some(5_000_000));
    spoil(&mut bus, 100);
    for tag in 0..3 {
        bus.send(N0, 0, &sff(0x123, &[]), tag).unwrap();
    }
    let all = log(&mut bus, 1_000_000_000);
    let states: Vec<&str> = all
        .iter()
        .filter(|l| !l.contains("failed"))
        .map(|l| l.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(
        states,
        [
            "0 Warning",
            "0 Passive",
            "0 BusOff",
            "0 dropped 0: BusOff",
            "0 dropped 1: BusOff",
            "0 dropped 2: BusOff",
            "0 Active",
        ]
    );
    assert_eq!(all.iter().filter(|l| l.contains("failed")).count(), 32);
    let time = |what: &str| -> u64 {
        let line = all.iter().find(|l| l.contains(what)).unwrap();
        line.split_once(' ').unwrap().0.parse().unwrap()
    };
    // The bus is idle when the restart comes.
    assert_eq!(
        time("0 Active") - time("0 BusOff"),
        5_000_000 + 128 * 11 * BIT
    );
    assert_eq!(counters(&bus)[0], (0, 0));
}

/// While others send, each frame's end gives one run of 11 recessive bits.
#[test]
fn recovery_under_full_load_takes_128_frames() {
    let mut bus = with(3, |_, _| ());
    spoil(&mut bus, 100);
    bus.send(N0, 0, &sff(0x123, &[]), 0).unwrap();
    while bus.node_state(N0).unwrap().state != ErrorState::BusOff {
        let t = bus.next().unwrap();
        bus.run_until(t, |_| ());
    }
    // After the last error's delimiter and intermission.
    let t = bus.now() + 30 * BIT;
    bus.run_until(t, |_| ());
    let mut frames = 0;
    for tag in 0..10 {
        bus.send(NodeId(1), t, &sff(0x100, &[]), tag).unwrap();
    }
    // The first frame starts at once, so that no idle time counts.
    bus.run_until(t + 1, |_| ());
    bus.restart(N0);
    while bus.node_state(N0).unwrap().state == ErrorState::BusOff {
        let t = bus.next().unwrap();
        bus.run_until(t, |e| {
            frames += u64::from(matches!(e, NodeEvent::Frame { .. }));
        });
        while bus.free(NodeId(1)) > 0 {
            bus.send(NodeId(1), bus.now(), &sff(0x100, &[]), 0).unwrap();
        }
    }
    assert_eq!(frames, 128);
}

#[test]
fn one_shot_tries_once() {
    let mut bus = with(2, |i, n| n.one_shot = i == 0);
    spoil(&mut bus, 1);
    bus.send(N0, 0, &sff(0x123, &[]), 5).unwrap();
    bus.send(N0, 0, &sff(0x124, &[]), 6).unwrap();
    let log = log(&mut bus, 1_000_000);
    assert!(log[1].ends_with(&format!("0 dropped 5: {:?}", DropReason::OneShot)));
    assert!(log[2].contains("0 sent 6 at 1"));
}

#[test]
fn one_shot_gives_up_where_it_loses_the_arbitration() {
    let mut bus = with(3, |i, n| n.one_shot = i < 2);
    // Both wait while another frame is on the wire; of two one-shot nodes the one with the
    // higher-priority frame wins.
    bus.send(NodeId(2), 0, &sff(0x001, &[]), 1).unwrap();
    let now = bus.now() + 20 * BIT;
    let mut early = log(&mut bus, now);
    bus.send(NodeId(1), now, &sff(0x123, &[]), 5).unwrap();
    bus.send(N0, now, &sff(0x124, &[]), 6).unwrap();
    bus.send(N0, now, &sff(0x125, &[]), 7).unwrap();
    early.extend(log(&mut bus, 1_000_000));
    let ends: Vec<_> = early.iter().map(|l| l.split_once(' ').unwrap().1).collect();
    let of = |what: &str| ends.iter().position(|l| l.contains(what)).unwrap();
    assert!(of("dropped 6: OneShot") < of("sent 5"), "{early:?}");
    assert!(of("sent 5") < of("sent 7"), "only that one: {early:?}");
    assert_eq!(ends.iter().filter(|l| l.contains("dropped")).count(), 1);
}

/// A classic node has a form error at FDF: bit 14 of an SFF frame without stuff bits before it.
#[test]
fn classic_nodes_destroy_fd_frames() {
    let mut bus = with(3, |i, n| n.fd = i != 2);
    let fd = Frame::fd(CanId::sff(0x555).unwrap(), flags::BRS, &[1, 2, 3]).unwrap();
    bus.send(N0, 0, &fd, 1).unwrap();
    let first = log(&mut bus, 30 * BIT);
    assert!(first[0].contains("0 failed: Form by 2"), "{first:?}");
    // Only once the classic node is error-passive do frames get through. It does not receive
    // them.
    let rest = log(&mut bus, 1_000_000_000);
    let sent: Vec<_> = rest.iter().filter(|l| l.contains("sent 1")).collect();
    assert_eq!(sent.len(), 1, "{rest:?}");
    assert!(sent[0].ends_with("to [1]"), "{sent:?}");
}

/// A classic listen-only node sends no flag, and receives no FD frame.
#[test]
fn classic_listeners_miss_fd_frames() {
    let mut bus = with(3, |i, n| (n.fd, n.listen_only) = (i != 2, i == 2));
    let id = CanId::sff(0x555).unwrap();
    bus.send(N0, 0, &Frame::fd(id, 0, &[]).unwrap(), 1).unwrap();
    bus.send(N0, 0, &sff(0x556, &[]), 2).unwrap();
    let log = log(&mut bus, 1_000_000);
    assert!(log[0].ends_with("0 sent 1 at 1 to [1]"), "{log:?}");
    assert!(log[1].ends_with("0 sent 2 at 1 to [1, 2]"), "{log:?}");
    assert_eq!(bus.node_state(NodeId(2)).unwrap().received, 1);
}

/// An error-passive sender sets ESI.
#[test]
fn error_passive_senders_set_esi() {
    let mut bus = with(2, |_, _| ());
    spoil(&mut bus, 16);
    let fd = Frame::fd(CanId::sff(0x555).unwrap(), flags::BRS, &[1; 8]).unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        bus.send(N0, bus.now(), &fd, 1).unwrap();
        bus.run_until(bus.now() + 100_000_000, |e| {
            if let NodeEvent::Frame { frame, .. } = e {
                seen.push(frame.header().is_esi());
            }
        });
    }
    assert_eq!(seen, [true, false], "TEC 128, then 127");
}

/// Two nodes, one identifier, different data: the one that sends the recessive bit sees the
/// other's dominant one. Both fail until both are error-passive; then the dominant one gets
/// through.
#[test]
fn one_identifier_from_two_nodes() {
    let mut bus = with(3, |_, _| ());
    bus.send(N0, 0, &sff(0x123, &[0xF0]), 1).unwrap();
    bus.send(NodeId(1), 0, &sff(0x123, &[0x0F]), 2).unwrap();
    let all = log(&mut bus, 1_000_000_000);
    assert!(all[0].ends_with("0 failed: Bit by 0"), "{all:?}");
    assert!(all[1].ends_with("1 failed: Bit by 0"), "{all:?}");
    let sent: Vec<_> = all.iter().filter(|l| l.contains("sent")).collect();
    assert_eq!(sent.len(), 2, "{all:?}");
    assert!(sent[0].contains("1 sent 2"));
    assert!(sent[1].contains("0 sent 1"));
}

/// Two nodes, the same frame: no node notices.
#[test]
fn the_same_frame_from_two_nodes_is_one_on_the_wire() {
    let mut bus = with(3, |_, _| ());
    for n in 0..2 {
        bus.send(NodeId(n), 0, &sff(0x123, &[]), u64::from(n))
            .unwrap();
    }
    assert_eq!(
        log(&mut bus, 1_000_000),
        [
            format!("0-{} 0 sent 0 at 1 to [2]", 45 * BIT),
            format!("0-{} 1 sent 1 at 1 to []", 45 * BIT),
        ]
    );
    assert_eq!(bus.stats().frames, 1);
    assert_eq!(bus.stats().frame_time, 45 * BIT);
    // Two senders alone acknowledge nothing.
    let mut bus = with(2, |_, _| ());
    for n in 0..2 {
        bus.send(NodeId(n), 0, &sff(0x123, &[]), 0).unwrap();
    }
    assert!(log(&mut bus, 100_000)[0].contains("Ack"));
}

/// A higher-priority frame comes into a free mailbox while another of the node is on the wire.
#[test]
fn what_is_on_the_wire_stays_on_the_wire() {
    let mut bus = with(2, |_, _| ());
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    bus.run_until(10, |_| ());
    bus.send(N0, 10, &sff(0x001, &[]), 2).unwrap();
    let log = log(&mut bus, 1_000_000);
    assert!(log[0].contains("sent 1 at 1"), "{log:?}");
    assert!(log[1].contains("sent 2 at 1"), "{log:?}");
}

/// A position where the kind cannot happen is moved to the next one where it can.
#[test]
fn faults_are_moved_to_where_they_can_happen() {
    let failed_at = |kind, bit| {
        let mut bus = with(2, |_, _| ());
        bus.inject(FaultTime::Start(1), FrameFault::new(kind).at_bit(bit));
        bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
        let mut at = None;
        bus.run_until(60 * BIT, |e| {
            if let NodeEvent::Error { at: t, .. } = e {
                at = Some(t / BIT - 1);
            }
        });
        at
    };
    assert_eq!(failed_at(ErrorKind::Bit, 0), Some(13), "IDE");
    assert_eq!(failed_at(ErrorKind::Bit, 25), Some(25));
    assert_eq!(failed_at(ErrorKind::Bit, 999), Some(34), "the last CRC bit");
    assert_eq!(failed_at(ErrorKind::Form, 0), Some(35), "CRC delimiter");
    assert_eq!(failed_at(ErrorKind::Form, 36), Some(37), "not the slot");
    assert_eq!(failed_at(ErrorKind::Form, 44), Some(43), "not the last bit");
    assert_eq!(failed_at(ErrorKind::Ack, 3), Some(36));
}

/// `per_bit` is a rate per bit, at any position.
#[test]
fn bit_error_rates_are_what_was_asked_for() {
    let mut bus = Bus::new(BusConfig {
        seed: 3,
        faults: bus::BusFaults {
            per_bit: 0.002,
            ..bus::BusFaults::default()
        },
        ..BusConfig::classic(500_000)
    })
    .unwrap();
    for _ in 0..2 {
        bus.attach(NodeConfig {
            queue: 3_000,
            ..NodeConfig::default()
        })
        .unwrap();
    }
    for tag in 0..3_000 {
        bus.send(N0, 0, &sff(0x123, &[]), tag).unwrap();
    }
    bus.run_until(1_000_000_000, |_| ());
    let stats = bus.stats();
    assert_eq!(stats.frames, 3_000);
    // 45 bits: 8.6 % of attempts fail, 283 of 3283; three standard deviations are 51.
    assert!((232..335).contains(&stats.errors), "{stats:?}");
}

/// A fault for a given receiver that does not exist changes nothing.
#[test]
fn a_fault_for_no_node_has_no_effect() {
    let mut bus = with(2, |_, _| ());
    let fault = FrameFault::new(ErrorKind::Crc).for_receiver(NodeId(9));
    bus.inject(FaultTime::Start(1), fault);
    bus.send(N0, 0, &sff(0x123, &[]), 1).unwrap();
    assert_eq!(
        log(&mut bus, 1_000_000),
        [format!("0-{} 0 sent 1 at 1 to [1]", 45 * BIT)]
    );
}

/// An error-passive node that has just sent lets others go first, with any priority.
#[test]
fn suspend_transmission_lets_others_go_first() {
    let mut bus = with(3, |_, _| ());
    spoil(&mut bus, 16);
    bus.send(N0, 0, &sff(0x001, &[]), 0).unwrap();
    bus.send(NodeId(1), 0, &sff(0x700, &[]), 1).unwrap();
    let all = log(&mut bus, 10_000_000);
    let passive = all.iter().position(|l| l.ends_with("0 Passive")).unwrap();
    assert!(all[passive + 1].contains("1 sent 1 at 1"), "{all:?}");
    assert!(all[passive + 2].contains("0 sent 0 at 17"), "{all:?}");
    assert_eq!(bus.stats().suspend_time, 0, "the bus was not idle for it");
}

/// Bits of the data phase last a quarter as long here; the error frame has the nominal rate.
/// `555` with BRS: 17 bits to BRS without stuff bits, then ESI and DLC 0011. Bit 20, the third of
/// the DLC, inverted makes four dominant bits in a row, so that the receiver sees the sixth after
/// two bits of the flag.
#[test]
fn an_error_in_the_data_phase() {
    let mut bus = with(2, |_, _| ());
    bus.inject(
        FaultTime::Start(1),
        FrameFault::new(ErrorKind::Bit).at_bit(20),
    );
    let fd = Frame::fd(CanId::sff(0x555).unwrap(), flags::BRS, &[1, 2, 3]).unwrap();
    bus.send(N0, 0, &fd, 1).unwrap();
    let at = 17 * BIT + 4 * BIT / 4;
    let end = at + (2 + 6 + 8) * BIT;
    assert_eq!(
        log(&mut bus, end + 3 * BIT),
        [format!("0-{at}-{end} 0 failed: Bit by 0")]
    );
}

/// A planned fault comes in addition: the frames that fail at random stay the same ones.
#[test]
fn a_plan_does_not_change_the_random_faults() {
    let failed = |plan: Option<u64>| {
        let mut bus = Bus::new(BusConfig {
            seed: 5,
            faults: bus::BusFaults {
                per_frame: 0.1,
                planned: plan
                    .map(|n| (FaultTime::Start(n), FrameFault::new(ErrorKind::Bit)))
                    .into_iter()
                    .collect(),
                ..bus::BusFaults::default()
            },
            ..BusConfig::classic(500_000)
        })
        .unwrap();
        for _ in 0..2 {
            bus.attach(NodeConfig::default()).unwrap();
        }
        let (mut starts, mut failed) = (0, Vec::new());
        while starts < 200 {
            let _ = bus.send(N0, bus.now(), &sff(0x123, &[]), 0);
            bus.run_until(bus.next().unwrap(), |e| match e {
                NodeEvent::Frame { .. } => starts += 1,
                NodeEvent::Error { at, start, .. } => {
                    starts += 1;
                    failed.push((starts, at - start));
                }
                _ => {}
            });
        }
        failed
    };
    let without = failed(None);
    assert!(without.len() > 5, "{without:?}");
    let extra = (1..).find(|n| without.iter().all(|f| f.0 != *n)).unwrap();
    let mut with = failed(Some(extra));
    with.retain(|f| f.0 != extra);
    assert_eq!(with, without);
}
