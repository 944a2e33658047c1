//! The order of a port's transmit queue, the age of its frames, and what happens when it is full.

use crate::gateway::row;
use crate::{cangate, stderr, stdout};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Writes the file of a gateway from `fast` to `slow`, whose port has these keys.
fn gateway(folder: &Path, bitrate: &str, keys: &str) {
    let config = format!(
        "[gateway]\ncontrol = \"c.sock\"\nrealtime = false\nlock_memory = false\n\
         [ports.fast]\nkind = \"bus\"\n\
         [ports.slow]\nkind = \"bus\"\nbitrate = \"{bitrate}\"\nmailboxes = 1\n{keys}\n\
         [[routes]]\nname = \"all\"\nfrom = \"fast\"\nto = \"slow\"\n"
    );
    std::fs::write(folder.join("gateway.toml"), config).unwrap();
}

/// Returns times in µs and frames on the bus `slow`, and the counters.
fn demo(bitrate: &str, keys: &str, log: &str) -> (Vec<(u64, String)>, Value) {
    let folder = tempfile::tempdir().unwrap();
    gateway(folder.path(), bitrate, keys);
    std::fs::write(folder.path().join("in.log"), log).unwrap();
    let mut command = cangate();
    command.current_dir(folder.path()).args([
        "demo",
        "--json",
        "--config=gateway.toml",
        "--log=in.log",
        "--out=out",
    ]);
    let summary: Value = serde_json::from_str(&stdout(&mut command, 0)).unwrap();
    assert_eq!(summary["accounted"], true, "{summary}");
    let log = std::fs::read_to_string(folder.path().join("out/outgoing.log")).unwrap();
    let frame = |line: &str| {
        let mut words = line.split(' ');
        let time = words.next().unwrap().trim_matches(['(', ')']);
        let micros = time.replace('.', "").parse().unwrap();
        (micros, words.next_back().unwrap().to_owned())
    };
    (log.lines().map(frame).collect(), summary["gateway"].clone())
}

fn tx(counters: &Value) -> [u64; 5] {
    let tx = &row(&counters["ports"], "slow")["tx"];
    ["taken", "sent", "expired", "displaced", "held"].map(|key| tx[key].as_u64().unwrap())
}

/// Returns a log with eight frames of low priority at once, and an urgent one that comes while they
/// wait.
fn inversion() -> String {
    let mut log = String::new();
    for i in 0..8 {
        writeln!(log, "(1.00000{i}) fast {:03X}#0011223344556677", 0x600 + i).unwrap();
    }
    log + "(1.002500) fast 100#AA\n"
}

#[test]
fn priority_order_cures_the_inversion_that_fifo_makes() {
    let ids = |keys: &str| -> Vec<String> {
        let (frames, counters) = demo("125k", keys, &inversion());
        assert_eq!(tx(&counters), [9, 9, 0, 0, 0]);
        frames
            .iter()
            .map(|(_, frame)| frame[..3].to_owned())
            .collect()
    };
    let fifo = ids("");
    assert_eq!(fifo.last().unwrap(), "100", "behind all of lower priority");
    let priority = ids("order = \"priority\"");
    // Two have left when it comes, and one is being sent.
    assert_eq!(priority[..5], ["600", "601", "602", "100", "603"]);
}

#[test]
fn the_queue_keeps_what_the_file_states() {
    let log = inversion();
    // One is being sent when the queue of two is full.
    let (frames, counters) = demo("125k", "queue = 2\nwhen_full = \"drop-oldest\"", &log);
    let [taken, sent, expired, displaced, held] = tx(&counters);
    assert_eq!((taken, expired, held), (9, 0, 0));
    assert!(displaced > 0 && sent + displaced == 9, "{counters}");
    assert_eq!(frames.last().unwrap().1, "100#AA", "the newest is there");
    let (_, counters) = demo("125k", "queue = 2", &log);
    assert_eq!(
        row(&counters["ports"], "slow")["copies"]["refused"],
        displaced,
        "without the rule as many are refused, the newest"
    );
    let (frames, counters) = demo("125k", "queue = 2\nwhen_full = \"wait\"", &log);
    assert_eq!(tx(&counters), [9, 9, 0, 0, 0], "they wait on the way in");
    assert_eq!(frames.len(), 9);
}

/// A bus is busy with higher-priority frames for 200 ms. Then 40 old commands leave at once, or
/// only those that are not stale.
#[test]
fn a_bus_that_comes_back_gets_no_burst_of_old_frames() {
    let mut lines: Vec<(u32, String)> = (0..40)
        .map(|i| (i * 5_000, format!("fast 300#{i:02X}")))
        .collect();
    lines.extend((0..740).map(|i| (i * 200, "slow 001#0000000000000000".to_owned())));
    lines.sort();
    let mut log = String::new();
    for (micros, frame) in lines {
        writeln!(log, "(1.{micros:06}) {frame}").unwrap();
    }
    let burst = |keys: &str| {
        let (frames, counters) = demo("500k", &format!("queue = 64\n{keys}"), &log);
        let ours = frames.iter().filter(|(_, frame)| frame.starts_with("300"));
        // The time from sending to arrival of each frame, µs.
        let age = |(at, frame): &(u64, String)| {
            let number = u64::from_str_radix(&frame[4..], 16).unwrap();
            at.saturating_sub(number * 5_000)
        };
        (ours.map(age).collect::<Vec<_>>(), tx(&counters))
    };
    let (all, counters) = burst("");
    assert_eq!((all.len(), counters), (40, [40, 40, 0, 0, 0]));
    let old = all.iter().filter(|age| **age > 22_000).count();
    assert!(old > 20, "the burst: {all:?}");
    let (fresh, [taken, sent, expired, displaced, held]) = burst("max_age = \"20ms\"");
    assert_eq!((taken, displaced, held), (40, 0, 0));
    assert_eq!(sent + expired, 40);
    assert!(expired >= 30 && fresh.len() > 1, "{fresh:?}");
    // The controller had the first one already. The others left the queue in time, and then took
    // their time on two buses.
    assert!(fresh[1..].iter().all(|age| *age < 22_000), "{fresh:?}");
}

/// In real time: a log waits for space in such a queue, too, and nothing is lost.
#[test]
fn a_replay_through_such_a_queue_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log: String = (0..200)
        .map(|i| format!("(1.0) can0 {:03X}#{i:02X}\n", 1 + i))
        .collect();
    std::fs::write(folder.path().join("in.log"), log).unwrap();
    let config = "[gateway]\ncontrol = \"c.sock\"\nrealtime = false\nlock_memory = false\n\
                  [ports.in]\nkind = \"log\"\nread = \"in.log\"\npace = \"fast\"\n\
                  [ports.slow]\nkind = \"bus\"\nbitrate = \"1M\"\nqueue = 8\norder = \"priority\"\n\
                  [[routes]]\nfrom = \"in\"\nto = \"slow\"\n";
    std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
    let mut command = cangate();
    command.env("XDG_RUNTIME_DIR", folder.path());
    command
        .current_dir(folder.path())
        .args(["run", "--until-end", "--json", "gateway.toml"]);
    let summary: Value = serde_json::from_str(&stdout(&mut command, 0)).unwrap();
    assert_eq!(tx(&summary["counters"]), [200, 200, 0, 0, 0]);
}

#[test]
fn check_describes_the_queues_and_refuses_impossible_ones() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "order = \"priority\"\nmax_age = \"50ms\"\nwhen_full = \"drop-oldest\"";
    gateway(folder.path(), "500k", keys);
    let mut command = cangate();
    command
        .current_dir(folder.path())
        .args(["check", "gateway.toml"]);
    let out = stdout(&mut command, 0);
    let words = "frames leave the highest priority first; one that has waited 50ms is dropped; a full \
                 queue drops the oldest of the lowest priority";
    assert!(out.contains(words), "{out}");
    let log = "[ports.p]\nkind = \"log\"\nwrite = \"x.log\"\norder = \"priority\"\n";
    std::fs::write(folder.path().join("gateway.toml"), log).unwrap();
    let err = stderr(&mut command, 2);
    assert!(
        err.contains("ports of kind \"log\" have no `order`"),
        "{err}"
    );
    assert!(err.contains("gateway.toml:4:9"), "{err}");
    let direct = log.replace(
        "\"log\"\nwrite = \"x.log\"",
        "\"direct\"\ndevice = \"can7\"\nbitrate = \"500k\"",
    );
    std::fs::write(folder.path().join("gateway.toml"), direct).unwrap();
    let err = stderr(&mut command, 2);
    assert!(
        err.contains("ports of kind \"direct\" have no `order`"),
        "{err}"
    );
}
