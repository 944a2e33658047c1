//! A bus without errors.
use bus::{Bus, BusConfig, NodeConfig, NodeEvent, SendError};
use cangate_bus as bus;
use frame::{CanId, Frame};

fn sff(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), data).unwrap()
}

fn three() -> (Bus, [bus::NodeId; 3]) {
    let mut bus = Bus::new(BusConfig::classic(500_000)).unwrap();
    let ids = ["a", "b", "c"].map(|n| bus.attach(NodeConfig::new(n)).unwrap());
    (bus, ids)
}

/// Returns (start, end, node, tag) of every frame until nothing is left to do.
fn drain(bus: &mut Bus) -> Vec<(u64, u64, u16, u64)> {
    let mut log = Vec::new();
    while let Some(t) = bus.next() {
        bus.run_until(t, |e| {
            if let NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                ..
            } = e
            {
                log.push((*start, *end, node.0, *tag));
            }
        });
    }
    log
}

/// `123#` is 48 bits with intermission: 45 of 2 µs at 500 kbit/s, then 3 of pause.
#[test]
fn one_frame_takes_its_time() {
    let (mut bus, [a, ..]) = three();
    bus.send(a, 1_000, &sff(0x123, &[]), 7).unwrap();
    bus.send(a, 1_000, &sff(0x123, &[]), 8).unwrap();
    assert_eq!(
        drain(&mut bus),
        [(1_000, 91_000, 0, 7), (97_000, 187_000, 0, 8)]
    );
    bus.run_until(1_000_000, |_| ());
    let stats = bus.stats();
    assert_eq!(stats.frame_time, 180_000);
    assert_eq!(stats.intermission_time, 12_000);
    assert_eq!(stats.elapsed(), 1_000_000);
}

#[test]
fn a_frame_sent_at_the_end_of_another_takes_part_in_the_next_arbitration() {
    let (mut bus, [a, b, c]) = three();
    bus.send(a, 0, &sff(0x123, &[]), 0).unwrap();
    bus.send(b, 0, &sff(0x200, &[]), 1).unwrap();
    bus.run_until(96_000, |_| ());
    assert_eq!(
        bus.now(),
        96_000,
        "the intermission ends, nothing has started"
    );
    bus.send(c, 96_000, &sff(0x100, &[]), 2).unwrap();
    let order: Vec<u64> = drain(&mut bus).iter().map(|f| f.3).collect();
    assert_eq!(order, [2, 1]);
}

#[test]
fn the_best_mailbox_of_a_node_competes_and_the_queue_waits() {
    let mut bus = Bus::new(BusConfig::classic(500_000)).unwrap();
    let two = NodeConfig {
        mailboxes: 2,
        queue: 2,
        ..NodeConfig::new("two")
    };
    let a = bus.attach(two).unwrap();
    let b = bus.attach(NodeConfig::new("b")).unwrap();
    for (tag, id) in [0x300, 0x200, 0x100, 0x050].into_iter().enumerate() {
        bus.send(a, 0, &sff(id, &[]), tag as u64).unwrap();
    }
    assert_eq!(bus.free(a), 0);
    assert_eq!(bus.send(a, 0, &sff(1, &[]), 9), Err(SendError::Full));
    bus.send(b, 0, &sff(0x150, &[]), 10).unwrap();
    let order: Vec<u64> = drain(&mut bus).iter().map(|f| f.3).collect();
    // 0x150 of b is sent before 0x100 of a, which waits behind 0x200 in the queue.
    assert_eq!(order, [10, 1, 2, 3, 0]);
}

/// No DLC encodes 9 to 11 bytes and so on: the wire has zeros up to the next length, and the frame
/// has the duration that `cangate timing` prints.
#[test]
fn an_fd_frame_has_a_length_that_a_dlc_can_state() {
    let mut bus = Bus::new(BusConfig::fd(500_000, 2_000_000)).unwrap();
    let [a, _] = ["a", "b"].map(|n| bus.attach(NodeConfig::new(n)).unwrap());
    let frame = |len: u8| {
        let data: Vec<u8> = (1..=len).collect();
        Frame::fd(CanId::sff(0x123).unwrap(), frame::flags::BRS, &data).unwrap()
    };
    for (len, on_wire) in [
        (8, 8),
        (9, 12),
        (10, 12),
        (12, 12),
        (13, 16),
        (33, 48),
        (49, 64),
    ] {
        // Now, and for later.
        for wait in [0, 1_000] {
            let at = bus.now() + wait;
            bus.send(a, at, &frame(len), 7).unwrap();
            let mut came = Vec::new();
            while let Some(t) = bus.next() {
                bus.run_until(t, |event| {
                    if let NodeEvent::Frame {
                        frame, start, end, ..
                    } = event
                    {
                        came.push((**frame, *end - *start));
                    }
                });
            }
            let [(got, lasted)] = came[..] else {
                panic!("{came:?}");
            };
            let mut data: Vec<u8> = (1..=len).collect();
            data.resize(on_wire, 0);
            assert_eq!((got.len(), got.data()), (on_wire, &data[..]));
            let rate = frame::wire::BitRate::new(500_000, Some(2_000_000)).unwrap();
            let length = frame::wire::length(frame(len).view()).unwrap();
            assert_eq!(lasted, length.duration(rate, false));
        }
    }
}

#[test]
fn what_a_bus_refuses() {
    let (mut bus, [a, ..]) = three();
    let fd = Frame::fd(CanId::sff(1).unwrap(), 0, &[]).unwrap();
    assert_eq!(bus.send(a, 0, &fd, 0), Err(SendError::Unsupported));
    bus.run_until(10, |_| ());
    assert_eq!(
        bus.send(a, 9, &sff(1, &[]), 0),
        Err(SendError::Past { at: 9, now: 10 })
    );
    let nobody = bus::NodeId(3);
    assert_eq!(
        bus.send(nobody, 10, &sff(1, &[]), 0),
        Err(SendError::NoSuchNode(nobody))
    );
    assert!(Bus::new(BusConfig::classic(0)).is_err());
    assert!(Bus::new(BusConfig::fd(500_000, 250_000)).is_err());
    let none = NodeConfig {
        mailboxes: 0,
        ..NodeConfig::new("none")
    };
    assert!(bus.attach(none).is_err());
}

#[test]
fn a_node_attached_to_a_busy_bus_misses_the_frame_under_way() {
    let (mut bus, [a, ..]) = three();
    for tag in 0..2 {
        bus.send(a, 0, &sff(0x123, &[]), tag).unwrap();
    }
    bus.run_until(1_000, |_| ());
    let late = bus.attach(NodeConfig::new("late")).unwrap();
    let mut receives = Vec::new();
    bus.run_until(1_000_000, |e| {
        if let NodeEvent::Frame { receivers, .. } = e {
            receives.push(receivers.receives(late));
        }
    });
    assert_eq!(receives, [false, true]);
    assert_eq!(bus.node_state(late).unwrap().received, 1);
}
