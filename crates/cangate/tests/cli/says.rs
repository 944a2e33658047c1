//! The messages of `cangate run` on standard error while it runs, which do not depend on their
//! reader.

use crate::gateway::{Gateway, frames, row};
use crate::text;
use serde_json::Value;
use std::fs::File;
use std::io::{PipeReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PASS_ALL: &str = "[[routes]]\nname = \"all\"\nfrom = \"in\"\nto = \"out\"\n";
const ONLY_123: &str = "[[routes]]\nname = \"only\"\nfrom = \"in\"\nto = \"out\"\nid = \"123\"\n";

/// Runs a gateway with a good reload and a broken one; returns its messages.
fn life(options: &[&str]) -> String {
    let mut gateway = Gateway::start_with(PASS_ALL, |command| {
        command.args(options);
    });
    gateway.feed(&["123#11"]);
    gateway.until("the frame was received", |gateway| gateway.received() == 1);
    gateway.write_routes(ONLY_123);
    assert!(gateway.control("reload", &[]).status.success());
    gateway.write_routes("nonsense");
    assert!(!gateway.control("reload", &[]).status.success());
    gateway.signal("TERM");
    let (output, _) = gateway.end();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    text(&output.stderr)
}

/// `2026-11-22T16:47:40.425Z `
fn has_time_stamp(line: &str) -> bool {
    let form = "0000-00-00T00:00:00.000Z ";
    line.len() > form.len()
        && form.chars().zip(line.chars()).all(|(form, c)| match form {
            '0' => c.is_ascii_digit(),
            other => c == other,
        })
}

#[test]
fn it_states_in_lines_with_time_stamps_what_happens() {
    let message = life(&[]);
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| has_time_stamp(line))
        .collect();
    let after: Vec<&str> = lines.iter().map(|line| &line[25..]).collect();
    let expected = [
        "ready: 2 ports (in, out), 1 route (process: all), control socket /",
        "reloaded: 1 route; new routes: only; routes removed: all; 2 ports kept",
        "error: not reloaded, everything continues as before: ",
        "ending: requested by a signal",
    ];
    assert_eq!(after.len(), expected.len(), "{message}");
    for (line, expected) in after.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(
        message.contains("All sums add up."),
        "the summary: {message}"
    );
}

#[test]
fn more_is_reported_with_v_and_only_trouble_with_q() {
    let message = life(&["-v"]);
    assert!(
        message.contains("Z port out: log, writes out.log, interface can7\n"),
        "{message}"
    );
    assert!(message.contains("Z route all: process\n"), "{message}");
    assert!(message.contains("Z route only: new\n"), "{message}");
    let message = life(&["-q"]);
    let first = message.lines().next().unwrap();
    assert!(first[25..].starts_with("error: not reloaded"), "{message}");
    for word in ["ready", "reloaded: ", "ending", "add up"] {
        assert!(!message.contains(word), "{word}: {message}");
    }
}

#[test]
fn json_is_one_object_a_line_with_stable_names() {
    let message = life(&["--log-format", "json"]);
    let lines: Vec<Value> = message
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect();
    let events: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| {
            (
                line["event"].as_str().unwrap(),
                line["level"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("ready", "info"),
        ("reloaded", "info"),
        ("not_reloaded", "error"),
        ("ending", "info"),
        ("summary", "info"),
    ];
    assert_eq!(events, expected);
    for line in &lines {
        let time = line["time"].as_str().unwrap();
        assert!(has_time_stamp(&format!("{time} x")), "{time}");
        assert!(!line["text"].as_str().unwrap().is_empty());
    }
    let ready = &lines[0];
    assert_eq!(row(&ready["ports"], "out")["in_kernel"], false);
    assert_eq!(row(&ready["routes"], "all")["data_path"], "process");
    assert_eq!(lines[1]["changes"]["added"], serde_json::json!(["only"]));
    assert_eq!(lines[2]["as_before"], true);
    assert_eq!(lines[3]["reason"], "signal");
    let port = row(&lines[4]["counters"]["ports"], "in");
    assert_eq!(port["received"], 1);
}

/// The mistakes of the file are an object, too, and the exit status shows them.
#[test]
fn json_holds_when_it_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, "[ports.a]\nkind = \"nothing\"\n").unwrap();
    let mut command = crate::cangate();
    command.args(["run", "--log-format", "json"]).arg(&file);
    let message = crate::stderr(&mut command, 2);
    let line: Value = serde_json::from_str(message.trim_end()).unwrap();
    assert_eq!(
        (&line["event"], &line["level"]),
        (&"failed".into(), &"error".into())
    );
    assert!(line["text"].as_str().unwrap().contains("nothing"), "{line}");
}

/// JOURNAL_STREAM names the device and inode of standard error if it is the journal's; otherwise
/// the variable was inherited, and standard error is something else.
#[test]
fn the_journal_gets_priorities_and_no_time_stamps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stderr");
    let message = |own: bool| {
        let file = File::create(&path).unwrap();
        let meta = file.metadata().unwrap();
        let inode = meta.ino() + u64::from(!own);
        let stream = format!("{}:{inode}", meta.dev());
        let gateway = Gateway::start_with(PASS_ALL, |command| {
            command.env("JOURNAL_STREAM", &stream).stderr(file);
        });
        gateway.signal("TERM");
        assert_eq!(gateway.end().0.status.code(), Some(0));
        std::fs::read_to_string(&path).unwrap()
    };
    let journal = message(true);
    assert!(journal.starts_with("<6>ready: "), "{journal}");
    assert!(
        journal.lines().all(|line| line.starts_with("<6>")),
        "{journal}"
    );
    assert!(journal.contains("<6>ending: "), "{journal}");
    let other = message(false);
    assert!(has_time_stamp(&other), "{other}");
}

/// Passes frames through a gateway whose standard error is the writing end of this pipe, and checks
/// that it ends in good order.
fn routes_and_ends(stderr: Stdio) {
    let mut gateway = Gateway::start_with(PASS_ALL, |command| {
        command.args(["-v"]).stderr(stderr);
    });
    for n in 0..50 {
        gateway.feed(&[&format!("123#{n:02X}")]);
        // Each reload writes several messages.
        assert!(gateway.control("reload", &[]).status.success());
    }
    gateway.until("all were received", |gateway| gateway.received() == 50);
    gateway.signal("TERM");
    let (output, written) = gateway.end();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(frames(&written).len(), 50);
}

#[test]
fn a_closed_standard_error_does_not_stop_routing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    routes_and_ends(writer.into());
}

/// Returns a full pipe that no process reads.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filling = writer.try_clone().unwrap();
    let bytes = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&bytes);
    // The thread waits for space until the reader is closed.
    std::thread::spawn(move || {
        while filling.write_all(&[b'x'; 512]).is_ok() {
            count.fetch_add(512, Ordering::Relaxed);
        }
    });
    let mut before = u64::MAX;
    while before != bytes.load(Ordering::Relaxed) || before == 0 {
        before = bytes.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(200));
    }
    (reader, writer.into())
}

#[test]
fn a_full_standard_error_does_not_stop_routing() {
    let (reader, stderr) = full_pipe();
    routes_and_ends(stderr);
    drop(reader);
}
