//! The fate of each frame: joins the frames that passed the gateway's ports with those that were
//! seen on the buses to one record for each frame and destination.

use crate::observer::Observers;
use crate::scene::Scene;
use crate::tap::Passed;
use engine::wrap::GivenUp;
use frame::{Frame, Kind, Nanos};
use port::Refused;
use probe::matching::{Key, Matcher, Outcome, Rule, Sent, Settings};
use probe::{Incoming, Outgoing, Payloads, Record, Status};
use route::{Arrival, Forward, Memory, PortId, RouteId, Sink, Stop, Table};

/// The routing table's result for one frame: the demo's second opinion.
#[derive(Default)]
struct SecondOpinion {
    ends: Vec<End>,
}

/// The result of a route for the frame.
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

/// The records of a run in progress.
pub(crate) struct Recorder {
    pub(crate) records: Vec<Record>,
    pub(crate) payloads: Payloads,
    /// The number of cases in which the engine disagrees with the second opinion or with the bus; 0
    /// in a sound cangate.
    pub(crate) disagreements: u64,
    memory: Memory,
    /// Copies that ports accepted and that have not been seen on their bus; tags are indices into
    /// `records`.
    waiting: Matcher<CopyKey>,
    /// The observers, who see only the buses.
    pub(crate) observers: Observers,
}

impl Recorder {
    pub(crate) fn new(table: &Table, ports: usize) -> Self {
        Self {
            records: Vec::new(),
            payloads: Payloads::default(),
            disagreements: 0,
            memory: table.memory(),
            // A copy that waits for the bus has no timeout; no copy comes out twice.
            waiting: Matcher::new(Settings {
                timeout: Nanos::MAX,
                capacity: usize::MAX,
                duplicates: false,
            }),
            observers: Observers::new(ports),
        }
    }

    /// Takes the frames that passed the ports in one step of the engine at `now`. `processing` is
    /// the step's time for each frame, in ns of real time.
    pub(crate) fn step(
        &mut self,
        scene: &Scene,
        now: Nanos,
        passed: &mut Vec<Passed>,
        processing: Option<Nanos>,
    ) {
        // Queues give up frames while they accept others: both are known when the step is over.
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
                // A copy for which no frame was expected.
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

    /// Records that a gateway's port sent a frame: its end of frame, and its duration on the wire.
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

    /// Records that a gateway's port accepted a frame and then gave it up.
    pub(crate) fn lost(&mut self, port: u16, tag: u64, frame: &Frame) {
        self.end(port, tag, frame, Status::Lost);
    }

    /// Records that a copy that a port had accepted will not go out any more.
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

/// The key by which a copy is recognized on its bus: its port, the token that follows it, and
/// everything of the frame but ESI, which the sender sets.
type CopyKey = (u16, u64, Kind, Key);

fn copy_key(port: u16, tag: u64, frame: &Frame) -> Option<CopyKey> {
    let content = Rule::IdAndPayload.key(frame.view())?;
    Some((port, tag, frame.kind(), content))
}

/// Returns the present status of a copy after a port's answer.
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
