//! Experiments whose tester and load are on machines of their own: the same bytes again, and every
//! frame in the results.

use super::experiments::measured;
use super::waiting_lab;
use probe::{FrameRecord, RunResults, Status};

/// Runs the experiment twice, and returns its results.
fn twice(words: &str) -> RunResults {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first.parquet");
    let words: Vec<&str> = ["--apart"].into_iter().chain(words.split(' ')).collect();
    let bytes = measured(&words, &first);
    let again = measured(&words, &folder.path().join("again.parquet"));
    assert!(bytes == again, "{words:?}: the two files differ");
    probe::results::read(&first).unwrap()
}

/// Returns the latencies of the frames that came out, ns.
fn latencies(results: &RunResults) -> Vec<i64> {
    let records = results.records.iter();
    records.filter_map(FrameRecord::latency).collect()
}

#[test]
#[ignore = "boots a guest"]
fn a_gateway_between_two_machines_repeats_and_its_times_are_those_of_the_buses() {
    let Some(_guest) = waiting_lab() else { return };
    let results = twice("--gateway bpf --traffic flood --payload 8 --frames 200");
    let records = &results.records;
    assert_eq!(records.len(), 200);
    assert!(records.iter().all(|it| it.status == Status::Delivered));
    // The incoming bus is full: each frame follows the one before after the intermission, 3 bits of
    // 1 µs (ISO 11898-1).
    let ends: Vec<u64> = records.iter().map(|it| it.incoming.unwrap().end).collect();
    for (pair, record) in ends.windows(2).zip(&records[1..]) {
        // The gateway changes nothing, so that the frame has the same length on both buses.
        let gap = pair[1] - pair[0];
        assert_eq!(gap, record.outgoing.unwrap().duration + 3_000, "{pair:?}");
    }
    let least = latencies(&results).into_iter().min().unwrap();
    assert!((1_000..100_000).contains(&least), "{least}");
}

mod long {
    use super::*;

    /// The other end of the load takes none of the gateway's processor. The load does take it: the
    /// slowest frame waits for received packets.
    #[test]
    #[ignore = "boots a guest"]
    fn a_load_from_another_machine_repeats() {
        let Some(_guest) = waiting_lab() else { return };
        let words = "--gateway user:read-write --frames 100 --load";
        let none = latencies(&twice(&format!("{words} none")));
        let ethernet = latencies(&twice(&format!("{words} eth-rx")));
        let most = |all: &[i64]| all.iter().copied().max().unwrap();
        assert_eq!(none.len(), 100);
        assert!(most(&ethernet) > 2 * most(&none), "{none:?} {ethernet:?}");
    }

    #[test]
    #[ignore = "boots a guest"]
    fn round_trips_beside_another_machines_load_repeat() {
        let Some(_guest) = waiting_lab() else { return };
        let trips = "--bench timed --task round-trip --gateway chardev --payload 8 --frames 100";
        for load in ["eth-rx", "eth-tx"] {
            let results = twice(&format!("{trips} --load {load}"));
            assert_eq!(latencies(&results).len(), 100, "{load}");
        }
    }
}
