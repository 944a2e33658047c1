//! For tests, here and in the crates that depend on this one: a machine without guests, and
//! generated results.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::settings::Experiment;
use crate::trial::{GuestRunner, RESULTS};
use frame::CanId;
use guest::machine::{GuestJob, GuestSpec};
use guest::{GuestOutcome, Kernel};
use probe::{FrameRecord, IncomingFrame, RunResults, SentCopy, Status};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns `n` frames one after the other, each with this latency, ns.
pub fn records(n: u64, latency: u64) -> Vec<FrameRecord> {
    with_latencies((0..n).map(|_| latency))
}

/// Returns frames, a millisecond apart, with these latencies, ns.
pub fn with_latencies(latencies: impl IntoIterator<Item = u64>) -> Vec<FrameRecord> {
    let id = CanId::from_raw(0x123);
    let one = |(tag, latency): (usize, u64)| {
        let end = (tag as u64 + 1) * 1_000_000;
        let duration = 60_000;
        FrameRecord {
            tag: tag as u64,
            route: None,
            incoming: Some(IncomingFrame {
                port: 0,
                id,
                kind: Some(frame::Kind::Classic),
                len: 4,
                end,
            }),
            outgoing: Some(SentCopy {
                port: 1,
                id,
                kind: Some(frame::Kind::Classic),
                len: 4,
                end: end + duration + latency,
                duration,
            }),
            status: Status::Delivered,
            processing: None,
            accesses: None,
        }
    };
    latencies.into_iter().enumerate().map(one).collect()
}

/// Returns the same records, where those selected by `lost` are lost.
pub fn losing(mut records: Vec<FrameRecord>, lost: impl Fn(u64) -> bool) -> Vec<FrameRecord> {
    for record in &mut records {
        if lost(record.tag) {
            record.outgoing = None;
            record.status = Status::Lost;
        }
    }
    records
}

/// Returns results of these records, between two ports.
pub fn results(records: Vec<FrameRecord>) -> RunResults {
    RunResults {
        ports: vec!["in".to_owned(), "out".to_owned()],
        records,
        ..RunResults::default()
    }
}

/// Returns the versions that [`FakeMachine`] reports for its guests.
pub fn versions() -> Vec<(String, String)> {
    vec![("qemu".to_owned(), "11".to_owned())]
}

/// Returns the outcome of a guest that succeeds: latencies that depend on the seed only.
pub fn outcome(e: &Experiment) -> GuestOutcome {
    let latencies = (0..u64::from(e.frames.min(50))).map(|n| 10_000 + e.seed + n % 7);
    let mut bytes = Vec::new();
    probe::results::write_to(&mut bytes, &results(with_latencies(latencies))).unwrap();
    GuestOutcome {
        status: Some(0),
        outputs: vec![(RESULTS.to_owned(), bytes)],
        versions: versions(),
        ..GuestOutcome::default()
    }
}

type Behaviour = dyn Fn(&Experiment) -> Result<GuestOutcome, guest::Error> + Send + Sync;

/// A machine whose behaviour a test defines, and which records the requests that it received.
pub struct FakeMachine {
    /// The versions that it reports for its guests.
    pub versions: Vec<(String, String)>,
    asked: Mutex<Vec<String>>,
    /// Whether [`GuestRunner::stop`] was called.
    pub stopped: AtomicBool,
    /// Whether [`GuestRunner::give_up`] was called.
    pub given_up: AtomicBool,
    behaviour: Box<Behaviour>,
}

impl Default for FakeMachine {
    fn default() -> Self {
        Self::new(|e| Ok(outcome(e)))
    }
}

impl FakeMachine {
    /// Creates a machine with the given behaviour.
    pub fn new(
        behaviour: impl Fn(&Experiment) -> Result<GuestOutcome, guest::Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            versions: versions(),
            asked: Mutex::default(),
            stopped: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            behaviour: Box::new(behaviour),
        }
    }

    /// Returns the names of the experiments that it was asked to run, sorted.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

impl GuestRunner for FakeMachine {
    fn versions(&self, _: Kernel) -> Result<Vec<(String, String)>, guest::Error> {
        Ok(self.versions.clone())
    }

    fn run(&self, spec: &GuestSpec) -> Result<GuestOutcome, guest::Error> {
        let GuestJob::Task { task } = &spec.job else {
            panic!("only experiments are made here: {:?}", spec.job);
        };
        self.run_bare(&serde_json::from_value(task.clone()).unwrap())
    }

    fn run_bare(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error> {
        self.asked.lock().unwrap().push(experiment.name());
        let mut outcome = (self.behaviour)(experiment)?;
        outcome.versions.clone_from(&self.versions);
        Ok(outcome)
    }

    fn run_apart(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error> {
        self.run_bare(experiment)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
    }
}
