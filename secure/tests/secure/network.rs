//! No network makes a datagram come out that was not sent, or twice, and the sums are exact.

use crate::simulated::{NetworkFaults, SimulatedNetwork, limits, peer};
use cangate_secure::datagram::session::REKEY_COUNT;
use proptest::prelude::*;
use std::collections::HashSet;
use std::time::Duration;

/// Returns a datagram with a number, and a length that depends on it.
fn numbered(side: u8, number: u32) -> Vec<u8> {
    let mut datagram = vec![side; 6 + number as usize % 1300];
    datagram[1..5].copy_from_slice(&number.to_be_bytes());
    datagram
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..Default::default() })]

    /// Datagrams that come out were sent, each once; those that do not are lost on the network or
    /// counted.
    #[test]
    fn nothing_forged_and_nothing_twice(
        seed in any::<u64>(),
        lost in 0_u64..30,
        doubled in 0_u64..30,
        forged in 0_u64..60,
        replayed in 0_u64..60,
        delay in 0_u64..6,
    ) {
        let peers = vec![peer("v1", 1), peer("v2", 2)];
        let mut network = SimulatedNetwork::new(peers, limits(), seed);
        for one in [peer("v1", 1), peer("v2", 2)] {
            network.connect(one, limits());
        }
        network.faults = NetworkFaults { lost, doubled, forged, replayed, delay, slow: 0 };
        let mut sent = [const { Vec::new() }; 4];
        for number in 0..400 {
            for place in [0, 1] {
                for (is_connector, side) in [(true, place as u8), (false, 2 + place as u8)] {
                    let datagram = numbered(side, number);
                    network.send(place, is_connector, &datagram);
                    sent[usize::from(side)].push(datagram);
                }
            }
            network.step();
        }
        network.run(Duration::from_millis(400));
        network.check_sums();
        for place in [0, 1] {
            let (far, near) = network.gateways(place);
            prop_assert_eq!((near.datagrams, far.datagrams), (400, 400));
            let at_listener = network.at_listener.iter().filter(|(peer, _)| *peer == place);
            let at_listener: Vec<&Vec<u8>> = at_listener.map(|(_, bytes)| bytes).collect();
            let at_connector: Vec<&Vec<u8>> = network.at_connectors[place].iter().collect();
            prop_assert_eq!(far.delivered, at_listener.len() as u64);
            prop_assert_eq!(near.delivered, at_connector.len() as u64);
            for (came, of) in [(at_listener, &sent[place]), (at_connector, &sent[2 + place])] {
                let unique: HashSet<&Vec<u8>> = came.iter().copied().collect();
                prop_assert_eq!(unique.len(), came.len(), "twice");
                let all: HashSet<&Vec<u8>> = of.iter().collect();
                prop_assert!(unique.is_subset(&all), "forged");
            }
            if lost + forged + replayed == 0 && delay == 0 {
                // Only what came before the session is missing.
                prop_assert_eq!(near.sent + near.absent, 400);
                prop_assert_eq!(far.delivered, near.sent);
                prop_assert!(near.absent < 20, "{:?}", near);
            }
        }
    }
}

#[test]
fn replays_and_forgeries_are_counted_apart() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    let seen = network.seen.len();
    network.send(0, true, b"open the doors");
    network.step();
    let (from, to, bytes) = network.seen[seen].clone();
    for _ in 0..3 {
        network.inject(from, to, bytes.clone());
    }
    for place in 13..bytes.len() {
        let mut forged = bytes.clone();
        // A new number, and one bit of what is sealed.
        forged[10] = 0x77;
        forged[place] ^= 1;
        network.inject(from, to, forged);
    }
    network.step();
    let (counters, _, _) = network.listener.report();
    assert_eq!(counters.delivered, 1);
    assert_eq!(counters.replayed, 3);
    assert_eq!(counters.forged, bytes.len() as u64 - 13);
    network.check_sums();
}

#[test]
fn data_without_encryption_never_comes_out() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let place = network.connect(peer("v1", 1), limits());
    network.faults.delay = 1;
    let open = |number: u8| {
        let mut record = vec![23, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, number, 0, 6];
        record.extend_from_slice(b"forged");
        record
    };
    let address = network.connectors[place].0;
    // At each moment of the handshake, alone and behind what the other side sends.
    for number in 0..100 {
        network.inject(address, None, open(number));
        network.inject(address, Some(address), open(number));
        if let Some((from, to, bytes)) = network.seen.last().cloned() {
            network.inject(from, to, [bytes, open(number)].concat());
        }
        network.step();
    }
    assert_eq!(network.joined(), 1);
    assert_eq!(network.at_listener, []);
    assert_eq!(network.at_connectors[place], Vec::<Vec<u8>>::new());
    network.send(place, true, b"true");
    network.run(Duration::from_millis(100));
    assert_eq!(network.at_listener, [(0, b"true".to_vec())]);
    network.check_sums();
}

#[test]
fn nothing_waits_for_a_session() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let place = network.connect(peer("v1", 1), limits());
    for _ in 0..50 {
        network.send(place, true, b"old");
        network.send(0, false, b"old");
    }
    network.join(1);
    assert_eq!(network.at_listener, []);
    network.send(place, true, b"new");
    network.send(place, true, &[7; 1501]);
    network.send(place, true, b"");
    network.send(0, false, &[7; 1500]);
    network.run(Duration::from_millis(100));
    assert_eq!(network.at_listener, [(0, b"new".to_vec())]);
    assert_eq!(network.at_connectors[place], [vec![7; 1500]]);
    let (far, near) = network.gateways(place);
    assert_eq!(
        (near.absent, near.long, near.empty, near.sent),
        (50, 1, 1, 1)
    );
    assert_eq!((far.absent, far.sent), (50, 1));
    network.check_sums();
}

#[test]
#[ignore = "heavy"]
fn a_worn_session_is_renewed_without_a_loss() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    let place = network.connect(peer("v1", 1), limits());
    network.join(1);
    let mut sent = 0;
    while network.gateways(place).1.sessions < 2 {
        for _ in 0..2000 {
            network.send(place, true, b"there");
            network.send(0, false, b"back");
            sent += 1;
        }
        network.seen.clear();
        network.step();
        assert!(sent < REKEY_COUNT + 100_000);
    }
    network.run(Duration::from_millis(500));
    assert!(sent >= REKEY_COUNT);
    assert_eq!(network.at_listener.len() as u64, sent);
    assert_eq!(network.at_connectors[place].len() as u64, sent);
    assert_eq!(network.gateways(place).0.sessions, 2);
    network.check_sums();
}
