//! Folders that are complete, damaged and full.

use super::*;
use crate::fake;

fn made(e: &Experiment) -> RunResults {
    crate::trial::make(&fake::FakeMachine::default(), e).unwrap()
}

#[test]
fn what_is_kept_is_found_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    let e = Experiment::default();
    let versions = fake::versions();
    assert!(matches!(store.find(&e, &versions), StoredResult::Absent));
    let path = store.keep(&e, &made(&e)).unwrap();
    assert!(matches!(
        store.find(&e, &versions),
        StoredResult::Results(_)
    ));
    // Another cangate, another kernel package: not the requested versions.
    let newer = [("qemu".to_owned(), "12".to_owned())];
    let StoredResult::Stale(why) = store.find(&e, &newer) else {
        panic!()
    };
    assert!(why.to_string().contains("qemu was 11"), "{why}");
    // The file has another experiment's name.
    let other = Experiment {
        seed: 9,
        ..e.clone()
    };
    fs::copy(&path, store.path(&other)).unwrap();
    assert!(matches!(
        store.find(&other, &versions),
        StoredResult::Stale(_)
    ));
}

#[test]
fn a_damaged_file_does_not_count_wherever_the_damage_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    let e = Experiment::default();
    let path = store.keep(&e, &made(&e)).unwrap();
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, &bad).unwrap();
        let found = store.find(&e, &fake::versions());
        assert!(matches!(found, StoredResult::Stale(_)), "byte {at}");
    }
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert!(matches!(
        store.find(&e, &fake::versions()),
        StoredResult::Stale(_)
    ));
}

#[test]
fn failures_are_kept_until_there_is_a_result() {
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    let e = Experiment::default();
    let failed = FailedGuest {
        why: "it hung".to_owned(),
        console: "…\nlast words".to_owned(),
    };
    store.keep_failure(&e, &fake::versions(), &failed).unwrap();
    let is_failed = || match store.find(&e, &fake::versions()) {
        StoredResult::Failed(stored) => stored == failed,
        _ => false,
    };
    assert!(is_failed());
    assert!(matches!(store.find(&e, &[]), StoredResult::Stale(_)));
    store.keep(&e, &made(&e)).unwrap();
    assert!(matches!(
        store.find(&e, &fake::versions()),
        StoredResult::Results(_)
    ));
    store.keep_failure(&e, &fake::versions(), &failed).unwrap();
    assert!(is_failed());
    fs::write(store.note_path(&e), "{").unwrap();
    assert!(matches!(
        store.find(&e, &fake::versions()),
        StoredResult::Stale(_)
    ));
}

#[test]
fn one_process_writes_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    let second = ResultStore::open(dir.path()).unwrap_err();
    assert!(matches!(second, StoreError::Busy(_)), "{second}");
    assert!(ResultStore::read_only(dir.path()).all().unwrap().is_empty());
    drop(store);
    ResultStore::open(dir.path()).unwrap();
}

#[test]
fn what_is_half_written_never_counts_and_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let e = Experiment::default();
    let half = dir.path().join(format!("{}.parquet.partial", e.name()));
    fs::write(&half, "half").unwrap();
    assert!(ResultStore::read_only(dir.path()).all().unwrap().is_empty());
    let store = ResultStore::open(dir.path()).unwrap();
    assert!(!half.exists());
    assert!(matches!(
        store.find(&e, &fake::versions()),
        StoredResult::Absent
    ));
}

#[test]
fn a_full_disk_is_reported() {
    // A device that is always full.
    let full = at("write", Path::new("x"))(fs::write("/dev/full", "x").unwrap_err());
    assert!(matches!(full, StoreError::Full(_)), "{full}");
    assert!(full.to_string().contains("make room"));
    let dir = tempfile::tempdir().unwrap();
    let store = ResultStore::open(dir.path()).unwrap();
    let e = Experiment::default();
    // The path of the incomplete file leads to the full device.
    let partial = dir.path().join(format!("{}.parquet.partial", e.name()));
    std::os::unix::fs::symlink("/dev/full", &partial).unwrap();
    let error = store.keep(&e, &made(&e)).unwrap_err();
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(matches!(
        store.find(&e, &fake::versions()),
        StoredResult::Absent
    ));
    assert!(!partial.exists());
}
