//! Inner machines: the ways that no claim measures, and incidents of machines while they send.

use crate::lab;
use assert_cmd::Command;
use experiment::incident::{IncidentAftermath, RETURNED};
use std::path::Path;

/// Makes round trips by this way (with further options after it), and writes them to `out`; returns
/// the output, and the bytes of the file.
fn measured(out: &Path, gateway: &str) -> (serde_json::Value, Vec<u8>) {
    made(out, "round-trip", gateway)
}

/// The same with another task.
fn made(out: &Path, task: &str, gateway: &str) -> (serde_json::Value, Vec<u8>) {
    let mut command = Command::new(crate::program());
    command.args(["lab", "measure", "--json", "--no-floor", "--out"]);
    command.arg(out);
    command.args(["--bench", "vm", "--task", task, "--frames", "50"]);
    let words = gateway.split(' ');
    let output = command.arg("--gateway").args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    (json, std::fs::read(out).unwrap())
}

/// With our own monitor, a machine gets its device's interrupts without an exit to read their
/// cause, and two guests do the same.
#[test]
#[ignore = "boots a guest"]
fn a_machine_of_our_own_monitor_reads_no_interrupts_status() {
    let Some(_guest) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("own.parquet");
    let (_, bytes) = measured(&first, "vm:own");
    assert_eq!(measured(&folder.path().join("again"), "vm:own").1, bytes);
    let results = probe::results::read(&first).unwrap();
    assert_eq!(results.records.len(), 50);
    let exits: Vec<_> = experiment::nested::exits(&results).collect();
    let count = |name: &str| exits.iter().find(|(kind, _)| *kind == name).map(|c| c.1);
    // Its registers are only for setting it up; the notification for a frame is a port that KVM
    // handles itself.
    assert_eq!(count("mmio_exits"), None, "{exits:?}");
    assert_eq!(count("io_exits"), Some(1.0), "{exits:?}");
    // It waits for the frame that was sent and for the one that comes. With few round trips, KVM's
    // sum of all exits mostly shows the program's start.
    assert!(
        count("halt_exits").is_some_and(|all| all < 2.5),
        "{exits:?}"
    );
}

/// A program's own frame comes back at its end of frame: the time without the bus is less than that
/// of a round trip, and two guests do the same.
#[test]
#[ignore = "boots a guest"]
fn a_machines_own_frame_comes_back_when_it_was_on_the_bus() {
    let Some(_guest) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("own.parquet");
    let (json, bytes) = made(&first, "loop", "vm:vf");
    assert_eq!(made(&folder.path().join("again"), "loop", "vm:vf").1, bytes);
    assert_eq!(json["lost"], 0, "{json}");
    let results = probe::results::read(&first).unwrap();
    assert!(experiment::round_trip::own_frame(&results) > Some(40_000));
    let least = json["latency_ns"]["min"].as_i64().unwrap();
    assert!((5_000..100_000).contains(&least), "{json}");
}

/// Each frame of a node that sends without pause arrives in a machine that has a virtual function.
#[test]
#[ignore = "boots a guest"]
fn a_machine_receives_what_a_node_sends() {
    let Some(_guest) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("received.parquet");
    let (json, _) = made(&first, "receive", "vm:vf --traffic flood --payload 8");
    assert_eq!(
        (&json["received"], &json["lost"]),
        (&50.into(), &0.into()),
        "{json}"
    );
    let results = probe::results::read(&first).unwrap();
    let text = experiment::receiving::receiving(&results).unwrap();
    assert_eq!((text.bus, text.lost()), (50, 0), "{text:?}");
    assert!(text.load > 99.0, "{text:?}");
}

/// A machine that has a card's ports exits to the hypervisor at each of them, and two guests do the
/// same.
#[test]
#[ignore = "boots a guest"]
fn a_machine_with_a_card_leaves_at_each_register() {
    let Some(_guest) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let measured = |name: &str, gateway: &str| measured(&folder.path().join(name), gateway);
    let p50 = |json: &serde_json::Value| json["latency_ns"]["p50"].as_i64().unwrap();
    let (card, _) = measured("card.parquet", "vm:card");
    let (trap, bytes) = measured("trap.parquet", "vm:trap");
    assert_eq!(measured("again.parquet", "vm:trap").1, bytes);
    // An exit to user space takes 6 µs (docs/decisions/0022-nesting.md), and a round trip 31 of
    // them.
    assert!(p50(&trap) > p50(&card) + 31 * 6_000, "{card} {trap}");

    let results = probe::results::read(&folder.path().join("trap.parquet")).unwrap();
    assert_eq!(results.records.len(), 50);
    assert_eq!(experiment::round_trip::bus_time(&results), None);
    let mut exits = experiment::nested::exits(&results);
    let ports = exits.find(|(kind, _)| *kind == "io_exits").unwrap().1;
    // SJA1000's driver for a frame sent and a frame received (drivers/net/can/sja1000/sja1000.c).
    assert!((20.0..60.0).contains(&ports), "{ports}");
}

/// Causes an incident with two machines, of which one asks and the other sends as fast as it can,
/// and returns its effects.
fn incident(way: &str, what: &str) -> IncidentAftermath {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results.parquet");
    let options = format!("{way} --payload 8 --machines 2 --incident {what}");
    let (json, _) = measured(&out, &options);
    let results = probe::results::read(&out).unwrap();
    let all = IncidentAftermath::from_results(&results).unwrap();
    // The one that asks continues: it is answered each time.
    assert_eq!(results.records.len(), 50, "{way} {what}");
    assert_eq!(json["lost"].as_u64(), Some(0), "{way} {what}: {json}");
    // The incident happened while it sent, in the middle of the round trips.
    assert!((20..70).contains(&all.before), "{way} {what}: {all:?}");
    // It sends and receives again, and each frame has a fate.
    let after = (all.returned, all.received, all.waiting);
    assert_eq!(after, (RETURNED, 1, 0), "{way} {what}: {all:?}");
    assert_eq!(all.without_fate(), 0, "{way} {what}: {all:?}");
    all
}

/// Checks this way: no frame of a machine that is killed or reset comes later, a machine that was
/// stopped continues, and all machines are notified of bus-off.
fn survives(way: &str) {
    for what in ["kill", "reset"] {
        let all = incident(way, what);
        assert_eq!(all.later, 0, "{way} {what}: {all:?}");
    }
    let all = incident(way, "pause");
    assert!(all.later > 0, "{way}: {all:?}");
    assert_eq!(all.unheard(), 0, "{way}: {all:?}");
    let all = incident(way, "bus-off");
    assert_eq!(all.reported, 2, "{way}: {all:?}");
    assert!(all.given_up > 0, "{way}: {all:?}");
    assert_eq!(all.unheard(), 0, "{way}: {all:?}");
}

#[test]
#[ignore = "boots a guest"]
fn a_controller_that_shares_itself_survives_its_machines() {
    let Some(_guest) = lab() else { return };
    survives("vm:vf");
}
