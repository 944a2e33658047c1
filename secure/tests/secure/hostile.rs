//! Peers that want to harm: a good one loses nothing.

use crate::simulated::{STEP, SimulatedNetwork, address, limits, peer};
use std::time::Duration;

/// Returns the first message of a handshake, as a side that connects sends it.
fn hello() -> Vec<u8> {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.step();
    network.seen[0].2.clone()
}

#[test]
fn half_open_handshakes_do_not_touch_a_session() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let place = network.connect(peer("v1", 1), limits());
    network.join(1);
    let hello = hello();
    for number in 0..1000_u32 {
        network.inject(address(100 + number as u16), None, hello.clone());
        network.inject(address(2000), None, vec![number as u8; number as usize]);
        network.send(place, true, &number.to_be_bytes());
        network.send(0, false, &number.to_be_bytes());
        network.step();
    }
    network.step();
    assert_eq!(network.at_listener.len(), 1000);
    assert_eq!(network.at_connectors[place].len(), 1000);
    let (_, handshakes, _) = network.listener.report();
    assert_eq!((handshakes.cookies, handshakes.begun), (1001, 1));
    assert_eq!(handshakes.waiting, 0, "{handshakes:?}");
    network.check_sums();
}

/// While hellos with forged addresses come, a new peer still joins: nothing is kept of them.
#[test]
fn a_new_peer_joins_between_half_open_handshakes() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let hello = hello();
    for number in 0..200 {
        for other in 0..100 {
            network.inject(address(100 + 100 * number + other), None, hello.clone());
        }
        if number == 100 {
            network.connect(peer("v1", 1), limits());
        }
        network.step();
    }
    assert_eq!(network.joined(), 1, "{:#?}", network.notes);
    network.check_sums();
}

/// One answer for each hello, none longer than it, and none later: forged addresses get no more
/// than the attacker sends.
#[test]
fn answers_to_forged_addresses_are_not_amplified() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let hello = hello();
    network.inject(address(100), None, hello.clone());
    network.run(Duration::from_secs(10));
    let sent: usize = network.seen.iter().map(|(_, _, bytes)| bytes.len()).sum();
    assert_eq!(network.seen.len(), 1);
    assert!(sent <= hello.len(), "{sent} > {}", hello.len());
    let (_, handshakes, _) = network.listener.report();
    assert_eq!((handshakes.cookies, handshakes.begun), (1, 0));
    network.check_sums();
}

/// A client that returns its cookie and then stops holds one of the places for `handshake_timeout`
/// only, and gives way before.
#[test]
fn slow_handshakes_end() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    for number in 0..12 {
        network.connect(peer("v1", 2 + number), limits());
    }
    // Hello, cookie, hello with cookie, and its answer; then all clients vanish.
    network.faults.slow = 1;
    for _ in 0..4 {
        network.step();
    }
    network.connectors.clear();
    network.run(Duration::from_secs(2));
    let (_, handshakes, _) = network.listener.report();
    assert!(
        handshakes.waiting > 0 && handshakes.waiting <= 8,
        "{handshakes:?}"
    );
    network.run(limits().handshake_timeout + STEP * 2);
    let (_, handshakes, _) = network.listener.report();
    assert_eq!(handshakes.waiting, 0, "{handshakes:?}");
    network.check_sums();
}

/// Alerts and changes of keys without encryption end no session.
#[test]
fn open_messages_do_not_end_a_session() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let place = network.connect(peer("v1", 1), limits());
    network.join(1);
    let from = network.connectors[place].0;
    // More than the library's queue of 30 has room for.
    for number in 0..40 {
        for (content, epoch) in [(20, 0), (20, 1), (21, 0), (21, 1), (22, 0), (22, 1)] {
            for body in [&[2, 40][..], &[1, 0], &[1], &[0; 30], &[16, 0, 0, 1, 0, 2]] {
                let mut record = vec![content, 0xFE, 0xFD, 0, epoch, 0, 0, 0, 0, 9, number, 0];
                record.push(body.len() as u8);
                record.extend_from_slice(body);
                network.inject(from, None, record.clone());
                network.inject(from, Some(from), record);
            }
        }
    }
    for _ in 0..20 {
        network.step();
        network.send(place, true, b"there");
        network.send(0, false, b"back");
    }
    network.step();
    assert_eq!(network.at_listener.len(), 20);
    assert_eq!(network.at_connectors[place].len(), 20);
    network.check_sums();
}
