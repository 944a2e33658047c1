//! Ports over UDP.

use crate::common::{MS, SeededNumbers, TestPort, frame, free_udp, udp};
use frame::{CanId, Frame};
use std::collections::BTreeSet;
use std::net::SocketAddr;

fn tunnel(listen: SocketAddr, connect: SocketAddr, more: &str) -> String {
    format!("[ports.p]\nkind = 'cannelloni'\nlisten = '{listen}'\nconnect = '{connect}'\n{more}")
}

/// Returns a frame that has this number as its payload.
fn numbered(number: u64) -> Frame {
    Frame::classic(CanId::sff(0x123).unwrap(), &number.to_be_bytes()).unwrap()
}

fn number(frame: &Frame) -> u64 {
    u64::from_be_bytes(frame.data().try_into().unwrap())
}

/// A network that loses, doubles, delays and swaps datagrams, between two tunnels: every datagram
/// and every frame has one fate, on both sides.
#[test]
fn sums_are_exact_over_a_network_that_is_not() {
    for seed in 0..6 {
        let (relay, relay_address) = udp();
        let there = free_udp();
        let mut near = TestPort::open(&tunnel(free_udp(), relay_address, ""));
        let mut far = TestPort::open(&tunnel(there, relay_address, ""));
        let mut numbers = SeededNumbers(seed);
        let (mut lost, mut doubled) = (0, 0);
        // Datagrams under way, with the number of steps that they still need.
        let mut under_way: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut arrived = BTreeSet::new();
        let (mut sent, mut now) = (0, 0);
        let pass = |datagrams: &mut Vec<(u64, Vec<u8>)>| {
            for (steps, _) in datagrams.iter_mut() {
                *steps = steps.saturating_sub(1);
            }
            datagrams.retain(|(steps, bytes)| {
                if *steps == 0 {
                    relay.send_to(bytes, there).unwrap();
                }
                *steps > 0
            });
        };
        // The last datagram is not lost: nothing would show it.
        for step in 0..700 {
            now += MS;
            let frames = 1 + numbers.below(3);
            for _ in 0..frames {
                assert!(near.send(&numbered(sent), now));
                sent += 1;
            }
            near.flush(now);
            let mut buffer = [0; 2048];
            let len = relay.recv(&mut buffer).unwrap();
            let bytes = buffer[..len].to_vec();
            let fate = if step == 0 || step == 699 {
                99
            } else {
                numbers.below(20)
            };
            if fate == 0 {
                lost += frames;
            } else {
                arrived.extend(sent - frames..sent);
            }
            match fate {
                0 => {}
                1 => {
                    doubled += 1;
                    let delay = 1 + numbers.below(20);
                    under_way.extend([(1, bytes.clone()), (delay, bytes)]);
                }
                2..=4 => under_way.push((1 + numbers.below(20), bytes)),
                _ => under_way.push((1, bytes)),
            }
            pass(&mut under_way);
            far.step(now);
        }
        while !under_way.is_empty() {
            pass(&mut under_way);
            far.step(now);
        }
        let awaited = far.rx().missing;
        let deadline = far.deadline();
        far.step(now + 1000 * MS);
        let rx = far.rx();
        assert!(rx.missing > 0 && (rx.missing == awaited || deadline.is_some()));
        assert_eq!(far.deadline(), None);
        let got: BTreeSet<u64> = far.received.iter().map(number).collect();
        assert_eq!(got.len(), far.received.len(), "no frame twice");
        assert_eq!(got, arrived);
        assert_eq!(far.received.len() as u64 + lost, sent);
        // Each datagram has 1 to 3 frames.
        assert!(
            (lost.div_ceil(3)..=lost).contains(&rx.missing),
            "{rx:?} {lost}"
        );
        assert_eq!(rx.repeated, doubled);
        assert!(rx.overtaken > 0, "{rx:?}");
        let others = (rx.malformed, rx.denied, rx.reopened, rx.overrun);
        assert_eq!(others, (0, 0, 0, 0));
        let tx = near.tx();
        assert_eq!((tx.taken, tx.sent, tx.lost, tx.held), (sent, sent, 0, 0));
    }
}

#[test]
fn datagrams_that_are_none_and_strangers_are_counted_and_left_out() {
    let (peer, address) = udp();
    let there = free_udp();
    let mut port = TestPort::open(&tunnel(there, address, ""));
    let good = [2, 0, 0, 0, 1, 0, 0, 1, 0x23, 1, 0xAA];
    for bad in [
        &b""[..],
        b"CANNELLONIv1",
        &good[..10],
        &[2, 0, 0, 0, 1, 0, 0, 1, 0x23, 9],
    ] {
        peer.send_to(bad, there).unwrap();
    }
    peer.send_to(&good, there).unwrap();
    port.until(0, |port| !port.received.is_empty());
    assert_eq!(port.received, [frame("123#AA")]);
    assert_eq!(port.rx().malformed, 4);
    assert!(
        port.remarks().contains("the version is not 2"),
        "{}",
        port.remarks()
    );
    // Another host. All of 127/8 is this machine, so a socket can have such an address.
    let stranger = std::net::UdpSocket::bind("127.0.0.2:0").unwrap();
    stranger.send_to(&good, there).unwrap();
    port.until(0, |port| port.rx().denied > 0);
    assert_eq!(port.received.len(), 1);
    assert!(port.remarks().contains("127.0.0.2"), "{}", port.remarks());
    drop(port);
    let allow = "allow = ['127.0.0.2', '192.0.2.0/24']";
    let mut port = TestPort::open(&tunnel(there, address, allow));
    peer.send_to(&good, there).unwrap();
    stranger.send_to(&good, there).unwrap();
    port.until(0, |port| port.rx().denied > 0 && !port.received.is_empty());
    assert_eq!((port.received.len(), port.rx().denied), (1, 1));
}

/// A reload with other settings opens the new port while the old one is still there.
#[test]
fn a_port_with_other_settings_takes_the_address_of_the_old_one() {
    let (peer, address) = udp();
    let there = free_udp();
    let [old, mut new] = TestPort::open_twice(
        &tunnel(there, address, ""),
        &tunnel(there, address, "pack = '1ms'"),
    );
    drop(old);
    peer.send_to(&[2, 0, 0, 0, 1, 0, 0, 1, 0x23, 1, 0xAA], there)
        .unwrap();
    new.until(0, |new| !new.received.is_empty());
    assert!(new.send(&frame("123#"), 0));
    new.flush(MS);
    let mut buffer = [0; 2048];
    assert_eq!(peer.recv_from(&mut buffer).unwrap().1, there);
}

#[test]
fn frames_that_leave_together_or_within_a_time_share_a_datagram() {
    let (peer, address) = udp();
    let mut port = TestPort::open(&tunnel(free_udp(), address, "pack = '2ms'"));
    let mut buffer = [0; 2048];
    for number in 0..3 {
        assert!(port.send(&numbered(number), number * MS / 2));
        port.flush(number * MS / 2);
    }
    assert_eq!((port.tx().held, port.tx().sent), (3, 0));
    port.flush(2 * MS);
    assert_eq!((port.tx().held, port.tx().sent), (0, 3));
    let len = peer.recv(&mut buffer).unwrap();
    assert_eq!((len, buffer[4]), (5 + 3 * 13, 3));
    // A full datagram leaves at once.
    let many = 2 * (1452 - 5) / 13;
    for number in 0..many as u64 {
        assert!(port.send(&numbered(number), 9 * MS));
    }
    port.flush(9 * MS);
    let tx = port.tx();
    assert_eq!((tx.sent, tx.held), (3 + 111, many as u64 - 111));
    port.flush(11 * MS);
    assert_eq!(port.tx().held, 0);
}

/// A source that sends only as many frames as there is room for does not wait for the end of the
/// time in which frames share a datagram.
#[test]
fn a_frame_has_room_behind_a_datagram_that_is_full() {
    for kind in [
        "kind = 'cannelloni'",
        "kind = 'ieee1722'",
        "kind = 'ieee1722'\nversion = 2",
    ] {
        let (peer, address) = udp();
        let listen = free_udp();
        let table = format!(
            "[ports.p]\n{kind}\nlisten = '{listen}'\nconnect = '{address}'\npack = '100ms'"
        );
        let mut port = TestPort::open(&table);
        for number in 0..500 {
            assert!(port.room() > 0, "{kind} {number}");
            assert!(port.send(&numbered(number), 0));
            port.flush(0);
        }
        let tx = port.tx();
        assert!(tx.sent > 0 && tx.held > 1, "{kind} {tx:?}");
        port.flush(100 * MS);
        assert_eq!((port.tx().sent, port.tx().held), (500, 0), "{kind}");
        let mut buffer = [0; 2048];
        assert!(peer.recv(&mut buffer).unwrap() > 1400, "{kind}");
    }
}

/// A sender that begins anew has another datagram with a number that is known.
#[test]
fn a_sender_that_begins_anew_is_counted() {
    let (peer, address) = udp();
    let there = free_udp();
    let mut port = TestPort::open(&tunnel(there, address, ""));
    for data in [1, 2, 3] {
        peer.send_to(&[2, 0, 9, 0, 1, 0, 0, 1, 0x23, 1, data], there)
            .unwrap();
    }
    port.until(0, |port| port.received.len() == 3);
    assert_eq!(port.rx().reopened, 2);
}

#[test]
fn a_remote_frame_and_every_kind_cross_a_tunnel_by_ipv6() {
    let probe = std::net::UdpSocket::bind("[::1]:0");
    let Ok(probe) = probe else {
        eprintln!("SKIPPED because there is no IPv6 on the loopback interface");
        return;
    };
    let other = std::net::UdpSocket::bind("[::1]:0").unwrap();
    let [a, b] = [probe.local_addr().unwrap(), other.local_addr().unwrap()];
    drop((probe, other));
    let mut near = TestPort::open(&tunnel(a, b, ""));
    let mut far = TestPort::open(&tunnel(b, a, ""));
    let all = [
        "123#",
        "1ABCDEF0#0102030405060708",
        "123#R5",
        "00000007#R",
        "123##30011",
        "7FF##0",
    ];
    let all = all.map(frame);
    for frame in &all {
        assert!(near.send(frame, 0));
    }
    near.flush(0);
    far.until(0, |far| far.received.len() == all.len());
    assert_eq!(far.received, all);
    let error = Frame::classic(CanId::from_raw(0x2000_0040), &[0; 8]).unwrap();
    assert!(!near.send(&error, 0), "cannelloni has no error frames");
}

/// Messages of other streams and buses are passed over, and a remark has their number.
#[test]
fn frames_cross_a_stream_of_ieee_1722() {
    let [a, b] = [free_udp(), free_udp()];
    let stream = |listen: SocketAddr, connect: SocketAddr, more: &str| {
        format!("[ports.p]\nkind = 'ieee1722'\nlisten = '{listen}'\nconnect = '{connect}'\n{more}")
    };
    let all = [
        "123#",
        "1ABCDEF0#0102030405060708",
        "123#R5",
        "123##30011",
        "7FF##0",
    ]
    .map(frame);
    for more in [
        "",
        "brief = true\nbus = 31",
        "version = 2\nbus = 2047\npack = '1ms'",
        "max_transit = '2ms'",
        "brief = true\nmax_transit = '2ms'",
    ] {
        let mut near = TestPort::open(&stream(a, b, more));
        let mut far = TestPort::open(&stream(b, a, more));
        for frame in &all {
            assert!(near.send(frame, 0));
            near.flush(MS);
        }
        far.until(0, |far| far.received.len() == all.len());
        assert_eq!(far.received, all, "{more}");
        assert_eq!(near.tx().sent, all.len() as u64);
        let mut other = TestPort::open(&stream(free_udp(), b, "stream = '0000000000000001'"));
        assert!(other.send(&all[0], 0));
        other.flush(0);
        far.until(0, |far| {
            far.remarks()
                .contains("1 messages of other streams or buses")
        });
        assert_eq!((far.received.len(), far.rx().malformed), (all.len(), 0));
    }
}

/// Two buses between the same two addresses: a stream each.
#[test]
fn two_streams_share_an_address() {
    let [a, b] = [free_udp(), free_udp()];
    let stream = |name: u64, listen: SocketAddr, connect: SocketAddr| {
        format!(
            "[ports.p{}]\nkind = 'ieee1722'\nlisten = '{listen}'\nconnect = '{connect}'\n\
             stream = '{name:016X}'\nreports = '100ms'",
            listen.port()
        )
    };
    let tables = [(1, a, b), (2, a, b), (1, b, a), (2, b, a)].map(|(n, a, b)| stream(n, a, b));
    let [mut one, mut two, mut far_one, mut far_two] =
        TestPort::open_all(tables.each_ref().map(String::as_str));
    for number in 0..200 {
        for port in [&mut one, &mut two] {
            assert!(port.send(&numbered(number), number * MS));
            port.flush(number * MS);
        }
        // One of the ports reads for both.
        far_one.step(number * MS);
    }
    far_one.until(200 * MS, |port| port.received.len() == 200);
    assert!(far_two.received.is_empty());
    assert_eq!(far_two.deadline(), Some(0));
    far_two.until(200 * MS, |port| port.received.len() == 200);
    let all: Vec<Frame> = (0..200).map(numbered).collect();
    for port in [&mut far_one, &mut far_two] {
        assert_eq!(port.received, all);
        let rx = port.rx();
        assert_eq!((rx.datagrams, rx.missing, rx.malformed), (200, 0, 0));
        port.step(300 * MS);
    }
    // The reports go back, each to its own port.
    for port in [&mut two, &mut one] {
        until_remark(port, "the other side took 200 datagrams");
        assert!(
            !port.remarks().contains("passed over"),
            "{}",
            port.remarks()
        );
    }
    // The other port goes on alone.
    drop(far_one);
    assert!(two.send(&numbered(200), 400 * MS));
    two.flush(400 * MS);
    far_two.until(400 * MS, |port| port.received.len() == 201);
}

/// Datagrams that a port has read for another one are not lost, and keep no worker busy, when it is
/// closed.
#[test]
fn what_a_closed_port_has_read_is_taken() {
    let [a, b] = [free_udp(), free_udp()];
    let stream = |name: u64, listen: SocketAddr, connect: SocketAddr| {
        format!(
            "[ports.p]\nkind = 'ieee1722'\nlisten = '{listen}'\nconnect = '{connect}'\nstream = '{name:016X}'"
        )
    };
    let tables = [(2, a, b), (1, b, a), (2, b, a)].map(|(n, a, b)| stream(n, a, b));
    let [mut two, mut far_one, mut far_two] =
        TestPort::open_all(tables.each_ref().map(String::as_str));
    for number in 0..100 {
        assert!(two.send(&numbered(number), number * MS));
        two.flush(number * MS);
    }
    let deadline = |port: &TestPort| port.deadline() == Some(0);
    far_one.until(100 * MS, |_| deadline(&far_two));
    drop(far_one);
    far_two.until(100 * MS, |port| port.received.len() == 100);
    assert!(!deadline(&far_two));
}

fn until_remark(port: &mut TestPort, words: &str) {
    port.until(400 * MS, |port| port.remarks().contains(words));
}

/// The port does not take its own datagrams, which come back by multicast.
#[test]
fn programs_of_a_group_hear_one_another_and_not_themselves() {
    let port = free_udp().port();
    let table = format!("[ports.p]\nkind = 'multicast'\ninterface = 'lo'\nport = {port}");
    let [mut one, mut two] = [(); 2].map(|()| TestPort::open(&table));
    let all = [
        "123#11",
        "123#R5",
        "1ABCDEF0##3AABB",
        "20000040#0000000000000000",
    ]
    .map(frame);
    for frame in &all {
        assert!(one.send(frame, 0));
        one.flush(0);
    }
    two.until(0, |two| two.received.len() == all.len());
    assert_eq!(two.received, all);
    assert!(two.send(&frame("321#"), 0));
    two.flush(0);
    one.until(0, |one| !one.received.is_empty());
    assert_eq!(one.received, [frame("321#")]);
    two.step(0);
    assert_eq!(two.received.len(), all.len());
    assert_eq!((one.rx().denied, two.rx().malformed), (0, 0));
}

/// Two buses in one stream at one address: a port each, which share the numbers of the datagrams.
#[test]
fn two_buses_share_a_stream() {
    let [a, b] = [free_udp(), free_udp()];
    let end = |bus: u64, listen: SocketAddr, connect: SocketAddr| {
        format!(
            "[ports.p{}b{bus}]\nkind = 'ieee1722'\nlisten = '{listen}'\nconnect = '{connect}'\n\
             bus = {bus}\nreports = '100ms'",
            listen.port()
        )
    };
    let tables = [(0, a, b), (1, a, b), (0, b, a), (1, b, a)].map(|(n, a, b)| end(n, a, b));
    let [mut zero, mut one, mut far_zero, mut far_one] =
        TestPort::open_all(tables.each_ref().map(String::as_str));
    for number in 0..100 {
        assert!(zero.send(&numbered(number), number * MS));
        zero.flush(number * MS);
        if number % 2 == 0 {
            assert!(one.send(&numbered(1000 + number), number * MS));
            one.flush(number * MS);
        }
        far_zero.step(number * MS);
    }
    far_zero.until(200 * MS, |port| port.received.len() == 100);
    far_one.until(200 * MS, |port| port.received.len() == 50);
    assert_eq!(
        far_zero.received,
        (0..100).map(numbered).collect::<Vec<_>>()
    );
    for port in [&far_zero, &far_one] {
        let rx = port.rx();
        assert_eq!((rx.datagrams, rx.missing, rx.malformed), (150, 0, 0));
    }
    // A stream of another program: one datagram with a message for each bus (libopen1722's bytes,
    // with the numbers of the buses).
    let (other, _) = udp();
    let two = "00000000 82802c00 aabbccddeeff0001 02052000 18eb57b1332b687c 00000123 11223344 \
               02063001 18eb57b133306052 00000124 0000000000000000";
    let digits: String = two.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len() / 2).map(byte).collect();
    other.send_to(&bytes, b).unwrap();
    far_one.until(300 * MS, |port| port.received.len() == 51);
    far_zero.until(300 * MS, |port| port.received.len() == 101);
    assert_eq!(far_zero.received[100], frame("123#11223344"));
    assert_eq!(far_one.received[50], frame("124#R8"));
}
