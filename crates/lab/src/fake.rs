//! For tests: a machine without machines, and made-up results.

use crate::experiment::Experiment;
use crate::machine::{Job, Outcome, Spec};
use crate::trial::{Machine, RESULTS};
use frame::CanId;
use probe::{Incoming, Outgoing, Record, Results, Status};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// `n` frames one after the other, each with this latency, ns.
pub(crate) fn records(n: u64, latency: u64) -> Vec<Record> {
    with_latencies((0..n).map(|_| latency))
}

/// Frames, a millisecond apart, with these latencies, ns.
pub(crate) fn with_latencies(latencies: impl IntoIterator<Item = u64>) -> Vec<Record> {
    let id = CanId::from_raw(0x123);
    let one = |(tag, latency): (usize, u64)| {
        let end = (tag as u64 + 1) * 1_000_000;
        let duration = 60_000;
        Record {
            tag: tag as u64,
            route: None,
            incoming: Some(Incoming {
                port: 0,
                id,
                len: 4,
                end,
            }),
            outgoing: Some(Outgoing {
                port: 1,
                id,
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

/// The same records, those that `lost` names lost.
pub(crate) fn losing(mut records: Vec<Record>, lost: impl Fn(u64) -> bool) -> Vec<Record> {
    for record in &mut records {
        if lost(record.tag) {
            record.outgoing = None;
            record.status = Status::Lost;
        }
    }
    records
}

pub(crate) fn results(records: Vec<Record>) -> Results {
    Results {
        ports: vec!["in".to_owned(), "out".to_owned()],
        records,
        ..Results::default()
    }
}

pub(crate) fn versions() -> Vec<(String, String)> {
    vec![("qemu".to_owned(), "11".to_owned())]
}

/// What a guest leaves that does well: latencies that depend on the seed only.
pub(crate) fn outcome(e: &Experiment) -> Outcome {
    let latencies = (0..u64::from(e.frames.min(50))).map(|n| 10_000 + e.seed + n % 7);
    let mut bytes = Vec::new();
    probe::results::write_to(&mut bytes, &results(with_latencies(latencies))).unwrap();
    Outcome {
        status: Some(0),
        outputs: vec![(RESULTS.to_owned(), bytes)],
        versions: versions(),
        ..Outcome::default()
    }
}

type Behaviour = dyn Fn(&Experiment) -> Result<Outcome, String> + Send + Sync;

/// A machine that does what a test says, and remembers what it was asked.
pub(crate) struct Fake {
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) stopped: AtomicBool,
    behaviour: Box<Behaviour>,
}

impl Default for Fake {
    fn default() -> Self {
        Self::new(|e| Ok(outcome(e)))
    }
}

impl Fake {
    pub(crate) fn new(
        behaviour: impl Fn(&Experiment) -> Result<Outcome, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            versions: versions(),
            asked: Mutex::default(),
            stopped: AtomicBool::new(false),
            behaviour: Box::new(behaviour),
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

impl Machine for Fake {
    fn versions(&self, _: &str) -> Result<Vec<(String, String)>, String> {
        Ok(self.versions.clone())
    }

    fn run(&self, spec: &Spec) -> Result<Outcome, String> {
        let Job::Measure { experiment } = &spec.job else {
            return Err("no experiment".to_owned());
        };
        self.asked.lock().unwrap().push(experiment.name());
        let mut outcome = (self.behaviour)(experiment)?;
        outcome.versions.clone_from(&self.versions);
        Ok(outcome)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}
