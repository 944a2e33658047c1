//! `cangate demo`.

use crate::gateway::frames;
use crate::{cangate, root, stderr, stdout, text};
use serde_json::Value;
use std::path::Path;

fn demo(out: &Path, options: &[&str]) -> Value {
    let mut command = cangate();
    command
        .args(["demo", "--json", "--out"])
        .arg(out)
        .args(options);
    let out = stdout(&mut command, 0);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn it_leaves_a_page_the_results_and_the_outgoing_traffic() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), &["--seconds", "0.5"]);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(
        page.contains("\ncangateRun({") && page.contains("\"histogram\":{\"width\":"),
        "there is nothing to draw"
    );
    for outside in ["src=", "href=\"http", "@import", "url("] {
        assert!(
            !page.contains(outside),
            "the page needs another file: {outside}"
        );
    }
    let results = std::fs::read(folder.path().join("results.parquet")).unwrap();
    assert!(results.starts_with(b"PAR1") && results.ends_with(b"PAR1"));
    let log = std::fs::read_to_string(folder.path().join("outgoing.log")).unwrap();
    assert!(frames(&log).len() > 10, "{log}");
}

/// Frames that a queue gives up have a name of their own everywhere: they neither wait nor go out.
#[test]
fn what_a_queue_gives_up_is_named() {
    let slow = |keys: &str| {
        format!(
            "[ports.a]\nkind = 'bus'\nbitrate = '1M'\n\
             [ports.b]\nkind = 'bus'\nbitrate = '125k'\n{keys}\n\
             [[routes]]\nfrom = 'a'\nto = 'b'\n"
        )
    };
    let cases = [
        (
            "queue = 1\nwhen_full = 'drop-oldest'",
            "displaced",
            "2 were displaced from a full queue",
        ),
        (
            "queue = 9\nmax_age = '300us'",
            "expired",
            "2 expired in the queue",
        ),
    ];
    for (keys, fate, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("g.toml"), slow(keys)).unwrap();
        let lines = (1..5).map(|n| format!("(1.00000{}) a 10{n}#00\n", n - 1));
        std::fs::write(at("d.log"), lines.collect::<String>()).unwrap();
        let (gateway, log) = (at("g.toml"), at("d.log"));
        let options = [
            "--log",
            log.to_str().unwrap(),
            "--config",
            gateway.to_str().unwrap(),
        ];
        let summary = demo(&at("out"), &options);
        let sentence = summary["sentence"].as_str().unwrap();
        assert!(sentence.contains(words), "{sentence}");
        assert!(!sentence.contains("still waited"), "{sentence}");
        let route = &summary["routes"][0];
        assert_eq!(route[fate], 2, "{route}");
        let names = [
            "out",
            "dropped_by_rule",
            "dropped_by_rate",
            "refused",
            "displaced",
            "expired",
            "waiting",
            "other",
        ];
        let sum: u64 = names.iter().map(|name| route[name].as_u64().unwrap()).sum();
        assert_eq!(route["in"], sum, "{route}");
        let table = stdout(cangate().arg("demo").args(options), 0);
        assert!(table.contains(fate), "{table}");
        let page = std::fs::read_to_string(at("out").join("report.html")).unwrap();
        let on_page = ["displaced from a full queue", "expired in the queue"];
        assert!(
            on_page
                .iter()
                .any(|name| page.contains(name) && name.starts_with(fate))
        );
    }
}

/// The payloads in the results are those that went over the outgoing bus.
#[test]
fn the_results_have_the_payloads_of_the_outgoing_traffic() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), &["--seconds", "0.5"]);
    let log = std::fs::read_to_string(folder.path().join("outgoing.log")).unwrap();
    let results = probe::results::read(&folder.path().join("results.parquet")).unwrap();
    let mut out = Vec::new();
    for (place, record) in results.records.iter().enumerate() {
        assert!(results.payloads.incoming(place).is_some(), "{record:?}");
        let payload = results.payloads.outgoing(place);
        assert_eq!(payload.is_some(), record.outgoing.is_some());
        let (Some(payload), Some(outgoing)) = (payload, record.outgoing) else {
            continue;
        };
        let data: String = payload.iter().map(|byte| format!("{byte:02X}")).collect();
        out.push(format!("{:03X}#{data}", outgoing.id.number()));
    }
    let mut logged: Vec<&str> = frames(&log);
    logged.sort_unstable();
    out.sort_unstable();
    assert_eq!(out, logged);
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_gives_another() {
    let log = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        demo(folder.path(), &["--seconds", "0.5", "--seed", seed]);
        std::fs::read_to_string(folder.path().join("outgoing.log")).unwrap()
    };
    let first = log("1");
    assert_eq!(first, log("1"));
    assert_ne!(first, log("2"));
}

#[test]
fn people_see_a_table() {
    let out = stdout(cangate().args(["demo", "--seconds", "0.2"]), 0);
    for word in ["p50", "p99", "load"] {
        assert!(out.contains(word), "{word}: {out}");
    }
}

#[test]
fn what_a_bus_has_no_room_for_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("dense.log");
    let read = |lines: usize| {
        std::fs::write(&log, "(1.000000) can0 123#0011\n".repeat(lines)).unwrap();
        stdout(cangate().args(["demo", "--log"]).arg(&log), 0)
    };
    // One node sends all of them, since they have one ID; only a limited number can wait in it.
    let out = read(3000);
    let message = out
        .lines()
        .find(|l| l.contains(" of 3000 frames never came to a bus"));
    let lost: u64 = message.unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((1..3000).contains(&lost), "{out}");
    assert!(
        out.contains(&format!("{} frames received", 3000 - lost)),
        "{out}"
    );
    let out = read(30);
    assert!(!out.contains("never came"), "{out}");
}

#[test]
fn the_cars_log_is_accounted_for_frame_by_frame() {
    let log = root().join("../shared/data/icsim-sample-can.log");
    if !log.exists() {
        eprintln!("SKIPPED because {} is not here", log.display());
        return;
    }
    let json = stdout(cangate().args(["demo", "--json", "--log"]).arg(&log), 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["accounted"], true, "{}", json["imbalances"]);
    let account = &json["log"];
    assert_eq!(account["frames"], 6158, "{account}");
    assert_eq!(account["bad_lines"], 0, "{account}");
    let left_out: u64 = account["not_replayed"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    let frames = &json["frames"];
    let count = |name: &str| frames[name].as_u64().unwrap();
    assert_eq!(count("released") + left_out, 6158, "{json}");
    assert_eq!(
        count("on_the_bus") + count("not_sent"),
        count("released"),
        "{frames}"
    );
    assert_eq!(count("received"), count("on_the_bus"), "{frames}");
}

#[test]
fn a_log_of_garbage_is_replayed_without_it_and_refused_where_strict() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("garbage.log");
    let text_of_log = "(1.000000) can0 123#11\nnonsense\n(1.001000) can0 124#22\n";
    std::fs::write(&log, text_of_log).unwrap();
    let output = cangate()
        .args(["demo", "--json", "--log"])
        .arg(&log)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["log"]["bad_lines"], 1, "{json}");
    assert!(json["log"]["first_bad"].to_string().contains('2'), "{json}");
    let output = cangate()
        .args(["demo", "--strict", "--log"])
        .arg(&log)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let err = text(&output.stderr);
    assert!(err.contains("garbage.log") && err.contains('2'), "{err}");
}

/// Returns the JSON output of a replay of these lines; the gateway file is the one for logs, or
/// `config`.
fn replayed(lines: &str, config: Option<&str>) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("some.log");
    std::fs::write(&log, lines).unwrap();
    let mut command = cangate();
    command.args(["demo", "--json", "--log"]).arg(&log);
    if let Some(config) = config {
        let file = folder.path().join("gateway.toml");
        std::fs::write(&file, config).unwrap();
        command.arg("--config").arg(&file);
    }
    serde_json::from_str(&stdout(&mut command, 0)).unwrap()
}

#[test]
fn a_pause_of_centuries_in_a_log_is_over_at_once() {
    let lines = "(0.0) can0 123#11\n(9999999999.0) can0 123#22\n";
    let json = replayed(lines, None);
    assert_eq!(json["accounted"], true);
    assert_eq!(json["frames"]["forwarded"], 2, "{json}");
    assert!(json["duration_ns"].as_u64().unwrap() >= 9_999_999_999_000_000_000);
}

#[test]
fn frames_that_no_bus_can_carry_are_counted_by_reason() {
    let lines = "(1.0) can0 123#11\n(1.1) can0 123##1AA\n(1.2) can0 20000080#0000000000000000\n\
                 (1.3) can1 124#22\n(1.4) can2 125#33\n(1.5) can0 123#80:00:00000000#AA\n";
    let json = replayed(lines, None);
    assert_eq!(json["accounted"], true);
    assert_eq!(json["log"]["frames"], 6, "{json}");
    assert_eq!(json["frames"]["released"], 2, "{json}");
    let left_out = json["log"]["not_replayed"].as_object().unwrap();
    assert_eq!(
        left_out.len(),
        4,
        "FD, error frame, third interface, XL: {json}"
    );
    assert_eq!(
        json["log"]["interfaces"],
        serde_json::json!(["can0", "can1"])
    );
}

#[test]
fn frames_that_the_recorder_lost_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("lossy.log");
    let lines = "(1.0) can0 123#11\n# 12 frames of can0 are missing here: the ring was full\n\
                 (1.1) can0 123#22\n";
    std::fs::write(&log, lines).unwrap();
    let json = replayed(lines, None);
    assert_eq!(json["log"]["missing"], 12, "{json}");
    assert_eq!(json["accounted"], true, "{json}");
    let out = folder.path().join("out");
    let table = stdout(
        cangate()
            .args(["demo", "--log"])
            .arg(&log)
            .arg("--out")
            .arg(&out),
        0,
    );
    let words = "12 frames are missing according to the log";
    // The table breaks lines.
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains(words), "{table}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains(words));
    let whole = replayed("(1.0) can0 123#11\n", None);
    assert_eq!(whole["log"]["missing"], 0, "{whole}");
}

/// An interface with the name of a bus is assigned to this bus, whichever comes first; another one
/// to the remaining bus.
#[test]
fn interfaces_with_the_name_of_a_bus_are_put_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ports = "[ports.f]\nkind = 'bus'\nbus = 'fast'\nbitrate = '500k'\n\
        [ports.s]\nkind = 'bus'\nbus = 'slow'\nbitrate = '250k'\n\
        [[routes]]\nfrom = 'f'\nto = 's'\n";
    std::fs::write(at("g.toml"), ports).unwrap();
    let interfaces = |log: &str| {
        std::fs::write(at("a.log"), log).unwrap();
        let mut demo = cangate();
        demo.args(["demo", "--json", "--log"]).arg(at("a.log"));
        let json = stdout(demo.arg("--config").arg(at("g.toml")), 0);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["log"]["interfaces"].clone()
    };
    let named = interfaces("(1.0) slow 100#\n(1.1) fast 200#\n");
    assert_eq!(named, serde_json::json!(["fast", "slow"]));
    let one = interfaces("(1.0) slow 100#\n(1.1) can0 200#\n");
    assert_eq!(one, serde_json::json!(["can0", "slow"]));
    let other = interfaces("(1.0) can1 100#\n(1.1) can0 200#\n");
    assert_eq!(other, serde_json::json!(["can1", "can0"]));
}

/// Two buses of different speed, and an FD frame for the classic one.
#[test]
fn latency_is_what_one_calculates_by_hand() {
    let config = "[ports.a]\nkind = \"bus\"\nbitrate = \"500k\"\ndata_bitrate = \"2M\"\n\
                  [ports.b]\nkind = \"bus\"\nbitrate = \"250k\"\n\
                  [[routes]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nkind = \"classic\"\n\
                  [[routes]]\nname = \"fd\"\nfrom = \"a\"\nto = \"b\"\nkind = \"fd\"\n";
    // Two frames back to back on a; the second waits on b, which is half as fast, for the rest of
    // the first and the intermission. 555#CC…: 112 bits with intermission, 1 of them stuffed.
    let cc = "CC".repeat(8);
    let lines =
        format!("(1.0) can0 555#{cc}\n(1.0) can0 555#{cc}\n(1.1) can0 123##10011223344556677\n");
    let json = replayed(&lines, Some(config));
    let route = &json["routes"][0];
    assert_eq!(route["in"], 2, "{json}");
    assert_eq!(route["latency_ns"]["min"], 0, "the bus was idle");
    // On a, 112 bits of 2 µs after the first end of frame comes the second: 224 µs. On b the
    // first one begins at its end on a and holds the bus for 112 bits of 4 µs: 448 µs.
    assert_eq!(route["latency_ns"]["max"], 448_000 - 224_000, "{json}");
    // A classic bus cannot carry an FD frame: it is counted as undeliverable.
    assert_eq!(json["routes"][1]["in"], 1);
    assert_eq!(json["routes"][1]["other"], 1, "{json}");
    assert_eq!(
        json["gateway"]["routes"][1]["copies"]["unsupported"], 1,
        "{json}"
    );
    assert_eq!(json["accounted"], true);
}

#[test]
fn faults_on_purpose_are_refused_by_the_ports_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faulty.toml");
    let demo = std::fs::read_to_string(root().join("examples/demo.toml")).unwrap();
    let port = demo
        .lines()
        .find_map(|line| line.strip_prefix("[ports.")?.strip_suffix(']'))
        .unwrap();
    let faults = format!("[ports.{port}.faults]\nreceive = {{ drop = 0.5 }}\n");
    std::fs::write(&file, format!("{demo}\n{faults}")).unwrap();
    let err = stderr(cangate().args(["demo", "--config"]).arg(&file), 2);
    assert!(err.contains(&format!("[ports.{port}.faults]")), "{err}");
}
