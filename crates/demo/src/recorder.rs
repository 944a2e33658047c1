//! The fate of each frame: joins the frames that passed the gateway's ports with those that were
//! seen on the buses to one record for each frame and destination.

use crate::observer::PortObservers;
use crate::scene::DemoScene;
use crate::tap::PassedFrame;
use engine::wrap::GivenUp;
use frame::{Frame, Kind, Nanos};
use port::TransmitRefusal;
use probe::matching::{FrameKey, FrameMatcher, KeyRule, MatchOutcome, MatcherSettings, SentFrame};
use probe::{FrameRecord, IncomingFrame, PayloadStore, SentCopy, Status};
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PortId, RouteId, RoutingTable, StopReason,
    TableMemory,
};

/// The routing table's result for one frame: the demo's second opinion.
#[derive(Default)]
struct SecondOpinion {
    ends: Vec<RouteEnd>,
}

/// The result of a route for the frame.
enum RouteEnd {
    Stopped(RouteId, StopReason),
    Copy {
        route: RouteId,
        to: PortId,
        frame: Option<Frame>,
    },
}

impl DecisionSink for SecondOpinion {
    fn taken(&mut self, _route: RouteId) {}

    fn stopped(&mut self, route: RouteId, why: StopReason) {
        self.ends.push(RouteEnd::Stopped(route, why));
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        let frame = Frame::from_view(copy.frame);
        self.ends.push(RouteEnd::Copy {
            route: copy.route,
            to: copy.to,
            frame,
        });
    }
}

/// The records of a run in progress.
pub(crate) struct RunRecorder {
    pub(crate) records: Vec<FrameRecord>,
    pub(crate) payloads: PayloadStore,
    /// The number of cases in which the engine disagrees with the second opinion or with the bus; 0
    /// in a sound cangate.
    pub(crate) disagreements: u64,
    memory: TableMemory,
    /// Copies that ports accepted and that have not been seen on their bus; tags are indices into
    /// `records`.
    waiting: FrameMatcher<CopyKey>,
    /// The observers, who see only the buses.
    pub(crate) observers: PortObservers,
}

impl RunRecorder {
    pub(crate) fn new(table: &RoutingTable, ports: usize) -> Self {
        Self {
            records: Vec::new(),
            payloads: PayloadStore::default(),
            disagreements: 0,
            memory: table.memory(),
            // A copy that waits for the bus has no timeout; no copy comes out twice.
            waiting: FrameMatcher::new(MatcherSettings {
                timeout: Nanos::MAX,
                capacity: usize::MAX,
                duplicates: false,
            }),
            observers: PortObservers::new(ports),
        }
    }

    /// Takes the frames that passed the ports in one step of the engine at `now`. `processing` is
    /// the step's time for each frame, in ns of real time.
    pub(crate) fn step(
        &mut self,
        scene: &DemoScene,
        now: Nanos,
        passed: &mut Vec<PassedFrame>,
        processing: Option<Nanos>,
    ) {
        // Queues give up frames while they accept others: both are known when the step is over.
        let mut given_up = Vec::new();
        passed.retain(|passed| match *passed {
            PassedFrame::GivenUp {
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
        scene: &DemoScene,
        now: Nanos,
        passed: &mut Vec<PassedFrame>,
        processing: Option<Nanos>,
    ) {
        let mut rest = passed.drain(..).peekable();
        while let Some(next) = rest.next() {
            let PassedFrame::In {
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
            let arrival = FrameArrival {
                from: PortId(port),
                now,
                hops: 0,
            };
            scene
                .table
                .decide(&mut self.memory, arrival, frame.view(), &mut opinion);
            let incoming = IncomingFrame {
                port,
                id: frame.id(),
                kind: Some(frame.kind()),
                len: frame.len() as u16,
                end,
            };
            let row = |route: Option<RouteId>, status| FrameRecord {
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
                    RouteEnd::Stopped(route, why) => {
                        self.push(row(Some(route), stopped(why)), &frame);
                        continue;
                    }
                    RouteEnd::Copy { route, to, frame } => (route, to.0, frame),
                };
                let is_on_bus = scene.is_on_bus(to);
                if let Some(expected) = expected.as_ref().filter(|_| is_on_bus) {
                    self.observers.expect(to, tag, expected, end);
                }
                let next = rest.next_if(|next| next.is_copy(to, tag, expected.as_ref()));
                let status = match next {
                    // A log has the frame at once.
                    Some(PassedFrame::Out { answer: Ok(()), .. }) if !is_on_bus => {
                        Status::Delivered
                    }
                    Some(PassedFrame::Out { answer, .. }) => answered(answer),
                    Some(PassedFrame::In { .. } | PassedFrame::GivenUp { .. }) | None => {
                        self.disagreements += 1;
                        Status::Lost
                    }
                };
                self.push(row(Some(route), status), &frame);
                let waits = expected.filter(|_| status == Status::Waiting);
                if let Some(key) = waits.and_then(|frame| copy_key(to, tag, &frame)) {
                    let sent = SentFrame {
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
                if let MatchOutcome::Matched(pair) = outcome {
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
        record.outgoing = Some(SentCopy {
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

    fn push(&mut self, record: FrameRecord, came: &Frame) {
        self.payloads.set_incoming(self.records.len(), came.data());
        self.records.push(record);
    }

    fn record(&mut self, row: Option<SentFrame>) -> Option<&mut FrameRecord> {
        let place = usize::try_from(row?.tag).ok()?;
        self.records.get_mut(place)
    }
}

/// The key by which a copy is recognized on its bus: its port, the token that follows it, and
/// everything of the frame but ESI, which the sender sets.
type CopyKey = (u16, u64, Kind, FrameKey);

fn copy_key(port: u16, tag: u64, frame: &Frame) -> Option<CopyKey> {
    let content = KeyRule::IdAndPayload.key(frame.view())?;
    Some((port, tag, frame.kind(), content))
}

/// Returns the present status of a copy after a port's answer.
const fn answered(answer: Result<(), TransmitRefusal>) -> Status {
    match answer {
        Ok(()) => Status::Waiting,
        Err(TransmitRefusal::Full) => Status::Refused,
        Err(TransmitRefusal::Down | TransmitRefusal::Unsupported) => Status::Undeliverable,
    }
}

const fn stopped(why: StopReason) -> Status {
    match why {
        StopReason::DropRule => Status::DroppedByRule,
        StopReason::RateLimit => Status::DroppedByRate,
        StopReason::HopLimit => Status::HopLimit,
        StopReason::TooLong => Status::TooLong,
        StopReason::IdRange => Status::IdRange,
        StopReason::Absent => Status::SignalAbsent,
        StopReason::OutOfRange => Status::OutOfRange,
        StopReason::E2eWrong => Status::E2eWrong,
    }
}
