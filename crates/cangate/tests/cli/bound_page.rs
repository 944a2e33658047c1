//! `cangate bound --report`.

use crate::bound_gateway::play_witness;
use crate::{cangate, root, stderr, stdout};
use serde_json::Value;
use std::path::Path;

const BUSES: &str = "[buses.fast]\nbitrate = '500k'\n[buses.slow]\nbitrate = '250k'\n";
const MESSAGE: &str = "[[messages]]\nbus = 'fast'\nid = '100'\nname = 'speed'\nperiod = '10ms'\ndata = 'AAAAAAAAAAAAAAAA'\n";
const GATEWAY: &str = "[ports.f]\nkind = 'bus'\nbus = 'fast'\nbitrate = '500k'\n\
    [ports.s]\nkind = 'bus'\nbus = 'slow'\nbitrate = '250k'\n\
    [[routes]]\nname = 'all'\nfrom = 'f'\nto = 's'\n";

/// Returns the data that the page passes to its scripts.
fn shown(folder: &Path) -> Value {
    let page = std::fs::read_to_string(folder.join("bound.html")).unwrap();
    let (_, rest) = page.rsplit_once("\ncangateBound(").unwrap();
    let (json, _) = rest.split_once(");\n</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn set(messages: std::ops::Range<u32>) -> String {
    let each = messages.map(|n| MESSAGE.replace("'100'", &format!("'1{n}0'")));
    each.fold(BUSES.to_owned(), |all, message| all + &message)
}

#[test]
fn a_set_has_a_page_with_the_figures_of_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/page");
    let bound = || {
        let mut command = cangate();
        command
            .arg("bound")
            .arg(root().join("examples/bound/body.toml"));
        command
    };
    let output = stdout(bound().args(["--margin", "--report"]).arg(&out), 0);
    let written = format!("Written: {}", out.join("bound.html").display());
    assert!(output.ends_with(&format!("{written}\n")), "{output}");
    let page = shown(&out);
    let json = stdout(bound().args(["--json", "--report"]).arg(&out), 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    let messages = json["buses"][0]["messages"].as_array().unwrap();
    let shown_messages = page["buses"][0]["messages"].as_array().unwrap();
    assert_eq!((messages.len(), shown_messages.len()), (5, 5));
    for (message, shown) in messages.iter().zip(shown_messages) {
        for (key, other) in [
            ("id", "id"),
            ("node", "node"),
            ("deadline", "deadline_ns"),
            ("bits", "bits"),
        ] {
            assert_eq!(shown[key], message[other], "{key}");
        }
        let bound = &message["bound"];
        assert_eq!(shown["bound"], bound["response_ns"]);
        let parts = [
            "jitter_ns",
            "blocking_ns",
            "ahead_ns",
            "pauses_ns",
            "interference_ns",
            "errors_ns",
            "frame_ns",
        ];
        for (n, part) in parts.iter().enumerate() {
            assert_eq!(shown["parts"][n + 3], bound[part], "{part}");
        }
        assert_eq!(shown["since"], bound["since_ns"]);
    }
    let sentence = page["lead"]["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with(
            "All 5 messages keep their deadline at worst; the tightest is 120 wheel speed with 824"
        ),
        "{sentence}"
    );
    // The margin that the terminal showed.
    let factor = output.split_once("at least ").unwrap().1;
    let factor = factor.split_once(" times").unwrap().0;
    let margin = page["margin"][0].as_str().unwrap();
    assert!(
        margin.contains(&format!("at least {factor} times")),
        "{margin}"
    );
    let orders: Vec<&str> = page["buses"][0]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["order"].as_str().unwrap())
        .collect();
    assert_eq!(orders, ["covered", "arrival", "assumed"]);
}

/// A set whose deadlines can be missed has a page, and the exit status is the same.
#[test]
fn what_can_be_missed_is_on_the_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.toml");
    let text = set(0..2).replace("period = '10ms'", "period = '10ms'\ndeadline = '300us'");
    std::fs::write(&file, text).unwrap();
    let mut command = cangate();
    command
        .arg("bound")
        .arg(&file)
        .arg("--report")
        .arg(folder.path());
    let output = stdout(&mut command, 3);
    assert!(output.contains("Written: "), "{output}");
    let page = shown(folder.path());
    assert_eq!(page["buses"][0]["messages"][0]["can_miss"], true);
    assert_eq!(page["lead"]["tiles"][0]["bad"], true);
}

/// The bound of a route consists of the time on the bus before, the gateway, and the next bus; next
/// to it are the latencies that the demo measured, and frames that a smaller set does not allow.
#[test]
fn what_the_demo_measured_stands_beside_the_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("set.toml"), set(0..6)).unwrap();
    std::fs::write(at("less.toml"), set(5..6)).unwrap();
    std::fs::write(at("gateway.toml"), GATEWAY).unwrap();
    play_witness(folder.path());
    let check = |set: &str, status| {
        let mut command = cangate();
        command
            .arg("bound")
            .arg(at(set))
            .arg("--gateway")
            .arg(at("gateway.toml"));
        command
            .args(["--gateway-delay", "100us", "--margin", "--check"])
            .arg(at("out/results.parquet"));
        let output = stdout(command.arg("--report").arg(at("out")), status);
        (output, shown(&at("out")))
    };
    let (output, page) = check("set.toml", 0);
    assert!(
        output.contains("6 frames within their bounds") && output.contains("Margin: "),
        "{output}"
    );
    assert!(at("out/report.html").exists(), "the demo's own page stays");
    let made = page["made"].as_array().unwrap();
    let text = GATEWAY.trim_end();
    assert!(
        made.contains(&serde_json::json!(["Gateway", text])),
        "{made:?}"
    );
    let buses = page["buses"].as_array().unwrap();
    let (before, after) = (&buses[0]["messages"][0], &buses[1]["messages"][0]);
    assert_eq!(after["parts"][0], before["bound"], "the bus before");
    assert_eq!(after["parts"][1], 100_000, "the gateway");
    let results = probe::results::read(&at("out/results.parquet")).unwrap();
    let longest = results.latencies(None).max().unwrap();
    let messages = buses[1]["messages"].as_array().unwrap();
    let seen = messages.iter().map(|m| &m["seen"]);
    let frames: u64 = seen.clone().map(|s| s["frames"].as_u64().unwrap()).sum();
    assert_eq!(frames, results.records.len() as u64);
    assert_eq!(
        seen.map(|s| s["max"].as_i64().unwrap()).max(),
        Some(longest)
    );
    assert_eq!(page["measured"]["clock"], "virtual");
    assert!(before["seen"].is_null());
    // The set has only the last message, so that it may not wait for the others.
    let (_, page) = check("less.toml", 3);
    let seen = &page["buses"][1]["messages"][0]["seen"];
    assert_eq!(seen["above"], 1);
    assert!(seen["ratio"].as_f64().unwrap() > 1.0, "{seen}");
    assert_eq!(seen["named"][0]["latency"], seen["max"]);
    assert_eq!(page["measured"]["strange"], 5);
}

#[test]
fn a_page_has_no_place_that_is_a_file_and_none_beside_a_witness() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.toml");
    std::fs::write(&file, set(0..2)).unwrap();
    let bound = |options: &[&str]| {
        let mut command = cangate();
        command.arg("bound").arg(&file).args(options);
        command
    };
    let err = stderr(bound(&["--report"]).arg(&file), 1);
    assert!(err.contains("a file has this name"), "{err}");
    let err = stderr(&mut bound(&["--report", "x", "--witness", "100"]), 2);
    assert!(err.contains("cannot be used with"), "{err}");
    let mut log = cangate();
    let drive = folder.path().join("drive.log");
    let frames = "(1.0) can0 100#00\n(2.0) can0 100#00\n(3.0) can0 100#00\n";
    std::fs::write(&drive, frames).unwrap();
    log.args(["bound", "--report", "x", "--from-log"])
        .arg(&drive);
    let err = stderr(log.current_dir(folder.path()), 2);
    assert!(
        err.contains("--report with --from-log needs --gateway"),
        "{err}"
    );
}
