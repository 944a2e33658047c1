//! What the table says.

use crate::frames::Owned;
use route::{Arrival, Forward, PortId, RouteId, Routes, Sink, Stop, Table};
use std::collections::VecDeque;

/// handled, dropped, deleted
pub(crate) type Counters = [u64; 3];

/// What the table says about one frame that comes in on the first interface.
pub(crate) struct Model<'a> {
    pub(crate) table: &'a Table,
    pub(crate) memory: route::Memory,
    pub(crate) routes: &'a Routes,
    /// The kernel's; frames come in on the first.
    pub(crate) interfaces: &'a [String; 3],
    /// The interface of each of the table's ports.
    pub(crate) ports: &'a [String],
    pub(crate) counters: Vec<Counters>,
}

#[derive(Default)]
struct Verdict {
    stopped: Vec<(usize, Stop)>,
    copies: Vec<(usize, PortId, u8, Owned)>,
}

impl Sink for Verdict {
    fn taken(&mut self, _: RouteId) {}

    fn stopped(&mut self, route: RouteId, why: Stop) {
        self.stopped.push((route.0 as usize, why));
    }

    fn forward(&mut self, copy: Forward<'_>) {
        let frame = Owned::of(copy.frame);
        self.copies
            .push((copy.route.0 as usize, copy.to, copy.hops, frame));
    }
}

impl Model<'_> {
    /// The frames on each interface, in their order as far as the kernel has one.
    pub(crate) fn expect(&mut self, frame: &Owned) -> [Vec<Owned>; 3] {
        let mut out: [Vec<Owned>; 3] = Default::default();
        let mut way = VecDeque::from([(0, frame.clone(), 0)]);
        while let Some((interface, frame, hops)) = way.pop_front() {
            if frame.is_seen() {
                out[interface].push(frame.clone());
            }
            let name = &self.interfaces[interface];
            let Some(from) = self.ports.iter().position(|port| port == name) else {
                continue;
            };
            let arrival = Arrival {
                from: PortId(from as u16),
                now: 0,
                hops,
            };
            let mut verdict = Verdict::default();
            let table = self.table;
            table.decide(&mut self.memory, arrival, frame.view(), &mut verdict);
            for (route, why) in verdict.stopped {
                // The kernel calls both of them deleted.
                let deleted = matches!(why, Stop::HopLimit | Stop::TooLong);
                assert!(deleted, "{why:?} from a can-gw rule");
                self.counters[route][2] += 1;
            }
            for (route, to, hops, frame) in verdict.copies {
                let name = &self.ports[usize::from(to.0)];
                let to = self.interfaces.iter().position(|i| i == name).unwrap();
                // `can_can_gw_rcv` does not look where a frame comes from but where it entered
                // the first gateway of this machine: it does not go back there without -i.
                if to == 0 && !self.routes.routes[route].allow_same_port {
                    continue;
                }
                self.counters[route][0] += 1;
                way.push_back((to, frame, hops));
            }
        }
        out
    }
}
