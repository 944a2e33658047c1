//! Links without sockets, on a network that loses, doubles, delays, swaps and forges datagrams by
//! a seed. Time is simulated.

use cangate_secure::counters::{GatewayCounters, LinkReport};
use cangate_secure::datagram::connector::DatagramConnector;
use cangate_secure::datagram::listener::DatagramListener;
use cangate_secure::datagram::psk::{PskPeer, PskRing, SharedKey};
use cangate_secure::datagram::{DatagramSink, LinkLimits};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// The step of the simulated time.
pub(crate) const STEP: Duration = Duration::from_millis(20);

/// Returns a peer whose key has this byte.
pub(crate) fn peer(identity: &str, key: u8) -> PskPeer {
    PskPeer {
        identity: identity.to_owned(),
        key: SharedKey::new(vec![key; 16]).unwrap(),
    }
}

/// Returns bounds with short times.
pub(crate) fn limits() -> LinkLimits {
    LinkLimits {
        longest: 1500,
        timeout: Duration::from_secs(2),
        handshake_timeout: Duration::from_secs(5),
        handshakes: 8,
        allow: None,
    }
}

/// Returns the address of a side that connects, or of an attacker.
pub(crate) fn address(number: u16) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, 1), 1000 + number).into()
}

/// The faults of the network, each in percent of the datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NetworkFaults {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) forged: u64,
    pub(crate) replayed: u64,
    /// The longest delay, steps.
    pub(crate) delay: u64,
    /// A delay of all datagrams, steps.
    pub(crate) slow: u64,
}

/// A datagram on its way; `to` is `None` for the listener.
#[derive(Clone, Debug)]
struct Transit {
    from: SocketAddr,
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
}

/// Numbers by a seed: splitmix64.
pub(crate) struct SeededNumbers(pub(crate) u64);

impl SeededNumbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn percent(&mut self, share: u64) -> bool {
        self.next() % 100 < share
    }
}

/// The output of a side in one call.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) network: Vec<(Option<SocketAddr>, Vec<u8>)>,
    pub(crate) gateway: Vec<(usize, Vec<u8>)>,
    pub(crate) notes: Vec<String>,
}

impl DatagramSink for Given {
    fn to_network(&mut self, to: Option<SocketAddr>, datagram: &[u8]) -> bool {
        self.network.push((to, datagram.to_vec()));
        true
    }

    fn to_gateway(&mut self, peer: usize, datagram: &[u8]) -> bool {
        self.gateway.push((peer, datagram.to_vec()));
        true
    }

    fn note(&mut self, text: String, _: Instant) {
        self.notes.push(text);
    }
}

/// A listener, sides that connect to it, and the network between them.
pub(crate) struct SimulatedNetwork {
    pub(crate) now: Instant,
    pub(crate) listener: DatagramListener,
    pub(crate) connectors: Vec<(SocketAddr, DatagramConnector)>,
    pub(crate) faults: NetworkFaults,
    pub(crate) notes: Vec<String>,
    /// The datagrams that came out at the listener's gateways, with their places.
    pub(crate) at_listener: Vec<(usize, Vec<u8>)>,
    /// The datagrams that came out at the gateway of each side that connects.
    pub(crate) at_connectors: Vec<Vec<Vec<u8>>>,
    /// All datagrams that were on the network.
    pub(crate) seen: Vec<(SocketAddr, Option<SocketAddr>, Vec<u8>)>,
    /// Datagrams that were handed to the listener.
    pub(crate) handed: u64,
    numbers: SeededNumbers,
    transit: BTreeMap<(Instant, u64), Transit>,
    count: u64,
}

impl SimulatedNetwork {
    pub(crate) fn new(peers: Vec<PskPeer>, limits: LinkLimits, seed: u64) -> Self {
        let now = Instant::now();
        Self {
            now,
            listener: DatagramListener::new(PskRing::new(peers), limits, now).unwrap(),
            connectors: Vec::new(),
            faults: NetworkFaults::default(),
            notes: Vec::new(),
            at_listener: Vec::new(),
            at_connectors: Vec::new(),
            seen: Vec::new(),
            handed: 0,
            numbers: SeededNumbers(seed),
            transit: BTreeMap::new(),
            count: 0,
        }
    }

    /// Adds a side that connects, and returns its place.
    pub(crate) fn connect(&mut self, peer: PskPeer, limits: LinkLimits) -> usize {
        let place = self.connectors.len();
        let connector = DatagramConnector::new(peer, "server", limits, self.now).unwrap();
        self.connectors.push((address(place as u16), connector));
        self.at_connectors.push(Vec::new());
        place
    }

    /// Sends a datagram of a gateway: of a side that connects, or of a peer of the listener.
    pub(crate) fn send(&mut self, place: usize, is_connector: bool, bytes: &[u8]) {
        let mut given = Given::default();
        if is_connector {
            self.connectors[place]
                .1
                .take_gateway(bytes, self.now, &mut given);
            self.take(given, Some(place));
        } else {
            self.listener
                .take_gateway(place, bytes, self.now, &mut given);
            self.take(given, None);
        }
    }

    /// Puts a datagram on the network as an attacker does.
    pub(crate) fn inject(&mut self, from: SocketAddr, to: Option<SocketAddr>, bytes: Vec<u8>) {
        self.count += 1;
        let transit = Transit { from, to, bytes };
        self.transit.insert((self.now, self.count), transit);
    }

    /// Takes what a side has given away; `place` is that of a side that connects.
    pub(crate) fn take(&mut self, given: Given, place: Option<usize>) {
        self.notes.extend(given.notes);
        for (peer, bytes) in given.gateway {
            match place {
                Some(place) => self.at_connectors[place].push(bytes),
                None => self.at_listener.push((peer, bytes)),
            }
        }
        for (to, bytes) in given.network {
            // The listener's address is not one of the others.
            let from = place.map_or(address(999), |place| self.connectors[place].0);
            self.seen.push((from, to, bytes.clone()));
            self.transmit(Transit { from, to, bytes });
        }
    }

    fn transmit(&mut self, datagram: Transit) {
        let faults = self.faults;
        if faults.forged > 0 && self.numbers.percent(faults.forged) {
            let mut forged = datagram.clone();
            let place = self.numbers.next() as usize % forged.bytes.len();
            forged.bytes[place] ^= 1 << (self.numbers.next() % 8);
            self.delay(forged);
        }
        if faults.replayed > 0 && self.numbers.percent(faults.replayed) {
            let place = self.numbers.next() as usize % self.seen.len();
            let (from, to, bytes) = self.seen[place].clone();
            self.delay(Transit { from, to, bytes });
        }
        if self.numbers.percent(faults.lost) {
            return;
        }
        if self.numbers.percent(faults.doubled) {
            self.delay(datagram.clone());
        }
        self.delay(datagram);
    }

    fn delay(&mut self, datagram: Transit) {
        let longest = self.faults.delay + 1;
        let steps = self.faults.slow + self.numbers.next() % longest;
        self.count += 1;
        let due = self.now + STEP * steps as u32;
        self.transit.insert((due, self.count), datagram);
    }

    /// Lets a step of time pass, with all that happens in it.
    pub(crate) fn step(&mut self) {
        self.now += STEP;
        while let Some(entry) = self.transit.first_entry()
            && entry.key().0 <= self.now
        {
            let datagram = entry.remove();
            self.hand_over(&datagram);
        }
        let mut given = Given::default();
        self.listener.pass_time(self.now, &mut given);
        self.take(given, None);
        for place in 0..self.connectors.len() {
            let mut given = Given::default();
            let connector = &mut self.connectors[place].1;
            if connector.wants_socket(self.now) {
                connector.begin(self.now, &mut given);
            }
            connector.pass_time(self.now, &mut given);
            self.take(given, Some(place));
        }
    }

    fn hand_over(&mut self, datagram: &Transit) {
        let mut given = Given::default();
        let Some(to) = datagram.to else {
            self.handed += 1;
            self.listener
                .take_network(datagram.from, &datagram.bytes, self.now, &mut given);
            return self.take(given, None);
        };
        let place = self
            .connectors
            .iter()
            .position(|(address, _)| *address == to);
        if let Some(place) = place {
            let connector = &mut self.connectors[place].1;
            connector.take_network(&datagram.bytes, self.now, &mut given);
            self.take(given, Some(place));
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }

    /// Lets time pass until the listener has this many sessions; returns the time.
    pub(crate) fn join(&mut self, sessions: usize) -> Duration {
        let begun = self.now;
        while self.joined() < sessions {
            self.step();
            let time = self.now - begun;
            assert!(time < Duration::from_secs(60), "{:?}", self.notes);
        }
        self.run(Duration::from_millis(100));
        self.now - begun
    }

    /// Returns the number of the listener's sessions.
    pub(crate) fn joined(&self) -> usize {
        let (_, _, peers) = self.listener.report();
        peers.iter().filter(|peer| peer.address.is_some()).count()
    }

    /// Returns the counters of a peer at the listener, and of its own side.
    pub(crate) fn gateways(&self, place: usize) -> (GatewayCounters, GatewayCounters) {
        let (_, _, peers) = self.listener.report();
        let (_, _, own) = self.connectors[place].1.report();
        (peers[place].gateway, own.gateway)
    }

    /// Checks that each datagram of both sides has one fate.
    pub(crate) fn check_sums(&self) {
        let (network, handshakes, peers) = self.listener.report();
        assert_eq!(network.datagrams, self.handed);
        check(&LinkReport::Udp {
            name: "listener".to_owned(),
            network,
            handshakes,
            peers,
        });
        for (_, connector) in &self.connectors {
            let (network, handshakes, peer) = connector.report();
            check(&LinkReport::Udp {
                name: "connector".to_owned(),
                network,
                handshakes,
                peers: vec![peer],
            });
        }
    }

    /// Returns whether one of the messages has this part.
    pub(crate) fn has_noted(&self, part: &str) -> bool {
        self.notes.iter().any(|note| note.contains(part))
    }
}

fn check(report: &LinkReport) {
    assert!(report.is_balanced(), "{report:#?}");
}
