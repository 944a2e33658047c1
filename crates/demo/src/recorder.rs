//! What became of each frame: joins what passed the gateway's ports with what was seen on the buses
//! to one record for each frame and destination.

use crate::observer::Observers;
use crate::scene::Scene;
use crate::tap::Passed;
use engine::wrap::GivenUp;
use frame::{Frame, Kind, Nanos};
use port::Refused;
use probe::matching::{Key, Matcher, Outcome, Rule, Sent, Settings};
use probe::{Incoming, Outgoing, Payloads, Record, Status};
use route::{Arrival, Forward, Memory, PortId, RouteId, Sink, Stop, Table};

/// What the routing table says about one frame: the demo's second opinion.
#[derive(Default)]
struct SecondOpinion {
    ends: Vec<End>,
}

/// What a route makes of the frame.
enum End {
    Stopped(RouteId, Stop),
    Copy {
        route: RouteId,
        to: PortId,
        frame: Option<Frame>,
    },
}

impl Sink for SecondOpinion {
    fn taken(&mut self, _route: RouteId) {}

    fn stopped(&mut self, route: RouteId, why: Stop) {
        self.ends.push(End::Stopped(route, why));
    }

    fn forward(&mut self, copy: Forward<'_>) {
        let frame = Frame::from_view(copy.frame);
        self.ends.push(End::Copy {
            route: copy.route,
            to: copy.to,
            frame,
        });
    }
}

/// The records of a run as it goes.
pub(crate) struct Recorder {
    pub(crate) records: Vec<Record>,
    pub(crate) payloads: Payloads,
    /// Things that the engine and the second opinion, or the bus, do not agree on; 0 in a sound
    /// cangate.
    pub(crate) disagreements: u64,
    memory: Memory,
    /// Copies that ports accepted and that have not been seen on their bus; tags are places in
    /// `records`.
    waiting: Matcher<CopyKey>,
    /// What somebody would find who sees only the buses.
    pub(crate) observers: Observers,
}

impl Recorder {
    pub(crate) fn new(table: &Table, ports: usize) -> Self {
        Self {
            records: Vec::new(),
            payloads: Payloads::default(),
            disagreements: 0,
            memory: table.memory(),
            // Whatever waits for the bus is waited for; nothing comes out twice.
            waiting: Matcher::new(Settings {
                timeout: Nanos::MAX,
                capacity: usize::MAX,
                duplicates: false,
            }),
            observers: Observers::new(ports),
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
        // Queues give up frames while they take others: both are known when the step is over.
        let mut given_up = Vec::new();
        passed.retain(|passed| match *passed {
            Passed::GivenUp {
                port,
                tag,
                frame,
                why,
            } => {
                given_up.push((port, tag, frame, why));
                false
            }
            _ => true,
        });
        self.pass(scene, now, passed, processing);
        for (port, tag, frame, why) in given_up {
            let status = match why {
                GivenUp::Expired => Status::Expired,
                GivenUp::Displaced => Status::Displaced,
                GivenUp::Lost => Status::Lost,
            };
            self.end(port, tag, &frame, status);
        }
    }

    fn pass(
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
            let mut opinion = SecondOpinion::default();
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
                kind: Some(frame.kind()),
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
            if opinion.ends.is_empty() {
                self.push(row(None, Status::NoRoute), &frame);
            }
            for end_of_route in opinion.ends {
                let (route, to, expected) = match end_of_route {
                    End::Stopped(route, why) => {
                        self.push(row(Some(route), stopped(why)), &frame);
                        continue;
                    }
                    End::Copy { route, to, frame } => (route, to.0, frame),
                };
                if let Some(expected) = &expected {
                    self.observers.expect(to, tag, expected, end);
                }
                let next = rest.next_if(|next| next.is_copy(to, tag, expected.as_ref()));
                let status = match next {
                    Some(Passed::Out { answer, .. }) => answered(answer),
                    Some(Passed::In { .. } | Passed::GivenUp { .. }) | None => {
                        self.disagreements += 1;
                        Status::Lost
                    }
                };
                self.push(row(Some(route), status), &frame);
                let waits = expected.filter(|_| status == Status::Waiting);
                if let Some(key) = waits.and_then(|frame| copy_key(to, tag, &frame)) {
                    let sent = Sent {
                        tag: self.records.len() as u64 - 1,
                        at: now,
                        stream: 0,
                    };
                    self.waiting.sent(key, sent, &mut |_| {});
                }
            }
        }
    }

    /// A gateway's port sent a frame: its end of frame, and how long it took on the wire.
    pub(crate) fn sent(&mut self, port: u16, tag: u64, frame: &Frame, end: Nanos, duration: Nanos) {
        self.observers.see(port, tag, frame, end);
        let mut row = None;
        if let Some(key) = copy_key(port, tag, frame) {
            self.waiting.received(&key, tag, end, &mut |outcome| {
                if let Outcome::Matched(pair) = outcome {
                    row = Some(pair.sent);
                }
            });
        }
        let place = row.and_then(|sent| usize::try_from(sent.tag).ok());
        let Some((place, record)) = place.and_then(|n| Some((n, self.records.get_mut(n)?))) else {
            self.disagreements += 1;
            return;
        };
        self.payloads.set_outgoing(place, frame.data());
        record.status = Status::Delivered;
        record.outgoing = Some(Outgoing {
            port,
            id: frame.id(),
            kind: Some(frame.kind()),
            len: frame.len() as u16,
            end,
            duration,
        });
    }

    /// A gateway's port accepted a frame and then gave it up.
    pub(crate) fn lost(&mut self, port: u16, tag: u64, frame: &Frame) {
        self.end(port, tag, frame, Status::Lost);
    }

    /// A copy that a port had accepted does not go out any more.
    fn end(&mut self, port: u16, tag: u64, frame: &Frame, status: Status) {
        let row = copy_key(port, tag, frame).and_then(|key| self.waiting.withdraw(&key));
        match self.record(row) {
            Some(record) => record.status = status,
            None => self.disagreements += 1,
        }
    }

    fn push(&mut self, record: Record, came: &Frame) {
        self.payloads.set_incoming(self.records.len(), came.data());
        self.records.push(record);
    }

    fn record(&mut self, row: Option<Sent>) -> Option<&mut Record> {
        let place = usize::try_from(row?.tag).ok()?;
        self.records.get_mut(place)
    }
}

/// What a copy is known again by on its bus: its port, the token that follows it, and everything
/// of the frame but ESI, which is the sender's.
type CopyKey = (u16, u64, Kind, Key);

fn copy_key(port: u16, tag: u64, frame: &Frame) -> Option<CopyKey> {
    let content = Rule::IdAndPayload.key(frame.view())?;
    Some((port, tag, frame.kind(), content))
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
