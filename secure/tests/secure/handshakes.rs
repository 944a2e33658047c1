//! Who may have a session, and how long it takes to have one again.

use crate::simulated::{SimulatedNetwork, limits, peer};
use cangate_secure::datagram::LinkLimits;
use std::time::Duration;

#[test]
fn a_wrong_key_and_an_unknown_identity_are_named() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 2), limits());
    network.connect(peer("v9", 1), limits());
    network.run(Duration::from_secs(8));
    assert_eq!(network.joined(), 0);
    for part in [
        "192.0.2.1:1000: wrong key for identity `v1`: both sides must have the same",
        "192.0.2.1:1001: unknown identity `v9`: no [[udp.peers]] has it",
        "server refuses the identity `v1` or its key",
        "server refuses the identity `v9` or its key",
    ] {
        assert!(network.has_noted(part), "{part}: {:#?}", network.notes);
    }
    network.check_sums();
}

#[test]
fn addresses_that_are_not_allowed_are_denied() {
    let allowing = |range: &str| {
        let allow = Some(vec![range.parse().unwrap()]);
        let bounds = LinkLimits { allow, ..limits() };
        let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], bounds, 1);
        network.connect(peer("v1", 1), limits());
        network.run(Duration::from_secs(1));
        network.check_sums();
        (network.joined(), network.listener.report().0)
    };
    assert_eq!(allowing("192.0.2.0/24").0, 1);
    let (joined, counters) = allowing("198.51.100.0/24");
    assert_eq!((joined, counters.denied), (0, counters.datagrams));
}

#[test]
fn no_answer_is_named() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.faults.lost = 100;
    network.run(Duration::from_secs(6));
    assert!(network.has_noted("server does not answer: does it run"));
}

#[test]
fn several_peers_have_their_own_gateways() {
    let peers = vec![peer("v1", 1), peer("v2", 2)];
    let mut network = SimulatedNetwork::new(peers, limits(), 1);
    // In the other order.
    network.connect(peer("v2", 2), limits());
    network.connect(peer("v1", 1), limits());
    network.join(2);
    network.send(0, true, b"of v2");
    network.send(1, true, b"of v1");
    network.send(0, false, b"for v1");
    network.run(Duration::from_millis(100));
    network.at_listener.sort();
    let expected = [(0, b"of v1".to_vec()), (1, b"of v2".to_vec())];
    assert_eq!(network.at_listener, expected);
    assert_eq!(network.at_connectors[1], [b"for v1".to_vec()]);
    network.check_sums();
}

/// The side that connects starts again, at the same address or at another one.
#[test]
fn a_restarted_connector_takes_its_place() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    let (address, _) = network.connectors.remove(0);
    network.at_connectors.remove(0);
    network.connect(peer("v1", 1), limits());
    assert_eq!(network.connectors[0].0, address);
    network.run(Duration::from_millis(300));
    network.send(0, true, b"again");
    network.send(0, false, b"back");
    network.run(Duration::from_millis(100));
    assert_eq!(network.at_listener, [(0, b"again".to_vec())]);
    assert_eq!(network.at_connectors[0], [b"back".to_vec()]);
    let place = network.connect(peer("v1", 1), limits());
    network.run(Duration::from_millis(300));
    network.send(place, true, b"elsewhere");
    network.run(Duration::from_millis(100));
    assert_eq!(network.at_listener.len(), 2);
    network.check_sums();
}

/// The side that listens starts again: silence shows it, after `timeout`.
#[test]
fn a_restarted_listener_is_found_within_its_time() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    let other = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.listener = other.listener;
    network.handed = 0;
    let time = network.join(1);
    assert!(
        time <= limits().timeout + Duration::from_millis(300),
        "{time:?}"
    );
    assert!(network.has_noted("server is silent: the session has ended"));
    network.send(0, true, b"again");
    network.run(Duration::from_millis(100));
    assert_eq!(network.at_listener, [(0, b"again".to_vec())]);
    network.check_sums();
}

/// After a time without any network, a session is there again soon after its return.
#[test]
fn a_network_that_returns_is_used_again() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    network.faults.lost = 100;
    network.run(Duration::from_secs(60));
    assert_eq!(network.joined(), 0);
    assert!(network.has_noted("v1 at 192.0.2.1:1000 is silent"));
    network.faults.lost = 0;
    let time = network.join(1);
    assert!(time <= Duration::from_secs(6), "{time:?}");
    network.check_sums();
}

#[test]
fn signs_of_life_keep_a_quiet_session() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    network.run(Duration::from_secs(30));
    let (far, near) = network.gateways(0);
    assert_eq!((far.sessions, near.sessions), (1, 1));
    assert_eq!((far.silent, near.silent), (0, 0));
    let (counters, _, _) = network.listener.report();
    assert!((50..=70).contains(&counters.alive), "{counters:?}");
    network.check_sums();
}

#[test]
fn the_end_is_told() {
    let mut network = SimulatedNetwork::new(vec![peer("v1", 1)], limits(), 1);
    network.connect(peer("v1", 1), limits());
    network.join(1);
    let mut given = crate::simulated::Given::default();
    network.connectors[0].1.close(network.now, &mut given);
    network.take(given, Some(0));
    network.step();
    assert!(network.has_noted("v1 at 192.0.2.1:1000 has closed its session"));
    network.check_sums();
}
