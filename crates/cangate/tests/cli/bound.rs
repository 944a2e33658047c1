//! `cangate bound`.

use crate::{cangate, root, stderr, stdout};
use serde_json::Value;
use std::path::Path;

fn write(folder: &Path, text: &str) -> std::path::PathBuf {
    let file = folder.join("set.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// Worked out by hand: two messages whose payload is known, at 500 kbit/s. `cangate timing` prints
/// 111 bits for both, intermission included.
const TWO: &str = "[buses.a]\nbitrate = '500k'\n\
    [[messages]]\nid = '100'\nname = 'first'\nperiod = '10ms'\ndata = 'AAAAAAAAAAAAAAAA'\n\
    [[messages]]\nid = '555'\nperiod = '20ms'\ndata = 'AAAAAAAAAAAAAAAA'\n";

fn bits(frame: &str) -> u64 {
    let out = stdout(cangate().args(["timing", "--json", frame]), 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    json["bits"].as_u64().unwrap()
}

#[test]
fn bounds_and_their_parts_are_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), TWO);
    let out = stdout(cangate().args(["bound", "--json"]).arg(&file), 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    let messages = &json["buses"][0]["messages"];
    let (first, second) = (bits("100#AAAAAAAAAAAAAAAA"), bits("555#AAAAAAAAAAAAAAAA"));
    let bound = &messages[0]["bound"];
    assert_eq!(bound["blocking_ns"], second * 2_000);
    assert_eq!(bound["response_ns"], (second + first - 3) * 2_000);
    let bound = &messages[1]["bound"];
    assert_eq!(bound["blocking_ns"], 0);
    assert_eq!(bound["interference_ns"], first * 2_000);
    let table = stdout(cangate().arg("bound").arg(&file), 0);
    assert!(
        table.contains("100 first") && table.contains("load 3."),
        "{table}"
    );
}

#[test]
fn a_deadline_that_can_be_missed_has_its_own_status() {
    let folder = tempfile::tempdir().unwrap();
    let text = TWO.replace("period = '10ms'", "period = '10ms'\ndeadline = '300us'");
    let file = write(folder.path(), &text);
    let output = cangate().arg("bound").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("MISSED"), "{out}");
    let err = String::from_utf8(output.stderr).unwrap();
    let words = "error: 1 of 2 messages can miss their deadline: 100 first";
    assert!(err.contains(words), "{err}");
}

#[test]
fn the_witness_is_a_log_that_reaches_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), TWO);
    let log = folder.path().join("w.log");
    let mut command = cangate();
    command
        .arg("bound")
        .arg(&file)
        .args(["--witness", "100", "--out"]);
    let out = stdout(command.arg(&log), 0);
    assert!(out.contains("reached, less the nanosecond"), "{out}");
    let log = std::fs::read_to_string(log).unwrap();
    let lines = [
        "(0000000001.000000000) a 555#AAAAAAAAAAAAAAAA",
        "(0000000001.000000001) a 100#AAAAAAAAAAAAAAAA",
    ];
    assert_eq!(log.lines().collect::<Vec<_>>(), lines);
    // The message with the lowest priority waits for the other, and is blocked by none.
    let out = stdout(
        cangate().arg("bound").arg(&file).args(["--witness", "555"]),
        0,
    );
    assert!(out.contains(": reached."), "{out}");
}

#[test]
fn a_witness_is_named_by_its_bus_if_need_be() {
    let folder = tempfile::tempdir().unwrap();
    let two =
        "[buses.b]\nbitrate = '1M'\n[[messages]]\nbus = 'b'\nid = '100'\nperiod = '1ms'\nlen = 0\n";
    let text = TWO.replace("[[messages]]\n", "[[messages]]\nbus = 'a'\n") + two;
    let file = write(folder.path(), &text);
    let witness = |id: &str| {
        let mut command = cangate();
        command.arg("bound").arg(&file).args(["--witness", id]);
        command
    };
    let err = stderr(&mut witness("100"), 2);
    assert!(
        err.contains("several buses have this ID: write a:100"),
        "{err}"
    );
    let out = stdout(&mut witness("b:100"), 0);
    assert!(out.contains("100 on bus b"), "{out}");
    let err = stderr(&mut witness("b:101"), 2);
    assert!(err.contains("no message has this ID"), "{err}");
}

#[test]
fn mistakes_of_a_set_have_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(
        folder.path(),
        "[buses.a]\nbitrate = '500k'\n[[messages]]\nid = '1000'\n",
    );
    let err = stderr(cangate().arg("bound").arg(&file), 2);
    assert!(
        err.contains("set.toml:4:6") && err.contains("an ID has three or eight digits"),
        "{err}"
    );
    assert!(err.contains("needs `period`"), "{err}");
}

#[test]
fn the_example_is_bounded() {
    let example = root().join("examples/bound/body.toml");
    stdout(cangate().arg("bound").arg(example), 0);
}

/// A node with one mailbox that is filled late: in the table, in JSON, and in the bound; a full bus
/// has no bound.
#[test]
fn a_mailbox_takes_time_to_fill() {
    let example = root().join("examples/bound/slow-driver.toml");
    let text = std::fs::read_to_string(example).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bound = |text: &str| {
        let file = write(folder.path(), text);
        let json = stdout(cangate().args(["bound", "--json"]).arg(&file), 0);
        let json: Value = serde_json::from_str(&json).unwrap();
        let bus = json["buses"][0].clone();
        let bound = &bus["messages"][0]["bound"];
        let ns = |part: &str| bound[part].as_u64().unwrap();
        let (response, pauses) = (ns("response_ns"), ns("pauses_ns"));
        (bus["nodes"][0].clone(), response, pauses)
    };
    let (node, late, pauses) = bound(&text);
    assert_eq!(node["refill_ns"], 60_000);
    assert_eq!(node["refill_every"], 1);
    let (node, early, none) = bound(&text.replace("refill = \"60us\"\n", ""));
    assert_eq!(node["refill_ns"], Value::Null);
    // Two pauses behind the intermission of 6 µs, and a frame of 127 bits and its intermission that
    // begins in the second.
    let (pause, lower) = (54_000, 262_000);
    assert_eq!(late - early, 2 * pause + lower);
    assert_eq!((pauses, none), (late - early, 0));
    let seldom = "refill = \"60us\"\nrefill_every = 100";
    let (_, seldom, _) = bound(&text.replace("refill = \"60us\"", seldom));
    assert!(
        (early + 1..late).contains(&seldom),
        "{early} {seldom} {late}"
    );
    // A message each 320 µs leaves no time for pauses: 128 bits and the intermission take 262.
    let full = text.replace(
        "period = \"10ms\"\ndeadline = \"2ms\"",
        "period = \"640us\"",
    );
    let out = stdout(cangate().arg("bound").arg(write(folder.path(), &full)), 3);
    assert!(out.contains("No bound for 0A0 brake: with all"), "{out}");
    let err = stderr(
        cangate()
            .arg("bound")
            .arg(write(folder.path(), &text.replace("mailboxes = 1\n", ""))),
        2,
    );
    assert!(err.contains("`refill` without `mailboxes`"), "{err}");
}

/// The tables fit however long names and figures are, and show all figures.
#[test]
fn the_tables_fit_a_terminal_of_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(70);
    for (name, node, more) in [
        ("a", "b", ""),
        (
            long.as_str(),
            "the door on the left",
            "errors = '12345678ns'\n",
        ),
        ("wheel speed", long.as_str(), "random_errors = '10s'\n"),
    ] {
        let message = |id: &str, rest: &str| {
            format!(
                "[[messages]]\nid = '{id}'\nname = '{name}'\nnode = '{node}'\nperiod = '1234567891ns'\n{rest}\n"
            )
        };
        let text = format!(
            "[buses.a]\nbitrate = '333k'\n{more}[nodes.\"{node}\"]\nmailboxes = 1\n{}{}",
            message("100", "jitter = '4567891ns'\nlen = 8"),
            message("18FEF100", "len = 3")
        );
        let file = write(folder.path(), &text);
        let table = stdout(cangate().arg("bound").arg(&file), 0);
        let lines = table.lines().filter(|line| line.starts_with([' ', '─']));
        let widest = lines.map(|line| line.chars().count()).max().unwrap();
        assert!((40..=80).contains(&widest), "{table}");
        let json = stdout(cangate().args(["bound", "--json"]).arg(&file), 0);
        let json: Value = serde_json::from_str(&json).unwrap();
        for message in json["buses"][0]["messages"].as_array().unwrap() {
            let parts = message["bound"].as_object().unwrap();
            let micros = |ns: &Value| {
                let text = format!("{:.3}", ns.as_u64().unwrap() as f64 / 1e3);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            };
            let shown = [
                "response_ns",
                "jitter_ns",
                "interference_ns",
                "errors_ns",
                "frame_ns",
            ];
            for (part, ns) in parts
                .iter()
                .filter(|(part, _)| shown.contains(&part.as_str()))
            {
                assert!(
                    *ns == 0 || table.contains(&micros(ns)),
                    "{part} {ns}\n{table}"
                );
            }
        }
        if name.len() == 70 || node.len() == 70 {
            // Once for each message, and a message's name once more in the second table.
            let letters = table.lines().filter(|line| line.starts_with(' '));
            let letters = letters.flat_map(str::chars).filter(|c| *c == 'x').count();
            assert!(letters >= 140, "cut: {table}");
        }
    }
}

/// Three frames at once, and again after 5 ms: worked out by hand. Each is as long as the others
/// (`TWO`).
#[test]
fn a_list_of_distances_is_bounded_and_reached() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[buses.a]\nbitrate = '500k'\n\
        [[messages]]\nid = '100'\ndistances = ['0ms', '0ms', '5ms']\ndeadline = '1ms'\ndata = 'AAAAAAAAAAAAAAAA'\n\
        [[messages]]\nid = '555'\nperiod = '20ms'\ndata = 'AAAAAAAAAAAAAAAA'\n";
    let file = write(folder.path(), text);
    let out = stdout(cangate().args(["bound", "--json"]).arg(&file), 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    let messages = &json["buses"][0]["messages"];
    let (first, second) = (bits("100#AAAAAAAAAAAAAAAA"), bits("555#AAAAAAAAAAAAAAAA"));
    assert_eq!(
        messages[0]["distances_ns"],
        serde_json::json!([0, 0, 5_000_000])
    );
    let bound = &messages[0]["bound"];
    assert_eq!(bound["response_ns"], (second + 3 * first - 3) * 2_000);
    assert_eq!(bound["instance"], 2);
    assert_eq!(messages[1]["bound"]["interference_ns"], 3 * first * 2_000);
    assert!(messages[1].get("distances_ns").is_none());
    let mut command = cangate();
    command.arg("bound").arg(&file).args(["--witness", "100"]);
    let out = stdout(&mut command, 0);
    assert!(out.contains("reached, less the nanosecond"), "{out}");
    let out = stdout(cangate().args(["bound", "--margin"]).arg(&file), 0);
    assert!(out.contains("times as often"), "{out}");
}

/// The margin still holds, and slightly more does not.
#[test]
fn the_margin_is_the_edge() {
    let folder = tempfile::tempdir().unwrap();
    let set_at = |rate: u64, period: u64, errors: &str| {
        let text = format!(
            "[buses.a]\nbitrate = {rate}\n{errors}\n[[messages]]\nid = '100'\nperiod = '{period}ns'\n\
             deadline = '1ms'\ndata = 'AA'\n[[messages]]\nid = '200'\nperiod = '{period}ns'\n\
             deadline = '2ms'\nlen = 8\n"
        );
        write(folder.path(), &text)
    };
    let set = |period: u64, errors: &str| set_at(500_000, period, errors);
    let out = stdout(
        cangate()
            .args(["bound", "--margin"])
            .arg(set(10_000_000, "")),
        0,
    );
    let number = |after: &str, before: &str| -> f64 {
        let rest = out.split_once(after).unwrap().1;
        rest.split_once(before).unwrap().0.parse().unwrap()
    };
    let factor = number("at least ", " times");
    let distance = number("each bus every ", " µs");
    assert!(factor > 10.0 && distance > 100.0, "{out}");
    let period = |factor: f64| (10e6 / factor) as u64;
    stdout(cangate().arg("bound").arg(set(period(factor) + 10, "")), 0);
    stdout(
        cangate().arg("bound").arg(set(period(factor + 0.002), "")),
        3,
    );
    let part = number("as low as ", " %");
    assert!(part > 20.0 && part < 90.0, "{out}");
    let rate = |part: f64| (500e3 * part / 100.0).round() as u64;
    stdout(
        cangate()
            .arg("bound")
            .arg(set_at(rate(part), 10_000_000, "")),
        0,
    );
    stdout(
        cangate()
            .arg("bound")
            .arg(set_at(rate(part - 0.1), 10_000_000, "")),
        3,
    );
    let errors = |us: f64| format!("errors = '{}us'", us as u64);
    stdout(
        cangate()
            .arg("bound")
            .arg(set(10_000_000, &errors(distance))),
        0,
    );
    stdout(
        cangate()
            .arg("bound")
            .arg(set(10_000_000, &errors(distance * 0.95))),
        3,
    );
    let missed = stdout(
        cangate().args(["bound", "--margin"]).arg(set(200_000, "")),
        3,
    );
    assert!(missed.contains("Margin: none"), "{missed}");
}

/// A log that was made from a set gives the set again, as far as a log can contain it; and its
/// frames keep the bounds of the estimated set.
#[test]
fn a_set_is_estimated_from_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("drive.log");
    let mut lines: Vec<(u64, String)> = Vec::new();
    for n in 0..200_u64 {
        let late = n * 7919 % 400;
        lines.push((n * 10_000 + late, format!("can0 100#{n:016X}")));
        if n % 2 == 0 && n != 100 {
            lines.push((3_000 + n * 10_000, "can0 18FEF100#0102".to_owned()));
        }
        if n * n % 7 == 1 {
            lines.push((7_000 + n * 10_000, "can1 200##1AABBCCDD".to_owned()));
        }
    }
    lines.push((5_000, "can1 300#".to_owned()));
    lines.sort();
    let line = |(us, frame): &(u64, String)| {
        let (s, us) = (us / 1_000_000, us % 1_000_000);
        format!("({s}.{us:06}) {frame}\n")
    };
    let mut text: String = lines.iter().map(line).collect();
    text.push_str("(3.0) can0 123#R\nnonsense\n");
    std::fs::write(&log, text).unwrap();
    let mut command = cangate();
    command.args(["bound", "--bitrate", "500k/2M", "--from-log"]);
    let set = stdout(command.arg(&log), 0);
    for words in [
        "# 200 frames, periodic: jitter 4.0 % of the period of 10000 µs\nid = \"100\"",
        "period = \"10ms\"\njitter = \"397us\"",
        "# 99 frames, periodic: jitter 0.0 % of the period of 20000 µs; 1 periods without a frame",
        "id = \"18FEF100\"\nbus = \"can0\"\nperiod = \"20ms\"\nlen = 2",
        "NOT PERIODIC",
        "# The densest 2 frames span 20000 µs, from the one with the stamp 0.067000000 on.",
        "distances = [\"20ms\", \"70ms\"]\ndeadline = \"35ms\"",
        "kind = \"fd\"\nbrs = true\nlen = 4",
        "# 300 on can1: 1 frames",
        "# Left out: 1 remote, error or XL frames.\n# Left out: 1 lines that are not frames.",
    ] {
        assert!(set.contains(words), "{words}\n{set}");
    }
    let file = write(folder.path(), &set);
    let table = stdout(cangate().arg("bound").arg(file), 0);
    assert!(
        table.contains("18FEF100") && table.contains("Bus can1: 500k/2M"),
        "{table}"
    );
}

/// Three messages of one node; at 500 kbit/s each of them takes 222 µs with its intermission.
const OFFSETS: &str = "[buses.a]\nbitrate = '500k'\njoins = '0ns'\n\
    [[messages]]\nid = '100'\nnode = 'n'\nperiod = '10ms'\noffset = '0ms'\ndeadline = '1ms'\ndata = 'AAAAAAAAAAAAAAAA'\n\
    [[messages]]\nid = '200'\nnode = 'n'\nperiod = '10ms'\noffset = '3ms'\ndeadline = '1ms'\ndata = 'AAAAAAAAAAAAAAAA'\n\
    [[messages]]\nid = '300'\nnode = 'n'\nperiod = '20ms'\noffset = '6ms'\ndeadline = '600us'\ndata = 'AAAAAAAAAAAAAAAA'\n";

#[test]
fn offsets_are_counted_on_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let json = |text: &str| -> Value {
        let file = write(folder.path(), text);
        let out = cangate()
            .args(["bound", "--json"])
            .arg(file)
            .output()
            .unwrap();
        serde_json::from_slice(&out.stdout).unwrap()
    };
    // Sentences are broken into lines of a terminal.
    let table = |text: &str| {
        let out = cangate()
            .arg("bound")
            .arg(write(folder.path(), text))
            .output();
        let out = String::from_utf8(out.unwrap().stdout).unwrap();
        out.lines().collect::<Vec<_>>().join(" ")
    };
    let found = json(OFFSETS);
    let bus = &found["buses"][0];
    let offsets = serde_json::json!({"given": 3, "in_all_phases": 3, "own_frames": true});
    assert_eq!(bus["nodes"][0]["offsets"], offsets);
    assert_eq!(bus["messages"][2]["offset_ns"], 6_000_000);
    // No other frame of its node waits when the last one is released.
    let bound = &bus["messages"][2]["bound"];
    assert_eq!(bound["interference_ns"], 0);
    assert_eq!(bound["latency_ns"], bound["frame_ns"]);
    let out = table(OFFSETS);
    assert!(
        out.contains("Node n: offsets of 3 messages, in all phases "),
        "{out}"
    );
    let plain: String = OFFSETS
        .lines()
        .filter(|line| !line.starts_with("offset"))
        .map(|line| format!("{line}\n"))
        .collect();
    let found = json(&plain);
    let bus = &found["buses"][0];
    assert_eq!(bus["nodes"][0]["offsets"], Value::Null);
    assert!(bus["messages"][2]["bound"]["interference_ns"].as_u64() > Some(400_000));
    assert!(!table(&plain).contains("offsets"));
    // Offsets that the analysis could not use are reported.
    let strange = OFFSETS.replacen("period = '10ms'", "period = '9999us'", 1);
    let out = table(&strange);
    assert!(
        out.contains(
            "offsets of 2 of 3 messages, in all phases; the others are assumed to have any phase"
        ) && out.contains("more than 2000"),
        "{out}"
    );
    let queue = OFFSETS.replacen("offset = '0ms'\n", "", 1) + "[nodes.n]\nmailboxes = 1\n";
    let out = table(&queue);
    assert!(
        out.contains("offsets of 2 messages, in all phases; not for its own frames: in a queue"),
        "{out}"
    );
}

#[test]
fn the_margin_and_the_witness_keep_to_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), OFFSETS);
    let out = stdout(cangate().args(["bound", "--margin"]).arg(&file), 0);
    let factor = out.split("at least ").nth(1).unwrap();
    let factor: f64 = factor.split(' ').next().unwrap().parse().unwrap();
    // With any phase the last one misses its deadline.
    assert!(factor > 2.0, "{out}");
    let log = folder.path().join("w.log");
    for (id, releases) in [("100", 2), ("300", 1)] {
        let mut command = cangate();
        command
            .arg("bound")
            .arg(&file)
            .args(["--witness", id, "--plays", "50"]);
        stdout(command.arg("--out").arg(&log), 0);
        let lines = std::fs::read_to_string(&log).unwrap();
        assert!(lines.lines().count() <= releases, "{lines}");
    }
    let plain = std::fs::read_to_string(&file).unwrap();
    let plain: String = plain
        .lines()
        .filter(|line| !line.starts_with("offset"))
        .map(|line| format!("{line}\n"))
        .collect();
    let file = write(folder.path(), &plain);
    let err = stderr(cangate().args(["bound", "--margin"]).arg(&file), 3);
    assert!(err.contains("1 of 3 messages can miss"), "{err}");
}

#[test]
fn an_offset_out_of_its_period_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), &OFFSETS.replace("'3ms'", "'10ms'"));
    let err = stderr(cangate().arg("bound").arg(&file), 2);
    assert!(
        err.contains("set.toml:15:10")
            && err.contains("an offset that is not below the period")
            && err.contains("the others follow by the period"),
        "{err}"
    );
}
