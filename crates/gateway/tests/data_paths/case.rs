//! A table, frames, and the expected results.

use crate::wire::{bytes_of, text_of};
use frame::{FrameBuf, FrameRef};
use route::{
    DecisionSink, ForwardedCopy, KernelPort, PortId, RouteId, Routes, RoutingTable, StopReason,
};

pub(crate) const PORTS: usize = 3;

/// Returns the table's ports.
pub(crate) fn ports() -> Vec<Option<KernelPort>> {
    (0..PORTS)
        .map(|n| Some(KernelPort::new(format!("p{n}"))))
        .collect()
}

/// A frame, the port that it comes into, and the time since the one before, in ns.
#[derive(Clone)]
pub(crate) struct Arrival {
    pub(crate) frame: FrameBuf,
    pub(crate) port: usize,
    pub(crate) after: u64,
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        let all = |arrival: &Self| (bytes_of(arrival.frame.view()), arrival.port, arrival.after);
        all(self) == all(other)
    }
}

impl std::fmt::Debug for Arrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = text_of(&bytes_of(self.frame.view()));
        write!(f, "{text} into p{}, {} ns later", self.port, self.after)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Case {
    pub(crate) routes: Routes,
    pub(crate) arrivals: Vec<Arrival>,
    /// The options for BPF.
    pub(crate) tap: bool,
    pub(crate) exact: bool,
}

impl Case {
    /// Returns the time of each frame.
    pub(crate) fn times(&self) -> impl Iterator<Item = u64> {
        self.arrivals.iter().scan(1_000_000, |now, arrival| {
            *now += arrival.after;
            Some(*now)
        })
    }
}

/// Returns whether a socket can see the frame. AF_CAN passes an error frame to the sockets that ask
/// for one of its classes; one without a class to no socket.
pub(crate) fn is_shown(raw: u32) -> bool {
    raw & 0x2000_0000 == 0 || raw & 0x1FFF_FFFF != 0
}

/// Returns whether a gateway in user space sends the frame: it refuses error frames, and counts
/// them (`Refused::Unsupported`). The kernel does not check.
fn is_sent_from_user_space(frame: FrameRef<'_>) -> bool {
    !frame.id().is_err()
}

/// One copy that leaves.
#[derive(Clone)]
pub(crate) struct Copy {
    pub(crate) to: usize,
    pub(crate) text: String,
    pub(crate) shown: bool,
    /// Whether a gateway in user space sends it, too.
    pub(crate) sent_from_user_space: bool,
}

/// The counters of a route, as far as all data paths count in the same way.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    /// Frames that it took; can-gw does not report them.
    pub(crate) taken: Option<u64>,
    /// Copies that it sent.
    pub(crate) sent: u64,
    /// Frames that it stopped, by [`StopReason::ALL`].
    pub(crate) stopped: [u64; StopReason::ALL.len()],
    /// Copies that the interface did not accept, or that are not valid on a bus.
    pub(crate) failed: u64,
}

/// The counters of all routes together.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) struct SoFar {
    /// Frames that they took.
    pub(crate) taken: u64,
    /// Copies that they sent, and frames that they stopped.
    pub(crate) ended: u64,
}

/// The results of the table.
pub(crate) struct Expected {
    /// The copies of each frame.
    pub(crate) copies: Vec<Vec<Copy>>,
    /// The counters of all routes, up to each frame.
    pub(crate) so_far: Vec<SoFar>,
    /// The counters of each route, and those of a gateway in user space.
    pub(crate) counted: Vec<Counted>,
    pub(crate) counted_in_user_space: Vec<Counted>,
    /// The frames at each port at which routes begin.
    pub(crate) came: Vec<Option<u64>>,
}

impl DecisionSink for Expected {
    fn taken(&mut self, route: RouteId) {
        for counted in self.of(route) {
            *counted.taken.get_or_insert(0) += 1;
        }
        self.now().taken += 1;
    }

    fn stopped(&mut self, route: RouteId, why: StopReason) {
        let at = StopReason::ALL
            .iter()
            .position(|stop| *stop == why)
            .unwrap();
        for counted in self.of(route) {
            counted.stopped[at] += 1;
        }
        self.now().ended += 1;
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        let sent_from_user_space = is_sent_from_user_space(copy.frame);
        let [in_kernel, in_user_space] = self.of(copy.route);
        in_kernel.sent += 1;
        in_user_space.sent += u64::from(sent_from_user_space);
        in_user_space.failed += u64::from(!sent_from_user_space);
        self.now().ended += 1;
        self.copies.last_mut().unwrap().push(Copy {
            to: usize::from(copy.to.0),
            text: text_of(&bytes_of(copy.frame)),
            shown: is_shown(copy.frame.id().raw()),
            sent_from_user_space,
        });
    }
}

impl Expected {
    pub(crate) fn new(case: &Case) -> Self {
        let table = RoutingTable::compile(&case.routes, PORTS).unwrap();
        let mut memory = table.memory();
        let none = Counted {
            taken: Some(0),
            ..Counted::default()
        };
        let routes = &case.routes.routes;
        let is_used = |port: usize| {
            let port = PortId(port as u16);
            routes.iter().any(|route| route.from.contains(&port))
        };
        let mut expected = Self {
            copies: Vec::new(),
            so_far: Vec::new(),
            counted: vec![none.clone(); routes.len()],
            counted_in_user_space: vec![none; routes.len()],
            came: (0..PORTS).map(|port| is_used(port).then_some(0)).collect(),
        };
        for (arrival, now) in case.arrivals.iter().zip(case.times()) {
            let so_far = expected.so_far.last().copied().unwrap_or_default();
            expected.so_far.push(so_far);
            expected.copies.push(Vec::new());
            if let Some(came) = &mut expected.came[arrival.port] {
                *came += 1;
            }
            let comes = route::FrameArrival {
                from: PortId(arrival.port as u16),
                now,
                hops: 0,
            };
            table.decide(&mut memory, comes, arrival.frame.view(), &mut expected);
        }
        expected
    }

    fn now(&mut self) -> &mut SoFar {
        self.so_far.last_mut().unwrap()
    }

    fn of(&mut self, route: RouteId) -> [&mut Counted; 2] {
        let at = route.0 as usize;
        [&mut self.counted[at], &mut self.counted_in_user_space[at]]
    }
}
