//! Many experiments, several guests at a time: what is there is not made again, what fails is
//! written down, and it can be stopped at any moment.

use crate::experiment::Experiment;
use crate::figures::Figures;
use crate::store::{Stale, Store, StoreError, Stored};
use crate::trial::{self, Failed, Machine, TrialError};
use probe::Results;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How experiments are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Guests at a time.
    pub jobs: usize,
    /// Make those again that failed.
    pub retry_failed: bool,
}

/// Something happened to one of the experiments, which is named by its index in the list.
#[derive(Debug)]
pub enum Event {
    /// Its results were there.
    Kept(usize),
    /// It had failed before, and is left at that.
    FailedBefore(usize, Failed),
    /// Something is there that does not count; it is made again.
    Again(usize, Stale),
    /// A guest boots.
    Started(usize),
    /// Done.
    Made(usize, Box<Figures>),
    /// It failed.
    Failed(usize, Failed),
}

/// Why not all could be tried.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// Stopped from outside.
    #[error("stopped; the same command goes on where this one stopped")]
    Stopped,
    /// No guest can be had.
    #[error(transparent)]
    Machine(#[from] guest::Error),
    /// What was made is not in the folder afterwards.
    #[error("what was made cannot be read back: {}", .0.join(", "))]
    NotReadBack(Vec<String>),
    /// Results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    /// Results that were there.
    pub kept: usize,
    /// Made now.
    pub made: usize,
    /// Failed, now or before.
    pub failed: usize,
}

/// What a worker tells.
enum Message {
    Started(usize),
    Ended(usize, Box<Result<Results, TrialError>>),
}

/// The versions of each kernel that occurs.
pub type Versions = BTreeMap<String, Vec<(String, String)>>;

/// Asks for the versions of the kernels that occur; this may fetch them.
///
/// # Errors
/// [`ScheduleError::Machine`].
pub fn versions(
    machine: &dyn Machine,
    experiments: &[Experiment],
) -> Result<Versions, ScheduleError> {
    let mut versions = Versions::new();
    for e in experiments {
        if !versions.contains_key(&e.kernel) {
            let of = machine.versions(&e.kernel)?;
            versions.insert(e.kernel.clone(), of);
        }
    }
    Ok(versions)
}

/// Makes what is not there. `stop` may be set at any time from anywhere: running guests are
/// ended, and what they were at counts as not done.
///
/// # Errors
/// [`ScheduleError`]. A guest that fails is no error.
pub fn run(
    machine: &dyn Machine,
    store: &Store,
    experiments: &[Experiment],
    options: Options,
    stop: &AtomicBool,
    on: &mut dyn FnMut(Event),
) -> Result<Tally, ScheduleError> {
    let versions = versions(machine, experiments)?;
    let of = |e: &Experiment| versions.get(&e.kernel).map_or(&[][..], Vec::as_slice);
    let mut tally = Tally::default();
    let mut todo = Vec::new();
    for (index, e) in experiments.iter().enumerate() {
        match store.find(e, of(e)) {
            Stored::Results(_) => {
                tally.kept += 1;
                on(Event::Kept(index));
            }
            Stored::Failed(failed) if !options.retry_failed => {
                tally.failed += 1;
                on(Event::FailedBefore(index, failed));
            }
            Stored::Failed(_) | Stored::Absent => todo.push((index, e)),
            Stored::Stale(why) => {
                on(Event::Again(index, why));
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
                    if enough || send.send(Message::Started(*index)).is_err() {
                        break;
                    }
                    let end = trial::make(machine, e);
                    if matches!(end, Err(TrialError::Machine(_))) {
                        ending.store(true, Ordering::Relaxed);
                    }
                    if send.send(Message::Ended(*index, Box::new(end))).is_err() {
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
                Message::Started(index) => {
                    on(Event::Started(index));
                    continue;
                }
                Message::Ended(index, end) => (index, end),
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
                        on(Event::Made(index, Box::new(Figures::of(e, &results))));
                        None
                    }
                    Err(error) => Some(error.into()),
                },
                Err(TrialError::Failed(_)) if stopped => None,
                Err(TrialError::Failed(failed)) => match store.keep_failure(e, of(e), &failed) {
                    Ok(()) => {
                        tally.failed += 1;
                        on(Event::Failed(index, failed));
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
                    machine.stop();
                }
            }
        }
    });
    match first_error {
        Some(error) => Err(error),
        // Stopped when the last guests had just ended.
        None if tally.kept + tally.made + tally.failed < experiments.len() => {
            Err(ScheduleError::Stopped)
        }
        None => Ok(tally),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Fake};
    use guest::{Failure, Outcome};
    use std::sync::Arc;

    const OPTIONS: Options = Options {
        jobs: 3,
        retry_failed: false,
    };

    fn some(n: u64) -> Vec<Experiment> {
        let one = |seed| Experiment {
            seed,
            ..Experiment::default()
        };
        (0..n).map(one).collect()
    }

    fn go(
        machine: &Fake,
        store: &Store,
        all: &[Experiment],
        options: Options,
    ) -> Result<Tally, ScheduleError> {
        run(
            machine,
            store,
            all,
            options,
            &AtomicBool::new(false),
            &mut |_| {},
        )
    }

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        (dir, store)
    }

    #[test]
    fn what_is_there_is_never_made_again() {
        let (_dir, store) = store();
        let machine = Fake::default();
        let all = some(7);
        let tally = go(&machine, &store, &all[..4], OPTIONS).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 4,
                ..Tally::default()
            }
        );
        let tally = go(&machine, &store, &all, OPTIONS).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 3,
                kept: 4,
                failed: 0
            }
        );
        let mut names: Vec<_> = all.iter().map(Experiment::name).collect();
        names.sort();
        assert_eq!(machine.asked(), names, "each once");
    }

    #[test]
    fn another_version_makes_all_again() {
        let (_dir, store) = store();
        go(&Fake::default(), &store, &some(2), OPTIONS).unwrap();
        let mut newer = Fake::default();
        newer.versions = vec![("qemu".to_owned(), "12".to_owned())];
        let mut again = Vec::new();
        let stop = AtomicBool::new(false);
        let tally = run(&newer, &store, &some(2), OPTIONS, &stop, &mut |e| {
            if let Event::Again(_, why) = e {
                again.push(why.to_string());
            }
        });
        assert_eq!(tally.unwrap().made, 2);
        assert_eq!(again, ["version qemu was 11, and is 12"; 2]);
    }

    #[test]
    fn a_failing_guest_is_written_down_and_the_others_go_on() {
        let (_dir, store) = store();
        let panics = |e: &Experiment| {
            let mut outcome = fake::outcome(e);
            if e.seed % 2 == 1 {
                outcome = Outcome {
                    failure: Some(Failure::Panic("Oops".to_owned())),
                    console: "Oops".to_owned(),
                    ..Outcome::default()
                };
            }
            Ok(outcome)
        };
        let machine = Fake::new(panics);
        let tally = go(&machine, &store, &some(6), OPTIONS).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 3,
                kept: 0,
                failed: 3
            }
        );
        // Left at that …
        let tally = go(&machine, &store, &some(6), OPTIONS).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 0,
                kept: 3,
                failed: 3
            }
        );
        assert_eq!(machine.asked().len(), 6);
        // … until asked.
        let again = Options {
            retry_failed: true,
            ..OPTIONS
        };
        let tally = go(&Fake::default(), &store, &some(6), again).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 3,
                kept: 3,
                failed: 0
            }
        );
    }

    #[test]
    fn an_interrupted_run_goes_on_where_it_stopped() {
        let (_dir, store) = store();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        // The third guest meets Ctrl-C and is ended without a word.
        let machine = Fake::new(move |e| {
            if e.seed == 2 {
                seen.store(true, Ordering::SeqCst);
                return Ok(Outcome {
                    failure: Some(Failure::Stopped),
                    ..Outcome::default()
                });
            }
            Ok(fake::outcome(e))
        });
        let options = Options { jobs: 1, ..OPTIONS };
        let end = run(&machine, &store, &some(9), options, &stop, &mut |_| {});
        assert!(matches!(end, Err(ScheduleError::Stopped)));
        assert!(machine.stopped.load(Ordering::SeqCst));
        assert_eq!(machine.asked().len(), 3);
        // No failure was noted, what was made is kept, and the rest follows.
        let second = Fake::default();
        let tally = go(&second, &store, &some(9), OPTIONS).unwrap();
        assert_eq!(tally.failed, 0);
        assert_eq!(tally.kept + tally.made, 9);
        assert_eq!(tally.kept, 2);
        assert!(second.asked().iter().any(|name| name.contains("seed-2")));
    }

    #[test]
    fn where_no_guest_can_be_had_it_ends_and_says_why() {
        let (_dir, store) = store();
        let machine = Fake::new(|_| Err(guest::Error::Mirror("nowhere".to_owned())));
        let end = go(&machine, &store, &some(50), OPTIONS).unwrap_err();
        assert!(end.to_string().contains("`nowhere`"), "{end}");
        assert!(
            machine.asked().len() <= OPTIONS.jobs,
            "no more than one each"
        );
    }

    #[test]
    fn a_full_disk_ends_the_run_and_keeps_what_is_there() {
        let (dir, store) = store();
        let all = some(9);
        go(&Fake::default(), &store, &all[..2], OPTIONS).unwrap();
        for e in &all[2..] {
            let partial = dir.path().join(format!("{}.parquet.partial", e.name()));
            std::os::unix::fs::symlink("/dev/full", partial).unwrap();
        }
        let end = go(&Fake::default(), &store, &all, OPTIONS).unwrap_err();
        assert!(end.to_string().contains("no room left"), "{end}");
        drop(store);
        let store = Store::open(dir.path()).unwrap();
        let tally = go(&Fake::default(), &store, &all, OPTIONS).unwrap();
        assert_eq!(
            tally,
            Tally {
                made: 7,
                kept: 2,
                failed: 0
            }
        );
    }

    #[test]
    fn the_same_experiment_gives_the_same_file() {
        let bytes = |jobs| {
            let (_dir, store) = store();
            go(
                &Fake::default(),
                &store,
                &some(5),
                Options { jobs, ..OPTIONS },
            )
            .unwrap();
            let read = |e: &Experiment| std::fs::read(store.path(e)).unwrap();
            some(5).iter().map(read).collect::<Vec<_>>()
        };
        assert_eq!(bytes(1), bytes(4));
    }
}
