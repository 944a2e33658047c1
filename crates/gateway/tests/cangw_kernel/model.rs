//! The model: the results of the routing table.

use crate::frames::Owned;
use route::cangw::ImportedRules;
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PortId, RouteId, Routes, RoutingTable, StopReason,
};
use std::collections::VecDeque;

/// The counters handled, dropped and deleted.
pub(crate) type Counters = [u64; 3];

/// The model of the routing table for frames that come in on the first interface.
pub(crate) struct Model<'a> {
    table: &'a RoutingTable,
    memory: route::TableMemory,
    routes: &'a Routes,
    /// The kernel's interfaces; frames come in on the first.
    interfaces: &'a [String; 3],
    /// The interface of each of the table's ports.
    ports: &'a [String],
    pub(crate) counters: Vec<Counters>,
}

#[derive(Default)]
struct Verdict {
    stopped: Vec<(usize, StopReason)>,
    copies: Vec<(usize, PortId, u8, Owned)>,
}

impl DecisionSink for Verdict {
    fn taken(&mut self, _: RouteId) {}

    fn stopped(&mut self, route: RouteId, why: StopReason) {
        self.stopped.push((route.0 as usize, why));
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        let frame = Owned::of(copy.frame);
        self.copies
            .push((copy.route.0 as usize, copy.to, copy.hops, frame));
    }
}

/// A frame on an interface.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Expected {
    frame: Owned,
    /// Whether it was on this interface before, two rules ago or more. A raw socket recognizes a
    /// frame that it has already got by the buffer's address and a number that copies keep
    /// (`raw_rcv` of net/can/raw.c, 6.1), so it may miss such a frame if the address is used again.
    again: bool,
}

/// Returns whether `got` are the frames that were expected on one interface.
pub(crate) fn agree(expected: &[Expected], got: &[Owned]) -> bool {
    let mut got = got.iter().peekable();
    let found = |one: &Expected| got.next_if(|got| **got == one.frame).is_some() || one.again;
    expected.iter().all(found) && got.next().is_none()
}

impl<'a> Model<'a> {
    /// Creates a model through which no frame has passed yet.
    pub(crate) fn new(
        table: &'a RoutingTable,
        imported: &'a ImportedRules,
        interfaces: &'a [String; 3],
    ) -> Self {
        Self {
            memory: table.memory(),
            table,
            routes: &imported.routes,
            interfaces,
            ports: &imported.interfaces,
            counters: vec![[0; 3]; imported.routes.routes.len()],
        }
    }

    /// Returns the frames on each interface, in their order as far as the kernel has one.
    pub(crate) fn expect(&mut self, frame: &Owned) -> [Vec<Expected>; 3] {
        let mut out: [Vec<Expected>; 3] = Default::default();
        let mut way = VecDeque::from([(vec![0], frame.clone(), 0)]);
        while let Some((path, frame, hops)) = way.pop_front() {
            let [earlier @ .., interface] = &path[..] else {
                unreachable!("every way begins somewhere");
            };
            let interface = *interface;
            if frame.is_seen() {
                let earlier = earlier.split_last().map_or(&[][..], |(_, rest)| rest);
                out[interface].push(Expected {
                    frame: frame.clone(),
                    again: earlier.contains(&interface),
                });
            }
            let name = &self.interfaces[interface];
            let Some(from) = self.ports.iter().position(|port| port == name) else {
                continue;
            };
            let arrival = FrameArrival {
                from: PortId(from as u16),
                now: 0,
                hops,
            };
            let mut verdict = Verdict::default();
            let table = self.table;
            table.decide(&mut self.memory, arrival, frame.view(), &mut verdict);
            for (route, why) in verdict.stopped {
                // The kernel counts both of them as deleted.
                let deleted = matches!(why, StopReason::HopLimit | StopReason::TooLong);
                assert!(deleted, "{why:?} from a can-gw rule");
                self.counters[route][2] += 1;
            }
            for (route, to, hops, frame) in verdict.copies {
                let name = &self.ports[usize::from(to.0)];
                let to = self.interfaces.iter().position(|i| i == name).unwrap();
                // `can_can_gw_rcv` does not check where a frame comes from but where it entered the
                // first gateway of this machine: it does not go back there without -i.
                if to == 0 && !self.routes.routes[route].allow_same_port {
                    continue;
                }
                self.counters[route][0] += 1;
                let path = [&path[..], &[to]].concat();
                way.push_back((path, frame, hops));
            }
        }
        out
    }
}
