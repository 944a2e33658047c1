//! The tunnels on whose stated times a figure depends.

use super::gateways::forward;
use super::tunnels::{link, network, plain_port, with_gateway};
use crate::common::{Kind, Random};

use analysis::tunnel::{DelayOrigin, StatedDelay, TunnelFlow, TunnelPassage, TunnelSpec};
use analysis::{LengthSearch, MessagePlace, Network, NetworkFound};
use frame::{Nanos, wire};

/// A network whose first tunnel has a stated time, and from whose last bus a tunnel without such a
/// time leads on: own messages of that bus and, if `both`, forwarded ones.
fn two_tunnels(seed: u64, both: bool) -> Network {
    let mut network = network(seed);
    let mut random = Random(seed ^ 0x5EED);
    network.tunnels[0].stated = Some(StatedDelay {
        least: 0,
        most: 1_000_000,
        origin: DelayOrigin::Measured,
    });
    let middle = network.buses.len() - 1;
    let forwarded: Vec<usize> = network.hops.iter().map(|hop| hop.to.message).collect();
    let kind = Kind {
        load: (5, 15),
        ..Kind::PRIORITY
    };
    network.buses.push(with_gateway(seed * 100 + 50, kind));
    let mut tunnel = TunnelSpec {
        name: String::new(),
        link: Some(link(&mut random)),
        stated: None,
        ports: vec![plain_port()],
        flows: Vec::new(),
    };
    for message in 0..network.buses[middle].messages.len() {
        if forwarded.contains(&message) && !both || !random.percent(40) {
            continue;
        }
        let from = MessagePlace {
            bus: middle,
            message,
        };
        forward(&mut network, from, middle + 1, 0, &mut random);
        network.hops.last_mut().unwrap().passage = Some(TunnelPassage {
            tunnel: 1,
            flow: tunnel.flows.len(),
        });
        let shape = network.buses[middle].messages[message].shape;
        tunnel.flows.push(TunnelFlow {
            from,
            port: 0,
            before: 0,
            bytes: 24,
            urgent: random.percent(30),
            key: wire::arbitration_key(shape.header()),
        });
    }
    network.tunnels.push(tunnel);
    network
}

fn with_time(network: &Network, most: Nanos) -> NetworkFound {
    let mut network = network.clone();
    network.tunnels[0].stated.as_mut().unwrap().most = most;
    network.assess(&mut LengthSearch::new()).unwrap()
}

/// Each figure that moves with the stated time is marked as one that depends on it.
#[test]
fn what_moves_with_a_stated_time_is_marked() {
    let (mut moved, mut unmarked) = ([0, 0], 0);
    for seed in 0..60 {
        let network = two_tunnels(seed, seed % 2 == 0);
        let (short, long) = (
            with_time(&network, 1_000_000),
            with_time(&network, 9_000_000),
        );
        let messages = short.conditions(&network);
        let tunnels = short.tunnel_conditions(&network);
        for (bus, (a, b)) in short.buses.iter().zip(&long.buses).enumerate() {
            for (n, (a, b)) in a.messages.iter().zip(&b.messages).enumerate() {
                unmarked += usize::from(messages[bus][n].is_empty());
                if a.bound != b.bound {
                    assert!(messages[bus][n].contains(&0), "seed {seed}: {bus} {n}");
                    moved[0] += 1;
                }
            }
        }
        if !network.tunnels[0].flows.is_empty() {
            assert!(tunnels[0].contains(&0));
        }
        if short.tunnels[1] != long.tunnels[1] {
            assert!(tunnels[1].contains(&0), "seed {seed}: the tunnel behind");
            moved[1] += 1;
        }
    }
    // Otherwise the test would show nothing.
    assert!(moved[0] > 100 && moved[1] > 3, "{moved:?}");
    assert!(unmarked > 100, "{unmarked} messages depend on nothing");
}
