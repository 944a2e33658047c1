//! Gateways that are connected by tunnels in circles, and in trees.

use super::*;
use crate::network::datagram::guard::LoopRules;
use crate::{ReceivedFrame, Token};

const RULES: LoopRules = LoopRules {
    writes_trails: true,
    passes_returned: false,
};

/// A tunnel of a gateway; its other end is a tunnel of another gateway.
struct TestTunnel {
    into: DatagramReceive<MemorySocket>,
    out: DatagramTransmit<MemorySocket>,
    socket: MemorySocket,
    to: (usize, usize),
}

/// A gateway with one bus. A frame of any port goes to all other ports.
struct TestGateway {
    tunnels: Vec<TestTunnel>,
    /// Numbers of the frames that it sent to its bus.
    bus: Vec<u64>,
}

/// Gateways, by the tunnels between them.
struct TestNetwork {
    gateways: Vec<TestGateway>,
    now: Nanos,
}

impl TestNetwork {
    fn new(gateways: usize, tunnels: &[(usize, usize)], rules: LoopRules) -> Self {
        let mut openers: Vec<_> = (0..gateways).map(|_| PortOpener::new(0, 0)).collect();
        let mut all: Vec<TestGateway> = (0..gateways)
            .map(|_| TestGateway {
                tunnels: Vec::new(),
                bus: Vec::new(),
            })
            .collect();
        for &(a, b) in tunnels {
            let ends = (all[a].tunnels.len(), all[b].tunnels.len());
            for (own, to) in [(a, (b, ends.1)), (b, (a, ends.0))] {
                let name = format!("to{}", to.0);
                let guard = LoopGuard::new(&mut openers[own], &name, rules);
                let socket = MemorySocket::default();
                let reader = Box::new(AcfReader::new(DEFAULT_STREAM, Some(0)));
                let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
                let writer = Box::new(writer.with_trails());
                let arrival = ArrivalRules {
                    allow: None,
                    local_only: false,
                    own: None,
                };
                let pack = PackRules::default();
                let totals = StreamRun::default();
                let into = socket.clone();
                all[own].tunnels.push(TestTunnel {
                    into: DatagramReceive::new(into, reader, arrival, None, None, guard.clone()),
                    out: DatagramTransmit::new(
                        socket.clone(),
                        PEER,
                        writer,
                        pack,
                        totals,
                        guard,
                        0,
                    ),
                    socket,
                    to,
                });
            }
        }
        Self {
            gateways: all,
            now: 0,
        }
    }

    /// A frame comes in at a gateway: from its bus, or by a tunnel.
    fn route(&mut self, gateway: usize, from: Option<usize>, number: u64, token: Token) {
        let gateway = &mut self.gateways[gateway];
        if from.is_some() {
            gateway.bus.push(number);
        }
        for (index, tunnel) in gateway.tunnels.iter_mut().enumerate() {
            if Some(index) != from {
                let frame = numbered(number);
                let outgoing = OutgoingFrame::new(frame.view(), token);
                tunnel.out.transmit(self.now, outgoing).unwrap();
            }
        }
    }

    /// Lets every datagram arrive that was sent; returns whether there was one.
    fn step(&mut self) -> bool {
        self.now += MS;
        let mut moved = false;
        for gateway in 0..self.gateways.len() {
            for tunnel in 0..self.gateways[gateway].tunnels.len() {
                let own = &mut self.gateways[gateway].tunnels[tunnel];
                own.out.flush(self.now).unwrap();
                let (to, socket) = (own.to, own.socket.clone());
                while let Some(datagram) = socket.take() {
                    moved = true;
                    self.gateways[to.0].tunnels[to.1].socket.put(datagram);
                }
            }
        }
        for gateway in 0..self.gateways.len() {
            for tunnel in 0..self.gateways[gateway].tunnels.len() {
                let mut came = Vec::new();
                let mut take = |frame: ReceivedFrame<'_>| {
                    let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
                    came.push((number, frame.token));
                };
                let own = &mut self.gateways[gateway].tunnels[tunnel];
                while own.into.receive(self.now, 64, &mut take).unwrap().more {}
                for (number, token) in came {
                    self.route(gateway, Some(tunnel), number, token);
                }
            }
        }
        moved
    }

    /// Lets frames of all buses pass until none is under way.
    fn run(&mut self, frames: u64) {
        for number in 0..frames {
            let gateway = number as usize % self.gateways.len();
            self.route(gateway, None, number, 4711 + number);
            if number % 3 == 0 {
                self.step();
            }
        }
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 100, "frames go round without end");
        }
    }

    fn returned(&self) -> u64 {
        let all = self.gateways.iter().flat_map(|gateway| &gateway.tunnels);
        all.map(|tunnel| tunnel.into.counters().returned).sum()
    }

    /// Every frame that a tunnel sent was taken at its other end, or was counted as one that came
    /// back.
    fn check_sums(&self) {
        for gateway in &self.gateways {
            for tunnel in &gateway.tunnels {
                let (sent, far) = (tunnel.out.counters().sent, tunnel.to);
                let into = &self.gateways[far.0].tunnels[far.1].into;
                let ledger = into.counters();
                assert_eq!(
                    (ledger.missing, ledger.repeated, ledger.malformed),
                    (0, 0, 0)
                );
                assert!(ledger.returned <= sent);
            }
        }
        let sent: u64 = self.all().map(|tunnel| tunnel.out.counters().sent).sum();
        let buses: usize = self.gateways.iter().map(|gateway| gateway.bus.len()).sum();
        assert_eq!(sent, buses as u64 + self.returned());
    }

    fn all(&self) -> impl Iterator<Item = &TestTunnel> {
        self.gateways.iter().flat_map(|gateway| &gateway.tunnels)
    }

    /// Returns how often each bus got each frame of the other buses, and whether it got frames of
    /// its own.
    fn copies(&self, frames: u64) -> (Vec<usize>, bool) {
        let (mut copies, mut own) = (Vec::new(), false);
        for (index, gateway) in self.gateways.iter().enumerate() {
            for number in 0..frames {
                let count = gateway.bus.iter().filter(|came| **came == number).count();
                if number as usize % self.gateways.len() == index {
                    own |= count > 0;
                } else {
                    copies.push(count);
                }
            }
        }
        copies.sort_unstable();
        copies.dedup();
        (copies, own)
    }
}

/// Two tunnels between two gateways, and a circle of three: each bus gets each frame once for each
/// way, no bus gets its own, and what came back is counted.
#[test]
fn loops_over_two_and_three_gateways_end() {
    for (gateways, tunnels) in [
        (2, &[(0, 1), (0, 1)][..]),
        (3, &[(0, 1), (1, 2), (2, 0)]),
        (2, &[(0, 1), (0, 1), (0, 1)]),
    ] {
        let mut network = TestNetwork::new(gateways, tunnels, RULES);
        network.run(300);
        network.check_sums();
        let ways = if tunnels.len() == 3 && gateways == 2 {
            3
        } else {
            2
        };
        assert_eq!(network.copies(300), (vec![ways], false), "{tunnels:?}");
        assert!(network.returned() > 0);
        let remarks: Vec<_> = network.all().flat_map(|one| one.into.remarks()).collect();
        let remark = remarks
            .iter()
            .find(|words| words.contains("came back and were dropped"));
        assert!(remark.is_some(), "{remarks:?}");
    }
}

/// In a chain, in a star and in a tree, each bus gets each frame once, and none is dropped.
#[test]
fn no_frame_of_a_tree_is_dropped() {
    let chain: Vec<_> = (1..16).map(|index| (index - 1, index)).collect();
    let star: Vec<_> = (1..9).map(|index| (0, index)).collect();
    let tree: Vec<_> = (1..15).map(|index| ((index - 1) / 2, index)).collect();
    for (gateways, tunnels) in [(16, chain), (9, star), (15, tree)] {
        let mut network = TestNetwork::new(gateways, &tunnels, RULES);
        network.run(320);
        network.check_sums();
        assert_eq!(network.copies(320), (vec![1], false), "{tunnels:?}");
        assert_eq!(network.returned(), 0);
    }
}

/// Frames that come back are handed on if the user wants it, and the number of gateways that they
/// pass is limited.
#[test]
fn frames_that_may_come_back_have_a_limit() {
    let rules = LoopRules {
        passes_returned: true,
        ..RULES
    };
    let mut network = TestNetwork::new(3, &[(0, 1), (1, 2), (2, 0)], rules);
    network.run(3);
    network.check_sums();
    // Each frame went round in both directions and passed 16 gateways each time.
    assert_eq!(network.returned(), 6);
    assert_eq!(network.copies(3), (vec![10], true));
}

/// Equal frames in both directions raise an alarm with the names of both ports, once; they are
/// handed over. Other frames raise none.
#[test]
fn a_loop_over_a_bus_raises_an_alarm() {
    let mut opener = PortOpener::new(0, 0);
    let rules = LoopRules::default();
    let out_guard = LoopGuard::new(&mut opener, "north", rules);
    let into_guard = LoopGuard::new(&mut opener, "south", rules);
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let writer = Box::new(AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false));
    let (pack, totals) = (PackRules::default(), StreamRun::default());
    let mut out = DatagramTransmit::new(near.clone(), PEER, writer, pack, totals, out_guard, 0);
    let reader = Box::new(AcfReader::new(DEFAULT_STREAM, Some(0)));
    let arrival = ArrivalRules {
        allow: None,
        local_only: false,
        own: None,
    };
    let mut into = DatagramReceive::new(far.clone(), reader, arrival, None, None, into_guard);
    let mut other = sender(far.clone(), PackRules::default(), StreamRun::default());
    let mut pass = |number: u64, back: bool, now: Nanos| {
        let outgoing = numbered(number);
        let outgoing = OutgoingFrame::new(outgoing.view(), 0);
        out.transmit(now, outgoing).unwrap();
        out.flush(now).unwrap();
        let foreign = numbered(1_000_000 + number);
        let foreign = OutgoingFrame::new(foreign.view(), 0);
        let returns = if back { outgoing } else { foreign };
        other.transmit(now, returns).unwrap();
        other.flush(now).unwrap();
        far.put(far.take().unwrap());
        let mut frames = 0;
        let report = into
            .receive(now + 5 * MS, 64, &mut |_| frames += 1)
            .unwrap();
        assert_eq!(frames, 1);
        (report.news, into.take_alarm(), into.counters().suspected)
    };
    for number in 0..100 {
        let calm = (false, None, 0);
        assert_eq!(pass(number, false, number * 10 * MS), calm);
    }
    // A frame now and then is no loop.
    for number in 100..140 {
        let now = (number - 90) * 100 * MS;
        let (news, alarm, suspected) = pass(number, true, now);
        assert_eq!((news, alarm, suspected), (false, None, number - 99));
    }
    let mut alarms = Vec::new();
    for number in 140..200 {
        let (news, alarm, _) = pass(number, true, 6000 * MS + number * 10 * MS);
        assert_eq!(news, alarm.is_some());
        alarms.extend(alarm);
    }
    assert_eq!(alarms.len(), 1, "{alarms:?}");
    assert!(
        alarms[0].contains("`north`") && alarms[0].contains("`south`"),
        "{alarms:?}"
    );
}
