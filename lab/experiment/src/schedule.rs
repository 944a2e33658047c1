//! Runs many experiments, several guests at a time: existing results are not made again, failures
//! are recorded, and it can be stopped at any moment.

use crate::figures::ExperimentFigures;
use crate::settings::Experiment;
use crate::store::{ResultStore, StaleReason, StoreError, StoredResult};
use crate::trial::{self, FailedGuest, GuestRunner, TrialError};
use guest::Kernel;
use probe::RunResults;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The options for running experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Guests at a time.
    pub jobs: usize,
    /// Whether failed experiments are run again.
    pub retry_failed: bool,
}

/// An event of one of the experiments, which is named by its index in the list.
#[derive(Debug)]
pub enum ScheduleEvent {
    /// Its results already existed.
    Kept(usize),
    /// It had failed before, and is not run again.
    FailedBefore(usize, FailedGuest),
    /// An existing result is not valid; the experiment is run again.
    Again(usize, StaleReason),
    /// A guest boots.
    Started(usize),
    /// It was completed.
    Made(usize, Box<ExperimentFigures>),
    /// It failed.
    Failed(usize, FailedGuest),
}

/// The reason why not all experiments could be run.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// It was stopped from outside.
    #[error("stopped; run the same command to resume")]
    Stopped,
    /// No guest can be run.
    #[error(transparent)]
    Machine(#[from] guest::Error),
    /// Results that were made are not in the folder afterwards.
    #[error("the new results cannot be read back: {}", .0.join(", "))]
    NotReadBack(Vec<String>),
    /// Results cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The numbers of experiments by outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ScheduleTally {
    /// Results that already existed.
    pub kept: usize,
    /// Results made now.
    pub made: usize,
    /// Experiments that failed, now or before.
    pub failed: usize,
}

/// A worker's message.
enum WorkerMessage {
    Started(usize),
    Ended(usize, Box<Result<RunResults, TrialError>>),
}

/// The versions of each kernel in use.
pub type Versions = BTreeMap<Kernel, Vec<(String, String)>>;

/// Returns the versions of the kernels in use; this may fetch them.
///
/// # Errors
/// [`ScheduleError::Machine`].
pub fn versions(
    machine: &dyn GuestRunner,
    experiments: &[Experiment],
) -> Result<Versions, ScheduleError> {
    let mut versions = Versions::new();
    for e in experiments {
        if let Entry::Vacant(entry) = versions.entry(e.kernel) {
            entry.insert(machine.versions(e.kernel)?);
        }
    }
    Ok(versions)
}

/// Runs the experiments without existing results. `stop` may be set at any time from anywhere:
/// running guests are ended, and their experiments count as not run.
///
/// # Errors
/// [`ScheduleError`]. A guest that fails is not an error.
pub fn run(
    machine: &dyn GuestRunner,
    store: &ResultStore,
    experiments: &[Experiment],
    options: ScheduleOptions,
    stop: &AtomicBool,
    on: &mut dyn FnMut(ScheduleEvent),
) -> Result<ScheduleTally, ScheduleError> {
    let versions = versions(machine, experiments)?;
    let of = |e: &Experiment| versions.get(&e.kernel).map_or(&[][..], Vec::as_slice);
    let mut tally = ScheduleTally::default();
    let mut todo = Vec::new();
    for (index, e) in experiments.iter().enumerate() {
        match store.find(e, of(e)) {
            StoredResult::Results(_) => {
                tally.kept += 1;
                on(ScheduleEvent::Kept(index));
            }
            StoredResult::Failed(failed) if !options.retry_failed => {
                tally.failed += 1;
                on(ScheduleEvent::FailedBefore(index, failed));
            }
            StoredResult::Failed(_) | StoredResult::Absent => todo.push((index, e)),
            StoredResult::Stale(why) => {
                on(ScheduleEvent::Again(index, why));
                todo.push((index, e));
            }
        }
    }
    let next = AtomicUsize::new(0);
    let ending = AtomicBool::new(false);
    let (send, receive) = mpsc::channel();
    let mut first_error = None;
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, todo.len().max(1)) {
            let send = send.clone();
            let (todo, next, ending) = (&todo, &next, &ending);
            scope.spawn(move || {
                while let Some((index, e)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let enough = ending.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
                    if enough || send.send(WorkerMessage::Started(*index)).is_err() {
                        break;
                    }
                    let end = trial::make(machine, e);
                    if matches!(end, Err(TrialError::Machine(_))) {
                        ending.store(true, Ordering::Relaxed);
                    }
                    if send
                        .send(WorkerMessage::Ended(*index, Box::new(end)))
                        .is_err()
                    {
                        break;
                    }
                }
            });
        }
        drop(send);
        loop {
            if stop.load(Ordering::Relaxed) && first_error.is_none() {
                first_error = Some(ScheduleError::Stopped);
                ending.store(true, Ordering::Relaxed);
                machine.stop();
            }
            let message = match receive.recv_timeout(Duration::from_millis(50)) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let (index, end) = match message {
                WorkerMessage::Started(index) => {
                    on(ScheduleEvent::Started(index));
                    continue;
                }
                WorkerMessage::Ended(index, end) => (index, end),
            };
            let Some(e) = experiments.get(index) else {
                continue;
            };
            // A guest that was ended by us did not fail, and the stop may be a moment old.
            let stopped = first_error.is_some() || stop.load(Ordering::Relaxed);
            let error = match *end {
                Ok(results) => match store.keep(e, &results) {
                    Ok(_) => {
                        tally.made += 1;
                        on(ScheduleEvent::Made(
                            index,
                            Box::new(ExperimentFigures::from_results(e, &results)),
                        ));
                        None
                    }
                    Err(error) => Some(error.into()),
                },
                Err(TrialError::Failed(_)) if stopped => None,
                Err(TrialError::Failed(failed)) => match store.keep_failure(e, of(e), &failed) {
                    Ok(()) => {
                        tally.failed += 1;
                        on(ScheduleEvent::Failed(index, failed));
                        None
                    }
                    Err(error) => Some(error.into()),
                },
                Err(TrialError::Machine(error)) => Some(error.into()),
            };
            if let Some(error) = error {
                ending.store(true, Ordering::Relaxed);
                if first_error.is_none() {
                    first_error = Some(error);
                    machine.give_up();
                }
            }
        }
    });
    match first_error {
        Some(error) => Err(error),
        // It was stopped when the last guests had just ended.
        None if tally.kept + tally.made + tally.failed < experiments.len() => {
            Err(ScheduleError::Stopped)
        }
        None => Ok(tally),
    }
}

#[cfg(test)]
mod tests;
