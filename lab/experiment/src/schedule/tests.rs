//! Schedules over a machine without guests.

use super::*;
use crate::fake::{self, FakeMachine};
use guest::{GuestFailure, GuestOutcome};
use std::sync::Arc;

const OPTIONS: ScheduleOptions = ScheduleOptions {
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
    machine: &FakeMachine,
    store: &ResultStore,
    all: &[Experiment],
    options: ScheduleOptions,
) -> Result<ScheduleTally, ScheduleError> {
    run(
        machine,
        store,
        all,
        options,
        &AtomicBool::new(false),
        &mut |_| {},
    )
}

fn store() -> (tempfile::TempDir, ResultStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    (dir, store)
}

#[test]
fn what_is_there_is_never_made_again() {
    let (_dir, store) = store();
    let machine = FakeMachine::default();
    let all = some(7);
    let tally = go(&machine, &store, &all[..4], OPTIONS).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
            made: 4,
            ..ScheduleTally::default()
        }
    );
    let tally = go(&machine, &store, &all, OPTIONS).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
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
    go(&FakeMachine::default(), &store, &some(2), OPTIONS).unwrap();
    let mut newer = FakeMachine::default();
    newer.versions = vec![("qemu".to_owned(), "12".to_owned())];
    let mut again = Vec::new();
    let stop = AtomicBool::new(false);
    let tally = run(&newer, &store, &some(2), OPTIONS, &stop, &mut |e| {
        if let ScheduleEvent::Again(_, why) = e {
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
            outcome = GuestOutcome {
                failure: Some(GuestFailure::Panic("Oops".to_owned())),
                console: "Oops".to_owned(),
                ..GuestOutcome::default()
            };
        }
        Ok(outcome)
    };
    let machine = FakeMachine::new(panics);
    let tally = go(&machine, &store, &some(6), OPTIONS).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
            made: 3,
            kept: 0,
            failed: 3
        }
    );
    // Failed experiments are not run again …
    let tally = go(&machine, &store, &some(6), OPTIONS).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
            made: 0,
            kept: 3,
            failed: 3
        }
    );
    assert_eq!(machine.asked().len(), 6);
    // … until requested.
    let again = ScheduleOptions {
        retry_failed: true,
        ..OPTIONS
    };
    let tally = go(&FakeMachine::default(), &store, &some(6), again).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
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
    // The third guest receives Ctrl-C and is ended without a message.
    let machine = FakeMachine::new(move |e| {
        if e.seed == 2 {
            seen.store(true, Ordering::SeqCst);
            return Ok(GuestOutcome {
                failure: Some(GuestFailure::Stopped),
                ..GuestOutcome::default()
            });
        }
        Ok(fake::outcome(e))
    });
    let options = ScheduleOptions { jobs: 1, ..OPTIONS };
    let end = run(&machine, &store, &some(9), options, &stop, &mut |_| {});
    assert!(matches!(end, Err(ScheduleError::Stopped)));
    assert!(machine.stopped.load(Ordering::SeqCst));
    assert_eq!(machine.asked().len(), 3);
    // No failure was noted, completed results are stored, and the rest follows.
    let second = FakeMachine::default();
    let tally = go(&second, &store, &some(9), OPTIONS).unwrap();
    assert_eq!(tally.failed, 0);
    assert_eq!(tally.kept + tally.made, 9);
    assert_eq!(tally.kept, 2);
    assert!(second.asked().iter().any(|name| name.contains("seed-2")));
}

#[test]
fn where_no_guest_can_be_had_it_ends_and_gives_the_reason() {
    let (_dir, store) = store();
    let machine = FakeMachine::new(|_| Err(guest::Error::Mirror("nowhere".to_owned())));
    let end = go(&machine, &store, &some(50), OPTIONS).unwrap_err();
    assert!(end.to_string().contains("`nowhere`"), "{end}");
    // The guests are ended, and the error is reported: `stop` would end the process with another
    // message.
    assert!(machine.given_up.load(Ordering::SeqCst));
    assert!(!machine.stopped.load(Ordering::SeqCst));
    assert!(
        machine.asked().len() <= OPTIONS.jobs,
        "no more than one each"
    );
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_is_there() {
    let (dir, store) = store();
    let all = some(9);
    go(&FakeMachine::default(), &store, &all[..2], OPTIONS).unwrap();
    for e in &all[2..] {
        let partial = dir.path().join(format!("{}.parquet.partial", e.name()));
        std::os::unix::fs::symlink("/dev/full", partial).unwrap();
    }
    let end = go(&FakeMachine::default(), &store, &all, OPTIONS).unwrap_err();
    assert!(end.to_string().contains("no room left"), "{end}");
    drop(store);
    let store = ResultStore::open(dir.path()).unwrap();
    let tally = go(&FakeMachine::default(), &store, &all, OPTIONS).unwrap();
    assert_eq!(
        tally,
        ScheduleTally {
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
            &FakeMachine::default(),
            &store,
            &some(5),
            ScheduleOptions { jobs, ..OPTIONS },
        )
        .unwrap();
        let read = |e: &Experiment| std::fs::read(store.path(e)).unwrap();
        some(5).iter().map(read).collect::<Vec<_>>()
    };
    assert_eq!(bytes(1), bytes(4));
}
