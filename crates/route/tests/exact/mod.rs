//! Random routes with a condition on signals and assignments to signals, random frames, and the
//! outcome of each frame: values are exact rational numbers, read from a payload bit by bit.
//!
//! Tests of every place where routes run include this file: the process (`crates/route`), BPF
//! (`crates/offload`), images (`baremetal`, and in QEMU `lab/cangate-lab`).
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

mod number;
mod rules;
mod signal;

use frame::{CanId, FrameBuf, FrameRef, Header, Kind};
pub use number::Rng;
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, IdFilter, IdSet, PortId, Route, RouteId, Routes,
    RoutingTable, SignalCondition, StopReason, WriteSignals,
};
use rules::{Assignment, Comparison};
use signals::{FieldTest, FieldWrite};

/// The number of frames of a case.
const FRAMES: usize = 48;
/// The payload lengths of FD frames above 8 bytes.
const FD_LENGTHS: [usize; 7] = [12, 16, 20, 24, 32, 48, 64];

/// The outcome of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The route does not take it.
    NotTaken,
    /// The route stops it.
    Stopped(StopReason),
    /// It leaves with this payload.
    Sent(Vec<u8>),
}

/// A route from port 0 to port 1, and frames.
pub struct Case {
    pub routes: Routes,
    pub frames: Vec<(FrameBuf, Outcome)>,
    /// The comparison of each test, in words.
    words: String,
}

/// Sums over cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Comparisons of a signal that is there with a number.
    pub comparisons: u64,
    /// Those that were true.
    pub hits: u64,
    /// Signals written.
    pub writes: u64,
    /// Frames that were stopped because a value was out of range.
    pub outside: u64,
    /// Frames without a signal that the route reads or writes.
    pub absent: u64,
    /// Cases that a place cannot express.
    pub refused: u64,
    /// Cases.
    pub cases: u64,
}

impl Tally {
    /// Returns the number of comparisons and writes.
    pub fn all(&self) -> u64 {
        self.comparisons + self.writes
    }

    /// Checks that the cases had each kind of result.
    ///
    /// # Panics
    /// Panics if one kind was rare.
    pub fn check(&self) {
        let is_common = |part: u64| part > self.cases / 10;
        assert!(
            is_common(self.writes) && is_common(self.outside),
            "{self:?}"
        );
        assert!(is_common(self.absent), "{self:?}");
        let hits = self.hits * 5;
        assert!(
            (self.comparisons..4 * self.comparisons).contains(&hits),
            "{self:?}"
        );
    }
}

impl Case {
    /// Returns the case of a random sequence, and adds it to the sums.
    pub fn random(rng: &mut Rng, tally: &mut Tally) -> Self {
        let size = match rng.below(4) {
            0 => FD_LENGTHS[rng.below(7) as usize],
            _ => 8,
        };
        let (alternatives, tests) = loop {
            let found = alternatives(rng, size);
            if !found.0.is_empty() {
                break found;
            }
        };
        let (assignments, writes) = assignments(rng, size);
        let mut route = Route::new("exact", vec![PortId(0)], vec![PortId(1)]);
        route.matching.when = Some(SignalCondition {
            text: "exact".into(),
            alternatives: tests,
        });
        if !writes.is_empty() {
            let text = "{ exact }".into();
            route.actions.push(WriteSignals { text, writes }.into());
        }
        let mut words = String::new();
        for alternative in &alternatives {
            for comparison in alternative {
                let Comparison {
                    signal, operator, ..
                } = comparison;
                words += &format!(
                    " && {} {operator} {:?}",
                    signal.words(),
                    comparison.threshold
                );
            }
            words += " ||";
        }
        let mut frames = Vec::new();
        for _ in 0..FRAMES {
            let frame = random_frame(rng, size, &alternatives);
            let outcome = outcome(&alternatives, &assignments, frame.view(), tally);
            frames.push((frame, outcome));
        }
        tally.cases += 1;
        Self {
            routes: Routes {
                routes: vec![route],
                ..Routes::default()
            },
            frames,
            words,
        }
    }

    /// Gives the route and its frames an ID of their own, so that a table can have several cases.
    pub fn number(&mut self, id: u16) {
        let route = &mut self.routes.routes[0];
        route.name = format!("exact {id:03X}");
        route.matching.ids = vec![IdFilter {
            set: IdSet::Range {
                eff: false,
                first: id.into(),
                last: id.into(),
            },
            inverted: false,
        }];
        for (frame, _) in &mut self.frames {
            let copy = frame.clone();
            let was = copy.view();
            let header = was.header();
            let raw = header.id().raw() & !CanId::SFF_MASK | u32::from(id);
            let header = Header::new(header.kind(), CanId::from_raw(raw), header.len()).unwrap();
            frame.reset(header);
            let data = was.data();
            frame.buffer_mut()[..data.len()].copy_from_slice(data);
        }
    }

    /// Checks the outcomes of a place, in the order of the frames.
    ///
    /// # Panics
    /// Panics at the first difference.
    pub fn check(&self, mut outcome: impl FnMut(FrameRef<'_>) -> Outcome) {
        for (frame, expected) in &self.frames {
            let found = outcome(frame.view());
            assert_eq!(
                &found,
                expected,
                "{:?} with {:02X?}:{}\n{:?}",
                frame.view().kind(),
                frame.view().data(),
                self.words,
                self.routes.routes[0].actions
            );
        }
    }
}

/// Runs cases of a seed until they have made so many comparisons and writes. `run` returns whether
/// its place can express the case; what it cannot express does not count.
pub fn run(seed: u64, most: u64, mut run: impl FnMut(&Case) -> bool) -> Tally {
    let mut rng = Rng(seed);
    let mut all = Tally::default();
    while all.all() < most {
        let mut tally = all;
        let case = Case::random(&mut rng, &mut tally);
        if run(&case) {
            all = tally;
        } else {
            all.refused += 1;
        }
    }
    all
}

/// Returns the outcome by a routing table in this process.
pub fn decide(table: &RoutingTable, frame: FrameRef<'_>) -> Outcome {
    let arrival = FrameArrival {
        from: PortId(0),
        now: 0,
        hops: 0,
    };
    let mut sink = OutcomeSink(Outcome::NotTaken);
    table.decide(&mut table.memory(), arrival, frame, &mut sink);
    sink.0
}

struct OutcomeSink(Outcome);

impl DecisionSink for OutcomeSink {
    fn taken(&mut self, _: RouteId) {}

    fn stopped(&mut self, _: RouteId, why: StopReason) {
        self.0 = Outcome::Stopped(why);
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.0 = Outcome::Sent(copy.frame.data().to_vec());
    }
}

type Tests = Vec<Vec<FieldTest>>;

fn alternatives(rng: &mut Rng, size: usize) -> (Vec<Vec<Comparison>>, Tests) {
    let (mut alternatives, mut tests) = (Vec::new(), Vec::new());
    for _ in 0..[1, 1, 1, 2, 3][rng.below(5) as usize] {
        let count = [1, 1, 2, 3][rng.below(4) as usize];
        let all: Option<Vec<_>> = (0..count).map(|_| Comparison::random(rng, size)).collect();
        if let Some(all) = all {
            let (ours, theirs) = all.into_iter().unzip();
            alternatives.push(ours);
            tests.push(theirs);
        }
    }
    (alternatives, tests)
}

fn assignments(rng: &mut Rng, size: usize) -> (Vec<Assignment>, Vec<FieldWrite>) {
    let count = [0, 1, 1, 2][rng.below(4) as usize];
    let (mut ours, mut writes): (Vec<_>, Vec<FieldWrite>) = (Vec::new(), Vec::new());
    while writes.len() < count {
        let (assignment, write) = Assignment::random(rng, size);
        if !writes.iter().any(|other| other.to.shares_bits(&write.to)) {
            ours.push(assignment);
            writes.push(write);
        }
    }
    (ours, writes)
}

fn random_frame(rng: &mut Rng, size: usize, alternatives: &[Vec<Comparison>]) -> FrameBuf {
    let len = match rng.below(6) {
        0 => rng.below(9) as usize,
        1 => [8, 12, 64][rng.below(3) as usize],
        _ => size,
    };
    let is_fd = len > 8 || rng.below(8) == 0;
    let is_remote = !is_fd && rng.below(60) == 0;
    let mut payload: Vec<u8> = (0..len).map(|_| rng.next() as u8).collect();
    for comparison in alternatives.iter().flatten() {
        let raw = comparison.interesting_raw(rng);
        comparison
            .signal
            .write(&mut payload, comparison.signal.bits(raw));
    }
    let id = CanId::from_raw(0x123 | if is_remote { CanId::RTR_FLAG } else { 0 });
    let kind = if is_fd { Kind::Fd } else { Kind::Classic };
    let mut frame = FrameBuf::new();
    frame.reset(Header::new(kind, id, len).unwrap());
    if !is_remote {
        frame.buffer_mut()[..len].copy_from_slice(&payload);
    }
    frame
}

fn outcome(
    alternatives: &[Vec<Comparison>],
    assignments: &[Assignment],
    frame: FrameRef<'_>,
    tally: &mut Tally,
) -> Outcome {
    let payload = frame.data();
    let mut all = alternatives.iter();
    if !all.any(|tests| tests.iter().all(|test| test.holds(payload, tally))) {
        return Outcome::NotTaken;
    }
    if !assignments.iter().all(|it| it.has_signals(payload)) {
        tally.absent += 1;
        return Outcome::Stopped(StopReason::Absent);
    }
    let mut written = payload.to_vec();
    for assignment in assignments {
        let Some(bits) = assignment.bits(payload) else {
            tally.outside += 1;
            return Outcome::Stopped(StopReason::OutOfRange);
        };
        assignment.to.write(&mut written, bits);
        tally.writes += 1;
    }
    Outcome::Sent(written)
}
