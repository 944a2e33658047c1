//! `cangate demo`.

use crate::gateway::frames;
use crate::{cangate, root, stdout, text};
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
#[ignore = "heavy: draws"]
fn it_leaves_a_page_the_results_and_the_outgoing_traffic() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), &["--seconds", "0.5"]);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("<svg"), "no chart is drawn");
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(outside), "the page needs the net: {outside}");
    }
    let results = std::fs::read(folder.path().join("results.parquet")).unwrap();
    assert!(results.starts_with(b"PAR1") && results.ends_with(b"PAR1"));
    let log = std::fs::read_to_string(folder.path().join("outgoing.log")).unwrap();
    assert!(frames(&log).len() > 10, "{log}");
}

#[test]
#[ignore = "heavy: draws"]
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
