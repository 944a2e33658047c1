//! The traffic of the demo's testers: the SAE class C messages, or a log.

use crate::error::Error;
use crate::progress::DemoProgress;
use crate::replay::{BusRelease, LogInput, LogReplay, ReplayBus};
use frame::{Frame, Nanos};
use port::log::loss_words;
use probe::traffic::{SetSchedule, TrafficSource, sae_class_c};
use std::collections::BTreeMap;

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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The account of a log that was read.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct LogAccount {
    /// Lines that are frames.
    pub frames: u64,
    /// Frames that no bus here can carry, by reason.
    #[serde(rename = "not_replayed")]
    pub left_out: BTreeMap<String, u64>,
    /// Lines that are not frames.
    pub bad_lines: u64,
    /// The first of these lines, with the reason.
    pub first_bad: Vec<String>,
    /// Frames that are not in the log because its recorder lost them, as the log states.
    pub missing: u64,
    /// Records that are not CAN frames, by the name of their group.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_frames: BTreeMap<String, u64>,
    /// Answers for which the replay waited, and which came.
    #[serde(skip_serializing_if = "is_zero")]
    pub answers: u64,
    /// Time stamps that were earlier than that of the line above.
    pub backwards: u64,
    /// Interfaces, in the order of the buses to which they were assigned.
    pub interfaces: Vec<String>,
}

impl LogAccount {
    /// Returns sentences for people on the frames that were not replayed because the log does not
    /// have them, or has something else in their place.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        let all = self.not_frames.iter();
        let others = all.map(|(name, records)| {
            format!("Left out: {records} records of {name} are not classic or FD frames.")
        });
        let lost = loss_words(self.missing).map(|words| format!("Not replayed: {words}."));
        others.chain(lost).collect()
    }
}
