//! The exit status shows whether all frames arrived.

use crate::place::{IN, Place, log, until};
use std::io::Read;
use std::process::{Child, Output};
use std::time::Duration;

const STDOUT: &str = "[ports.out]\nkind = 'log'\nwrite = '-'\n";

fn run(place: &Place) -> Child {
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    command.spawn().unwrap()
}

/// Reads its standard output a while after the pipe is full.
fn read_late(place: &Place) -> (String, Output) {
    let mut child = run(place);
    let mut stdout = child.stdout.take().unwrap();
    until("the pipe is full", place.counts("stalled"));
    std::thread::sleep(Duration::from_millis(500));
    let mut text = String::new();
    let reader = std::thread::spawn(move || {
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    let output = child.wait_with_output().unwrap();
    (reader.join().unwrap(), output)
}

fn says(output: &Output, status: i32, words: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{err}");
    assert!(err.contains(words), "{err}");
}

#[test]
fn a_replay_into_a_slow_pipe_loses_nothing() {
    for pace in ["'fast'", "'original'", "1000"] {
        let text = format!("{STDOUT}{IN}").replace("'fast'", pace);
        let place = Place::new(&text);
        // With its own timing: all at once, so that the reader is too slow for it, too.
        let mut input = log(30_000);
        if pace == "'original'" {
            input = input
                .lines()
                .map(|line| format!("(1.000000) {}\n", line.split_once(' ').unwrap().1))
                .collect();
        }
        place.write("in.log", &input);
        let (text, output) = read_late(&place);
        says(
            &output,
            0,
            "30000 frames received = 30000 routed. All sums add up.",
        );
        let payload = |line: &str| line.rsplit_once('#').unwrap().1.to_owned();
        let sent: Vec<String> = text.lines().map(payload).collect();
        let expected: Vec<String> = (0..30_000).map(|i| format!("{i:08X}")).collect();
        assert!(sent == expected, "{pace}: {} frames", sent.len());
        let late =
            String::from_utf8_lossy(&output.stderr).contains(" s late, because destinations");
        assert_eq!(late, pace != "'fast'", "{pace}");
    }
}

#[test]
fn a_replay_that_does_not_wait_reports_refused_frames() {
    let text = format!("{STDOUT}{IN}").replace("pace", "on_full = 'refuse'\npace");
    let place = Place::new(&text);
    place.write("in.log", &log(30_000));
    let (text, output) = read_late(&place);
    says(&output, 3, "refused by a full queue");
    says(&output, 3, "All sums add up.");
    let sent = text.lines().count();
    assert!((1..30_000).contains(&sent), "{sent}");
}

/// A bus delivers frames whether or not there is space for them: they are counted as before, and
/// the status shows it.
#[test]
fn what_a_live_port_loses_shows_in_the_status() {
    let text = "[ports.in]\nkind = 'log'\nread = 'in.log'\npace = 'fast'\n\
        [ports.left]\nkind = 'bus'\nbus = 'quick'\nbitrate = '1M'\n\
        [ports.right]\nkind = 'bus'\nbus = 'quick'\nbitrate = '1M'\n\
        [ports.slow]\nkind = 'bus'\nbitrate = '5k'\nqueue = 1\nmailboxes = 1\n\
        [[routes]]\nfrom = 'in'\nto = 'left'\n[[routes]]\nfrom = 'right'\nto = 'slow'\n";
    let place = Place::new(text);
    place.write("in.log", &log(40));
    let output = run(&place).wait_with_output().unwrap();
    says(&output, 3, "error: not all frames arrived: ");
    says(&output, 3, "refused by a full queue");
    // The log itself waited for its bus, whose queue has ten entries.
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_log = err
        .lines()
        .find(|line| line.trim_start().starts_with("in "))
        .unwrap_or("");
    assert!(of_log.contains("40"), "{err}");
    // Without a loss it is 0.
    let place = Place::new(&text.replace(
        "bitrate = '5k'\nqueue = 1\n",
        "bitrate = '1M'\nqueue = 99\n",
    ));
    place.write("in.log", &log(40));
    says(
        &run(&place).wait_with_output().unwrap(),
        0,
        "All sums add up.",
    );
}

#[test]
fn a_closed_standard_output_has_its_own_status() {
    let place = Place::new(&format!("{STDOUT}{IN}"));
    place.write("in.log", &log(30_000));
    let mut child = run(&place);
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 30]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    says(
        &output,
        4,
        "standard output was closed before all frames were written",
    );
    // The summary itself, too.
    let place = Place::new(&format!(
        "[ports.out]\nkind = 'log'\nwrite = 'out.log'\n{IN}"
    ));
    place.write("in.log", &log(10));
    let mut command = place.command(&["run", "--until-end", "--json", "gateway.toml"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(writer);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
}

/// Its input has no end, but no frame can arrive any more: the run need not wait.
#[test]
fn a_run_whose_only_reader_has_gone_ends() {
    use std::io::Write;
    let place = Place::new(&format!("{STDOUT}{IN}").replace("'in.log'", "'-'"));
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(log(1).as_bytes()).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 30]).unwrap();
    drop(stdout);
    input.write_all(log(1).as_bytes()).unwrap();
    // Its standard input stays open until it has ended.
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{err}");
    drop(input);
}

#[test]
fn a_full_disk_is_a_failure() {
    let place = Place::new(&format!("{STDOUT}{IN}").replace("'-'", "'/dev/full'"));
    place.write("in.log", &log(10));
    let output = run(&place).wait_with_output().unwrap();
    says(&output, 1, "ended because of ports that failed: out");
}

#[test]
fn the_statuses_are_in_the_help_and_in_the_guide() {
    let place = Place::new("");
    let output = place.command(&["run", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let guide = std::fs::read_to_string(crate::root().join("docs/guide.md")).unwrap();
    for status in 0..5 {
        let line = help
            .lines()
            .find(|line| line.starts_with(&format!("  {status}  ")));
        assert!(line.is_some(), "{help}");
        assert!(guide.contains(&format!("| {status} | ")), "{status}");
    }
}
