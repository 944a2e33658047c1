//! Who became of what: joins what passed the gateway's ports with what was seen on the buses to
//! one record for each frame and destination.

use super::scene::Scene;
use super::tap::Passed;
use super::tester::Testers;
use frame::{Frame, Nanos};
use port::Refused;
use probe::{Incoming, Outgoing, Record, Status};
use route::{Arrival, Forward, Memory, PortId, RouteId, Sink, Stop, Table};
use std::collections::{HashMap, VecDeque};

/// What the routing table says about one frame: the demo's second opinion.
#[derive(Default)]
struct Opinion {
    said: Vec<Said>,
}

enum Said {
    Stopped(RouteId, Stop),
    Copy {
        route: RouteId,
        to: PortId,
        frame: Option<Frame>,
    },
}

impl Sink for Opinion {
    fn taken(&mut self, _route: RouteId) {}

    fn stopped(&mut self, route: RouteId, why: Stop) {
        self.said.push(Said::Stopped(route, why));
    }

    fn forward(&mut self, copy: Forward<'_>) {
        let frame = Frame::from_view(copy.frame);
        self.said.push(Said::Copy {
            route: copy.route,
            to: copy.to,
            frame,
        });
    }
}

/// The records of a run as it goes.
pub(crate) struct Ledger {
    pub(crate) records: Vec<Record>,
    /// Things that the engine and the second opinion, or the bus, do not agree on; 0 in a sound
    /// cangate.
    pub(crate) disagreements: u64,
    memory: Memory,
    /// Copies that ports accepted and that have not been seen on their bus, by port and tag.
    waiting: HashMap<(u16, u64), VecDeque<(usize, Frame)>>,
    /// What somebody would find who sees only the buses.
    pub(crate) testers: Testers,
}

impl Ledger {
    pub(crate) fn new(table: &Table, ports: usize) -> Self {
        Self {
            records: Vec::new(),
            disagreements: 0,
            memory: table.memory(),
            waiting: HashMap::new(),
            testers: Testers::new(ports),
        }
    }

    /// Takes what passed the ports in one step of the engine at `now`. `processing` is what the
    /// step took for each frame, real ns.
    pub(crate) fn step(
        &mut self,
        scene: &Scene,
        now: Nanos,
        passed: &mut Vec<Passed>,
        processing: Option<Nanos>,
    ) {
        let mut rest = passed.drain(..).peekable();
        while let Some(next) = rest.next() {
            let Passed::In {
                port,
                end,
                tag,
                frame,
            } = next
            else {
                // A copy that no frame asked for.
                self.disagreements += 1;
                continue;
            };
            let mut opinion = Opinion::default();
            let arrival = Arrival {
                from: PortId(port),
                now,
                hops: 0,
            };
            scene
                .table
                .decide(&mut self.memory, arrival, frame.view(), &mut opinion);
            let incoming = Incoming {
                port,
                id: frame.id(),
                len: frame.len() as u16,
                end,
            };
            let row = |route: Option<RouteId>, status| Record {
                tag,
                route: route.map(|r| r.0 as u16),
                incoming: Some(incoming),
                outgoing: None,
                status,
                processing,
                accesses: None,
            };
            if opinion.said.is_empty() {
                self.records.push(row(None, Status::NoRoute));
            }
            for said in opinion.said {
                let (route, to, expected) = match said {
                    Said::Stopped(route, why) => {
                        self.records.push(row(Some(route), stopped(why)));
                        continue;
                    }
                    Said::Copy { route, to, frame } => (route, to.0, frame),
                };
                if let Some(expected) = &expected {
                    self.testers.expect(to, tag, expected, end);
                }
                let next = rest.next_if(|next| next.is_copy(to, tag, expected.as_ref()));
                let status = match next {
                    Some(Passed::Out { answer, .. }) => answered(answer),
                    Some(Passed::In { .. }) | None => {
                        self.disagreements += 1;
                        Status::Lost
                    }
                };
                self.records.push(row(Some(route), status));
                if let (Status::Waiting, Some(frame)) = (status, expected) {
                    let place = (self.records.len() - 1, frame);
                    self.waiting.entry((to, tag)).or_default().push_back(place);
                }
            }
        }
    }

    /// A gateway's port sent a frame: its end of frame, and how long it took on the wire.
    pub(crate) fn sent(&mut self, port: u16, tag: u64, frame: &Frame, end: Nanos, duration: Nanos) {
        self.testers.see(port, tag, frame, end);
        let Some(row) = self.waiting_row(port, tag, frame) else {
            self.disagreements += 1;
            return;
        };
        let record = &mut self.records[row];
        record.status = Status::Delivered;
        record.outgoing = Some(Outgoing {
            port,
            id: frame.id(),
            len: frame.len() as u16,
            end,
            duration,
        });
    }

    /// A gateway's port accepted a frame and then gave it up.
    pub(crate) fn lost(&mut self, port: u16, tag: u64, frame: &Frame) {
        match self.waiting_row(port, tag, frame) {
            Some(row) => self.records[row].status = Status::Lost,
            None => self.disagreements += 1,
        }
    }

    /// The oldest copy that waits at this port with this tag and is this frame (its ESI aside,
    /// which is the sender's).
    fn waiting_row(&mut self, port: u16, tag: u64, frame: &Frame) -> Option<usize> {
        let queue = self.waiting.get_mut(&(port, tag))?;
        let same = |f: &Frame| {
            f.id() == frame.id() && f.kind() == frame.kind() && f.data() == frame.data()
        };
        let at = queue.iter().position(|(_, f)| same(f))?;
        let (row, _) = queue.remove(at)?;
        if queue.is_empty() {
            self.waiting.remove(&(port, tag));
        }
        Some(row)
    }
}

/// What a port's answer makes of a copy, for now.
const fn answered(answer: Result<(), Refused>) -> Status {
    match answer {
        Ok(()) => Status::Waiting,
        Err(Refused::Full) => Status::Refused,
        Err(Refused::Down | Refused::Unsupported) => Status::Undeliverable,
    }
}

const fn stopped(why: Stop) -> Status {
    match why {
        Stop::DropRule => Status::DroppedByRule,
        Stop::RateLimit => Status::DroppedByRate,
        Stop::HopLimit => Status::HopLimit,
        Stop::TooLong => Status::TooLong,
        Stop::IdRange => Status::IdRange,
    }
}
