//! The traffic of the demo's testers: the SAE class C messages, or a log.

use crate::account::LogAccount;
use crate::error::Error;
use crate::progress::DemoProgress;
use crate::replay::{BusRelease, LogInput, LogReplay, ReplayBus};
use frame::{Frame, Nanos};
use probe::traffic::{SetSchedule, TrafficSource, sae_class_c};

/// The subsystems of the SAE benchmark that the demo puts on the second bus.
const SECOND_BUS: &[&str] = &["instrument panel", "driver input"];

/// Frames for the testers, in order of time.
pub(crate) enum TesterSource {
    Sae {
        schedule: Box<SetSchedule>,
        end: Nanos,
        bus_of: Vec<usize>,
        words: String,
    },
    Log(Box<LogReplay>),
}

impl TesterSource {
    /// Returns the SAE class C messages for `end` ns.
    pub(crate) fn sae(seed: u64, end: Nanos, buses: usize) -> Result<Self, Error> {
        let set = sae_class_c();
        let second = buses.saturating_sub(1).min(1);
        let bus_of = set
            .nodes
            .iter()
            .map(|n| if SECOND_BUS.contains(n) { second } else { 0 });
        let bus_of = bus_of.collect();
        let schedule = SetSchedule::new(&set, seed, end).map_err(Error::scene)?;
        let words = format!("{}: {}", set.name, set.source);
        Ok(Self::Sae {
            schedule: Box::new(schedule),
            end,
            bus_of,
            words,
        })
    }

    /// Opens a log for these buses.
    pub(crate) fn log(input: &LogInput, buses: Vec<ReplayBus>) -> Result<Self, Error> {
        let replay = LogReplay::open(input.clone(), buses)?;
        Ok(Self::Log(Box::new(replay)))
    }

    /// Returns the next frame to send; `None` while it waits for an answer, and at the end.
    pub(crate) fn next(&mut self) -> Result<Option<BusRelease>, Error> {
        match self {
            Self::Sae {
                schedule, bus_of, ..
            } => Ok(schedule.next().map(|release| BusRelease {
                bus: bus_of.get(usize::from(release.node)).copied().unwrap_or(0),
                release,
            })),
            Self::Log(log) => log.next(),
        }
    }

    /// Returns the bus time at which it stops waiting for an answer.
    pub(crate) fn waits_until(&self) -> Option<Nanos> {
        match self {
            Self::Sae { .. } => None,
            Self::Log(log) => log.waits_until(),
        }
    }

    /// Notes a frame that the gateway has sent on a bus, whose end is at `end`.
    pub(crate) fn see(&mut self, bus: usize, frame: &Frame, end: Nanos) {
        if let Self::Log(log) = self {
            log.see(bus, frame, end);
        }
    }

    /// Returns the error of an answer that has not come in time.
    pub(crate) fn time_out(&mut self) -> Option<Error> {
        match self {
            Self::Sae { .. } => None,
            Self::Log(log) => log.time_out(),
        }
    }

    /// Returns the progress of the run at bus time `now`.
    pub(crate) fn progress(&self, now: Nanos) -> DemoProgress {
        match self {
            Self::Sae { end, .. } => DemoProgress {
                done: now.min(*end),
                of: *end,
            },
            Self::Log(log) => {
                let (done, of) = log.progress();
                DemoProgress { done, of }
            }
        }
    }

    /// Describes the traffic, for people.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Sae { words, .. } => words.clone(),
            Self::Log(log) => log.words(),
        }
    }

    /// Returns the account of a log, once it has been read.
    pub(crate) fn log_account(&self) -> Option<LogAccount> {
        match self {
            Self::Sae { .. } => None,
            Self::Log(log) => Some(log.account()),
        }
    }
}
