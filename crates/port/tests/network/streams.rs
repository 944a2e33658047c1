//! Ports over TCP.

use crate::common::{MS, TCP, TestPeer, TestPort, frame, free_tcp, server, udp, until};
use frame::{CanId, Frame};
use std::net::{SocketAddr, TcpListener};

fn client(kind: &str, connect: SocketAddr, more: &str) -> String {
    format!("[ports.can0]\nkind = '{kind}'\nconnect = '{connect}'\n{more}")
}

/// Time after which a client of socketcand gets frames.
const SETTLED: u64 = 60 * MS;

/// Frames cross between the two roles of a protocol, both ways, and again after the server was
/// away.
#[test]
fn a_client_and_a_server_exchange_frames_and_meet_again() {
    let classic = ["123#11", "1ABCDEF0#0102030405060708", "7FF#"]
        .map(frame)
        .to_vec();
    let mut all = classic.clone();
    all.extend(["123#R5", "00000123#R", "123##0112233", "123##1"].map(frame));
    for (kind, more, frames) in [
        ("slcan", "", &all),
        ("socketcand", "", &classic),
        ("cannelloni", TCP, &all),
    ] {
        let address = free_tcp();
        let mut far = TestPort::open(&client(kind, address, more));
        assert!(!far.send(&frames[0], 0), "there is no server yet");
        for life in 0..2 {
            let mut near = TestPort::open(&server(kind, address, more));
            // The pauses between attempts grow up to 5 s.
            let mut now = life * 100_000 * MS;
            until(|| {
                now += 1000 * MS;
                far.step(now);
                near.step(now);
                far.is_up() && near.is_up()
            });
            now += SETTLED;
            far.received.clear();
            for frame in frames {
                assert!(
                    near.send(frame, now) && far.send(frame, now),
                    "{kind} {frame:?}"
                );
            }
            until(|| {
                near.step(now);
                far.step(now);
                near.received.len() == frames.len() && far.received.len() == frames.len()
            });
            assert_eq!((&near.received, &far.received), (frames, frames), "{kind}");
            let count = frames.len() as u64;
            assert_eq!((near.tx().sent, near.tx().missed), (count, 0));
            assert_eq!(far.tx().sent, count * (life + 1));
            assert_eq!((near.rx().malformed, far.rx().malformed), (0, 0));
            drop(near);
            far.until(now, |far| !far.is_up());
        }
        assert_eq!(far.rx().reopened, 1, "{kind}");
    }
}

fn open_clients(port: &mut TestPort, address: SocketAddr, count: usize) -> Vec<TestPeer> {
    // The listener admits 16 clients at a time that have not opened a bus.
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = TestPeer::connect(address);
        client.expect(port, 0, b"< hi >");
        client.write(b"< open can0 >");
        client.expect(port, 0, b"< ok >");
        client.write(b"< rawmode >");
        client.expect(port, 0, b"< ok >");
        client.elements = 0;
        clients.push(client);
    }
    clients
}

/// 100 clients, of which 10 do not read: these lose their own frames only, and each copy that they
/// miss is counted.
#[test]
fn a_client_that_does_not_read_loses_only_its_own_frames() {
    const FRAMES: u64 = 6000;
    const BATCH: u64 = 40;
    let address = free_tcp();
    let mut port = TestPort::open(&server("socketcand", address, "clients = 100\nqueue = 64"));
    let mut clients = open_clients(&mut port, address, 100);
    let (deaf, reading) = clients.split_at_mut(10);
    for batch in 0..FRAMES / BATCH {
        let now = SETTLED + batch * MS;
        for number in 0..BATCH {
            let number = batch * BATCH + number;
            let frame = Frame::classic(CanId::sff(1).unwrap(), &number.to_be_bytes()).unwrap();
            assert!(port.send(&frame, now));
        }
        port.flush(now);
        let goal = (batch + 1) * BATCH;
        until(|| {
            port.step(now);
            reading.iter_mut().for_each(TestPeer::read);
            reading.iter().all(|client| client.elements == goal)
        });
    }
    let tx = port.tx();
    assert_eq!(
        (tx.taken, tx.sent, tx.lost, tx.displaced),
        (FRAMES, FRAMES, 0, 0)
    );
    for client in reading.iter() {
        let elements = client.text.split(|byte| *byte == b'>');
        for (number, element) in (0..FRAMES).zip(elements) {
            let digits = format!("{number:016X} ");
            assert!(element.ends_with(digits.as_bytes()), "{number}");
        }
    }
    // They read at last: what they get and what they missed is everything.
    let now = SETTLED + FRAMES * MS;
    let missed = tx.missed;
    assert!(missed > 0, "the sockets hold less than all frames");
    let mut got = 0;
    until(|| {
        port.step(now);
        deaf.iter_mut().for_each(TestPeer::read);
        got = deaf.iter().map(|client| client.elements).sum();
        got + missed == 10 * FRAMES
    });
    assert_eq!(port.tx().missed, missed);
    for client in deaf.iter() {
        let newest = format!("{:016X} >", FRAMES - 1);
        assert!(
            client.text.ends_with(newest.as_bytes()),
            "the newest frames are kept"
        );
    }
}

#[test]
fn frames_for_a_client_that_leaves_are_lost_once() {
    let address = free_tcp();
    let mut port = TestPort::open(&server("socketcand", address, "queue = 4"));
    let mut clients = open_clients(&mut port, address, 1);
    // Within the first 50 ms, frames wait.
    for number in 0..6 {
        assert!(port.send(&frame(&format!("00{number}#")), MS));
    }
    port.flush(MS);
    let tx = port.tx();
    assert_eq!((tx.taken, tx.displaced, tx.held), (6, 2, 4));
    assert_eq!(port.room(), 0);
    assert!(port.deadline().is_some_and(|at| at <= SETTLED));
    drop(clients.pop());
    port.until(MS, |port| !port.is_up());
    let tx = port.tx();
    assert_eq!((tx.lost, tx.displaced, tx.held, tx.missed), (4, 2, 0, 6));
    assert!(!port.send(&frame("001#"), MS), "there is no client");
    assert_eq!(port.room(), usize::MAX);
}

#[test]
fn ports_share_a_listener_by_the_names_of_their_buses() {
    let address = free_tcp();
    let tables = ["can0", "body"].map(|name| {
        format!("[ports.{name}]\nkind = 'socketcand'\nlisten = '{address}'\nclients = 3")
    });
    let [mut can0, mut body] = TestPort::open_all([&*tables[0], &*tables[1]]);
    let mut client = TestPeer::connect(address);
    client.expect(&mut can0, 0, b"< hi >");
    client.write(b"< list >");
    client.expect(&mut body, 0, b"< interfaces can0 body >");
    // All in one segment; the port that serves the listener is not the one that gets the client.
    client.write(b"< open body >< rawmode >< send 123 1 aa >");
    until(|| {
        can0.step(0);
        client.read();
        body.step(0);
        !body.received.is_empty()
    });
    client.expect(&mut body, 0, b"< ok >< ok >");
    assert_eq!(body.received, [frame("123#AA")]);
    assert!(body.is_up() && !can0.is_up() && can0.received.is_empty());
    let mut lost = TestPeer::connect(address);
    lost.expect(&mut can0, 0, b"< hi >");
    lost.write(b"< open other >");
    lost.expect(&mut can0, 0, b"< error could not open bus >");
    lost.expect_end(&mut can0, 0);
    assert_eq!(can0.rx().denied, 1);
    assert!(
        can0.remarks().contains("there is no bus `other`"),
        "{}",
        can0.remarks()
    );
    // A port that is closed takes its clients with it; the other one goes on listening.
    drop(body);
    until(|| {
        client.read();
        client.ended
    });
    let mut again = TestPeer::connect(address);
    again.expect(&mut can0, 0, b"< hi >");
    again.write(b"< open body >");
    again.expect_end(&mut can0, 0);
}

#[test]
fn clients_have_a_limit_and_a_time_and_a_list() {
    let address = free_tcp();
    let mut port = TestPort::open(&server(
        "socketcand",
        address,
        "clients = 2\nallow = '127.0.0.1'",
    ));
    let mut first = TestPeer::connect(address);
    let mut second = TestPeer::connect(address);
    first.expect(&mut port, 0, b"< hi >");
    second.expect(&mut port, 0, b"< hi >");
    TestPeer::connect(address).expect_end(&mut port, 0);
    assert_eq!(port.rx().denied, 1);
    // The second one opens a bus, the first one does not within 10 s.
    second.write(b"< open can0 >");
    second.expect(&mut port, 0, b"< ok >");
    assert!(port.deadline().is_some_and(|at| at <= 10_000 * MS));
    first.expect_end(&mut port, 10_000 * MS);
    assert_eq!(port.rx().denied, 2);
    let mut third = TestPeer::connect(address);
    third.expect(&mut port, 10_000 * MS, b"< hi >");
    drop(port);
    let address = free_tcp();
    let mut port = TestPort::open(&server("slcan", address, "allow = '192.0.2.0/24'"));
    TestPeer::connect(address).expect_end(&mut port, 0);
    assert_eq!(port.rx().denied, 1);
    assert!(
        port.remarks().contains("it is not in `allow`"),
        "{}",
        port.remarks()
    );
}

/// A reload with other settings keeps the listener; clients of the old port connect again.
#[test]
fn a_port_with_other_settings_takes_the_listener_of_the_old_one() {
    let address = free_tcp();
    let [mut old, mut new] = TestPort::open_twice(
        &server("socketcand", address, ""),
        &server("socketcand", address, "clients = 1"),
    );
    let mut client = TestPeer::connect(address);
    // Whichever port serves the listener, the new one gets the client.
    client.expect(&mut old, 0, b"< hi >");
    drop(old);
    client.write(b"< open can0 >");
    client.expect(&mut new, 0, b"< ok >");
    client.write(b"< rawmode >");
    client.expect(&mut new, 0, b"< ok >");
    assert!(new.is_up());
    TestPeer::connect(address).expect_end(&mut new, 0);
    assert_eq!(new.rx().denied, 1, "the new settings are in force");
    // A command that was cut off.
    client.write(b"< send 123");
    drop(client);
    new.until(0, |new| !new.is_up());
    assert!(
        new.remarks().contains("within a frame"),
        "{}",
        new.remarks()
    );
}

/// A client that sends what is not a frame, or is of another protocol.
#[test]
fn garbage_is_counted() {
    let address = free_tcp();
    let mut port = TestPort::open(&server("slcan", address, ""));
    let mut client = TestPeer::connect(address);
    client.write(b"O\rt1231AA\rrubbish\rt12\r");
    client.expect(&mut port, 0, b"\rz\r\x07\x07");
    assert_eq!((port.rx().malformed, port.received.len()), (2, 1));
    client.write(&[b'x'; 5000]);
    client.expect_end(&mut port, 0);
    assert!(
        port.remarks().contains("a line that is too long"),
        "{}",
        port.remarks()
    );
    let address = free_tcp();
    let mut port = TestPort::open(&server("socketcand", address, ""));
    let mut client = TestPeer::connect(address);
    client.write(&b"< rubbish >".repeat(100));
    client.expect_end(&mut port, 0);
    assert_eq!((port.rx().denied, port.rx().malformed), (1, 64));
    let address = free_tcp();
    let mut port = TestPort::open(&server("cannelloni", address, TCP));
    let mut client = TestPeer::connect(address);
    client.write(b"< hi >");
    client.expect_end(&mut port, 0);
    assert!(
        port.remarks().contains("CANNELLONIv1"),
        "{}",
        port.remarks()
    );
}

#[test]
fn a_beacon_names_the_buses() {
    let (listener, to) = udp();
    let address = free_tcp();
    let mut port = TestPort::open(&server("socketcand", address, &format!("beacon = '{to}'")));
    port.step(0);
    let mut buffer = [0; 1500];
    let text = |len: usize, buffer: &[u8]| String::from_utf8(buffer[..len].to_vec()).unwrap();
    let len = listener.recv(&mut buffer).unwrap();
    let expected = format!(
        "<CANBeacon name=\"cangate\" type=\"SocketCAN\" description=\"cangate\">\n\
         <URL>can://{address}</URL><Bus name=\"can0\"/></CANBeacon>"
    );
    assert_eq!(text(len, &buffer), expected);
    assert_eq!(port.deadline(), Some(3000 * MS));
    listener.set_nonblocking(true).unwrap();
    port.step(2999 * MS);
    assert!(listener.recv(&mut buffer).is_err());
    port.step(3000 * MS);
    assert!(listener.recv(&mut buffer).is_ok());
}

/// The daemon's answers to a client, and a daemon without the bus.
#[test]
fn a_client_of_a_daemon() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut port = TestPort::open(&client("socketcand", address, "name = 'vcan0'"));
    port.step(0);
    let mut daemon = TestPeer::new(listener.accept().unwrap().0);
    daemon.write(b"< hi >");
    daemon.expect(&mut port, 0, b"< open vcan0 >");
    assert!(!port.send(&frame("123#"), 0));
    daemon.write(b"< ok >");
    daemon.expect(&mut port, 0, b"< rawmode >");
    daemon.write(b"< ok >< frame 123 1.000001 AABB >< error unknown command >");
    port.until(0, |port| !port.received.is_empty());
    assert_eq!(port.received, [frame("123#AABB")]);
    assert!(port.send(&frame("7FF#0102"), 0));
    assert!(!port.send(&frame("123#R"), 0) && !port.send(&frame("123##0"), 0));
    daemon.expect(&mut port, 0, b"< send 7FF 2 1 2 >");
    assert!(port.remarks().contains("1 refused"), "{}", port.remarks());
    drop(daemon);
    port.until(0, |port| !port.is_up());
    // The next attempt comes after a pause.
    let next = port.deadline().unwrap();
    port.step(next);
    let mut daemon = TestPeer::new(listener.accept().unwrap().0);
    daemon.write(b"< hi >");
    daemon.expect(&mut port, next, b"< open vcan0 >");
    daemon.write(b"< error could not open bus >");
    daemon.expect_end(&mut port, next);
    assert!(
        port.remarks().contains("no bus of this name"),
        "{}",
        port.remarks()
    );
}
