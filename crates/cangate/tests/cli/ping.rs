//! `cangate ping`, over a bus in the process.

use crate::place::Place;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const BUS: &str = "\
[ports.a]
kind = 'bus'
bus = 'b0'
bitrate = '1M'
[ports.b]
kind = 'bus'
bus = 'b0'
bitrate = '1M'
[ports.file]
kind = 'log'
write = 'out.log'
[[routes]]
from = 'a'
to = 'file'
";

fn ping(place: &Place, words: &[&str]) -> Output {
    command(place, words).output().unwrap()
}

fn command(place: &Place, words: &[&str]) -> Command {
    let mut all = vec!["ping", "--config", "gateway.toml"];
    all.extend(words);
    let mut command = place.command(&all);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{error}: {text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

#[test]
fn own_frames_are_of_one_interface_whose_echo_can_be_seen() {
    let place = Place::new(BUS);
    let cases: [(&[&str], &str); 3] = [
        (&["can0", "can1"], "give one interface"),
        (&["/dev/can0"], "has no echo of what it sends"),
        (&["can0", "--receive", "ring"], "a ring does not see"),
    ];
    for (words, why) in cases {
        let all = [&["ping", "--own"][..], words].concat();
        let output = place.command(&all).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn every_frame_is_answered_and_takes_its_time_on_the_bus() {
    let place = Place::new(BUS);
    let words = [
        "a",
        "b",
        "--count",
        "50",
        "--bitrate",
        "1M",
        "--histogram",
        "50",
    ];
    let output = ping(&place, &[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = json(&output);
    let master = &result["masters"][0];
    assert_eq!(
        (&master["sent"], &master["answered"]),
        (&50.into(), &50.into())
    );
    assert_eq!(result["slaves"][0]["answered"], 50);
    let bus = result["bus_time_ns"].as_u64().unwrap();
    assert!((219_000..=267_000).contains(&bus), "{bus}");
    assert!(master["min_ns"].as_u64().unwrap() >= bus, "{result}");
    let bins = master["histogram_ns"].as_array().unwrap();
    let all: u64 = bins.iter().map(|bin| bin[1].as_u64().unwrap()).sum();
    assert_eq!(all, 50);

    let text = String::from_utf8(ping(&place, &words).stdout).unwrap();
    for part in [
        "round trips over a and b: 8 bytes, every 1000 µs",
        "C:     50 Min:",
        "µs of bus",
        "a 7E0 > 7E1: 50 sent, 50 answered, 0 not answered in time",
        "b answers 7E0 by 7E1: 50 answered",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn every_round_trip_is_in_the_file() {
    let place = Place::new(BUS);
    let output = ping(
        &place,
        &[
            "a",
            "b",
            "--count",
            "20",
            "--period",
            "0",
            "--out",
            "p.parquet",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let results = probe::results::read(&place.path("p.parquet")).unwrap();
    assert_eq!(results.records.len(), 20);
    assert_eq!(results.latencies(None).count(), 20);
    assert_eq!(results.routes, ["a 7E0 > 7E1"]);
}

#[test]
fn frames_without_an_answer_are_lost() {
    let place = Place::new(BUS);
    let words = ["a", "--count", "3", "--timeout", "10", "--json"];
    let output = ping(&place, &words);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("3 frames were not answered in time"));
    let result = json(&output);
    assert_eq!(result["masters"][0]["lost"], 3);
    assert_eq!(result["masters"][0]["p50_ns"], Value::Null);
}

#[test]
fn a_slave_ends_on_request() {
    let place = Place::new(BUS);
    let interrupted = |after: Duration| {
        let child = command(&place, &["--slave", "a", "b", "--json"])
            .spawn()
            .unwrap();
        std::thread::sleep(after);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        child.wait_with_output().unwrap()
    };
    // Before it handles the signal, which takes longer on a busy machine, the signal kills it.
    let times = [300, 3_000, 30_000].map(Duration::from_millis);
    let mut outputs = times.into_iter().map(interrupted);
    let handled = |output: &Output| output.status.signal().is_none();
    let output = outputs.find(handled).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(json(&output)["slaves"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_is_reported() {
    let place = Place::new(BUS);
    for (words, message) in [
        (
            &["a", "x"][..],
            "gateway.toml has no port `x`; it has a, b, file",
        ),
        (&["a", "b", "--id", "7FF"], "give a lower --id"),
        (
            &["a", "b", "--id", "100", "--answer", "100"],
            "have the same ID",
        ),
        (&["a", "b", "--payload", "9"], "9 bytes of payload"),
        (
            &["a", "b", "--count", "0", "--out", "p.parquet"],
            "give --count 1 to",
        ),
    ] {
        let output = ping(&place, words);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {err}");
        assert!(err.contains(message), "{words:?}: {err}");
    }
    // A file cannot answer.
    let output = ping(&place, &["file", "b", "--count", "1", "--timeout", "5"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
