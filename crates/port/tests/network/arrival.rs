//! Clients over TCP that send in parts, ask often, or do not read their answers.

use crate::common::{TCP, TestPeer, TestPort, frame, free_tcp, server, until};

/// A client that sends without end and never reads its answers gets no more of them, and its frames
/// pass.
#[test]
fn answers_that_a_client_does_not_read_have_a_limit() {
    let address = free_tcp();
    let mut port = TestPort::open(&server("slcan", address, ""));
    let mut client = TestPeer::connect(address);
    client.write(b"O\r");
    let lines = b"t1230\r".repeat(1000);
    let mut sent = 0;
    while sent < 300 {
        match std::io::Write::write(&mut client.stream, &lines) {
            Ok(written) if written == lines.len() => sent += 1,
            Ok(written) => {
                // The rest of the lines follows when the port has read.
                let mut rest = &lines[written..];
                until(|| {
                    port.step(0);
                    let more = std::io::Write::write(&mut client.stream, rest).unwrap_or(0);
                    rest = &rest[more..];
                    rest.is_empty()
                });
                sent += 1;
            }
            Err(_) => port.step(0),
        }
    }
    port.until(0, |port| port.received.len() == 300_000);
    assert!(port.is_up());
}

/// A client that reads its answers may ask for the list of buses as often as it likes.
#[test]
fn answers_before_a_bus_is_open_reach_a_client_that_reads() {
    let address = free_tcp();
    let name = "a-bus-with-a-name-of-32-letters-";
    let mut port = TestPort::open(&server("socketcand", address, &format!("name = '{name}'")));
    let mut client = TestPeer::connect(address);
    client.expect(&mut port, 0, b"< hi >");
    let answers = format!("< interfaces {name} >").repeat(48);
    for _ in 0..20 {
        client.write(&b"< list >".repeat(48));
        client.expect(&mut port, 0, answers.as_bytes());
    }
    assert_eq!(port.rx().denied, 0);
}

/// The beginning of a unit waits for its rest, and does not keep the worker busy meanwhile.
#[test]
fn a_unit_that_has_arrived_in_part_leaves_nothing_to_do() {
    let cases: [(&str, &str, &[u8], &[u8]); 2] = [
        ("slcan", "", b"O\rt1231A", b"A\r"),
        ("cannelloni", TCP, b"CANNELLONIv1\0\0\x01\x23\x01", b"\xAA"),
    ];
    for (kind, more, part, rest) in cases {
        let address = free_tcp();
        let mut port = TestPort::open(&server(kind, address, more));
        let mut client = TestPeer::connect(address);
        client.write(part);
        until(|| {
            port.receive_once(0);
            port.is_up()
        });
        assert!(!port.receive_once(0), "{kind}");
        client.write(rest);
        port.until(0, |port| !port.received.is_empty());
        assert_eq!(port.received, [frame("123#AA")], "{kind}");
    }
}
