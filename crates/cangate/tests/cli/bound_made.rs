//! `cangate bound`: messages that a gateway makes, and the age of the values in them.

use crate::{cangate, root};
use serde_json::Value;

/// Runs `cangate bound` with the files of the example, changed; returns status, output and errors.
fn bound(changed: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "made.toml",
        "made-gateway.toml",
        "made-drive.dbc",
        "made-body.dbc",
    ];
    let texts = names.map(|name| {
        let path = root().join("examples/bound").join(name);
        std::fs::read_to_string(path).unwrap()
    });
    for (from, _) in changed {
        assert!(texts.iter().any(|text| text.contains(from)), "{from}");
    }
    for (name, text) in names.iter().zip(texts) {
        let text = changed
            .iter()
            .fold(text, |text, (from, to)| text.replace(from, to));
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args(["bound", "made.toml", "--gateway", "made-gateway.toml"]);
    command.args(["--gateway-delay", "100us"]).args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

fn json(changed: &[(&str, &str)]) -> (i32, Value) {
    let (status, out, err) = bound(changed, &["--json"]);
    (status, serde_json::from_str(&out).expect(&err))
}

fn messages<'j>(json: &'j Value, bus: &str) -> &'j Vec<Value> {
    let buses = json["buses"].as_array().unwrap();
    let bus = buses.iter().find(|b| b["name"] == bus).unwrap();
    bus["messages"].as_array().unwrap()
}

/// The made message is on the bus as one of the gateway's port, and the age of its value is the sum
/// of known times.
#[test]
fn the_age_of_a_value_is_as_by_hand() {
    let (status, all) = json(&[]);
    assert_eq!(status, 0);
    let display = &messages(&all, "body")[1];
    assert_eq!(display["name"], "Display");
    assert_eq!(
        (&display["node"], &display["period_ns"]),
        (&"to_body".into(), &50_000_000.into())
    );
    // The worker is late by its time; a frame of 68 bits with 3 of intermission blocks, 87 follow.
    let made = 100_000 + (68 + 3 + 87) * 8_000;
    assert_eq!(display["bound"]["response_ns"], made);
    let age = &all["ages"][0];
    // A jitter of 1 ms, a frame of 128 bits, and the gateway's 100 µs.
    let source = 1_000_000 + 128 * 2_000 + 100_000;
    assert_eq!(age["source_ns"], source);
    assert_eq!(age["age_ns"], 20_000_000 + source + 50_000_000 + made);
    // The same message in the set is not added again; its own figures count.
    let own = "[[messages]]\nid = \"350\"\nbus = \"body\"\nnode = \"to_body\"\nperiod = \"50ms\"\njitter = \"300us\"\n\
               len = 4\n\n[[messages]]\nid = \"360\"";
    let nodes = "[nodes.to_body]\nbus = \"body\"\nmailboxes = 3\n\n";
    let (_, all) = json(&[
        ("[[messages]]\nid = \"360\"", own),
        (
            "[[messages]]\nid = \"1A0\"",
            &format!("{nodes}[[messages]]\nid = \"1A0\""),
        ),
    ]);
    assert_eq!(messages(&all, "body").len(), 2);
    assert_eq!(
        all["ages"][0]["age_ns"],
        20_000_000 + source + 50_000_000 + made + 200_000
    );
}

#[test]
fn the_documented_figures_are_those_of_the_program() {
    let (status, out, err) = bound(&[], &[]);
    assert_eq!(status, 0, "{err}");
    let document = std::fs::read_to_string(root().join("docs/bound.md")).unwrap();
    let command = "$ cangate bound examples/bound/made.toml --gateway examples/bound/made-gateway.toml --gateway-delay \
                   100us\n";
    let (_, after) = document.split_once(command).unwrap();
    let (shown, _) = after.split_once("```").unwrap();
    assert_eq!(shown, out);
}

/// A message without a bound on its traffic, a source without a longest distance, and one of which
/// values are dropped are named.
#[test]
fn an_age_without_a_bound_is_named() {
    let (_, out, _) = bound(&[("every = \"50ms\"", "on_change = true")], &[]);
    let words = out.replace('\n', " ");
    assert!(
        words.contains("made on changes or requests at any rate: give it `min_distance`"),
        "{out}"
    );
    let changes = "on_change = true\nmin_distance = \"30ms\"";
    let (_, all) = json(&[("every = \"50ms\"", changes)]);
    assert_eq!(messages(&all, "body")[1]["period_ns"], 30_000_000);
    assert_eq!(all["ages"][0]["no_bound"], "the message has no cycle");
    let both = "every = \"50ms\"\non_change = true\nmin_distance = \"30ms\"";
    let (_, all) = json(&[("every = \"50ms\"", both)]);
    assert_eq!(messages(&all, "body")[1]["period_ns"], 30_000_000);
    assert_eq!(all["ages"][0]["cycle_ns"], 50_000_000);
    let event = (
        "jitter = \"1ms\"",
        "jitter = \"1ms\"\nlongest_period = \"none\"",
    );
    let (status, all) = json(&[event]);
    assert_eq!(status, 3);
    let why = all["ages"][0]["no_bound"].as_str().unwrap();
    assert!(why.contains("it is not periodic"), "{why}");
    let limited = (
        "id = \"1A0\"\nto = \"made\"",
        "id = \"1A0\"\nto = \"made\"\nlimit = \"100/s\"",
    );
    let (_, all) = json(&[limited]);
    let why = all["ages"][0]["no_bound"].as_str().unwrap();
    assert!(why.contains("has a rate limit"), "{why}");
}

#[test]
fn the_page_has_the_age_or_why_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().to_str().unwrap();
    let page = |changes: &[(&str, &str)]| {
        let (status, _, err) = bound(changes, &["--report", report]);
        assert_eq!(status, 0, "{err}");
        std::fs::read_to_string(folder.path().join("bound.html")).unwrap()
    };
    assert!(
        page(&[]).contains(
            "A value of 1A0 EngineData in 350 Display on bus body is at most 72720 µs old."
        )
    );
    let changes = "on_change = true\nmin_distance = \"30ms\"";
    let page = page(&[("every = \"50ms\"", changes)]);
    assert!(page.contains("No age of 1A0 EngineData in 350 Display: the message has no cycle."));
}
