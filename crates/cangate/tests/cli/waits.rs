//! No wait outlives a signal: each command that waits is sent SIGTERM and ends.

use crate::place::{IN, Place, TEST_TIMEOUT, log, signal, until};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// SIGTERM, as numbered by kill(1) and wait(2).
const TERM: i32 = 15;

/// Returns how it ended: its exit status, or the signal.
fn end(mut child: Child, what: &str) -> Result<i32, i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().ok_or_else(|| status.signal().unwrap());
        }
        if started.elapsed() > TEST_TIMEOUT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{what}: SIGTERM did not end it within a minute");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a command, waits until it waits, and sends the signal.
fn interrupted(command: &mut Command, what: &str, waits: impl FnMut() -> bool) -> Result<i32, i32> {
    // The child's handle keeps the other end of its standard input open.
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    until(what, waits);
    // Gives it time to begin its wait, wherever that is; the assertions hold at every moment.
    std::thread::sleep(Duration::from_millis(200));
    assert!(
        child.try_wait().unwrap().is_none(),
        "{what}: it did not wait"
    );
    signal(&child, "TERM");
    end(child, what)
}

/// Returns a condition: a gateway is up when it has its socket.
fn up(place: &Place) -> impl FnMut() -> bool + use<> {
    let socket = place.path("control.sock");
    move || socket.exists()
}

const FROM_PIPE: &str = "[ports.in]\nkind = 'log'\nread = 'pipe'\n\
    [ports.out]\nkind = 'log'\nwrite = 'out.log'\n[[routes]]\nfrom = 'in'\nto = 'out'\n";

#[test]
fn a_run_that_waits_for_the_partner_of_a_named_pipe() {
    let place = Place::new(FROM_PIPE);
    place.pipe("pipe");
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    assert_eq!(interrupted(&mut command, "no writer", up(&place)), Ok(0));

    let into = format!("[ports.out]\nkind = 'log'\nwrite = 'pipe'\n{IN}");
    let place = Place::new(&into);
    place.pipe("pipe");
    place.write("in.log", "");
    // Without --until-end, so that it does not end on its own.
    let mut command = place.command(&["run", "gateway.toml"]);
    let live = into.replace("'in.log'", "'-'");
    place.gateway(&live);
    assert_eq!(interrupted(&mut command, "no reader", up(&place)), Ok(0));
    // The frames that it holds for the reader that never came are lost, and the status shows it.
    place.gateway(&into);
    place.write("in.log", &log(10));
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    let holds = place.counts("held");
    assert_eq!(interrupted(&mut command, "no reader", holds), Ok(3));
}

#[test]
fn the_waiting_process_reports_what_it_waits_for() {
    let place = Place::new(FROM_PIPE);
    place.pipe("pipe");
    let mut child = place.command(&["run", "gateway.toml"]).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let (mut text, mut bytes) = (String::new(), [0; 512]);
    while !text.contains("no program writes") {
        let n = stderr.read(&mut bytes).unwrap();
        assert!(n > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    // The writer opens the pipe, and its frame arrives.
    let mut writer = std::fs::File::options();
    let mut writer = writer.write(true).open(place.path("pipe")).unwrap();
    writer.write_all(b"(1.0) can0 123#42\n").unwrap();
    until("the frame is there", || {
        place.read("out.log").contains("123#42")
    });
    signal(&child, "INT");
    assert_eq!(end(child, "INT"), Ok(0));
}

/// A reload reads the gateway file again: if it is a pipe now, reading would never end.
#[test]
fn a_reload_from_a_pipe() {
    let live = FROM_PIPE.replace("'pipe'", "'-'");
    let place = Place::new(&live);
    let mut command = place.command(&["run", "gateway.toml"]);
    let file = place.path("gateway.toml");
    let mut ready = up(&place);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    until("up", &mut ready);
    std::fs::remove_file(&file).unwrap();
    place.pipe("gateway.toml");
    let socket = place.path("control.sock");
    let mut reload = place.command(&["reload", "--socket"]);
    let output = reload.arg(&socket).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("not a regular file"), "{err}");
    signal(&child, "HUP");
    signal(&child, "TERM");
    // An input that ends without a frame would be another reason to end.
    let input = child.stdin.take();
    assert_eq!(end(child, "TERM after HUP"), Ok(0));
    drop(input);
}

/// No process reads its standard output, so frames wait; nor its standard error, which the program
/// gives up after a while.
#[test]
fn a_run_whose_output_no_program_reads() {
    let place = Place::new(&format!("[ports.out]\nkind = 'log'\nwrite = '-'\n{IN}"));
    place.write("in.log", &log(30_000));
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    let ended = interrupted(&mut command, "standard output", place.counts("stalled"));
    assert_eq!(ended, Ok(3), "what it held is lost");

    let (reader, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'x'; 65_536]).unwrap();
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    command.stderr(full);
    let ended = interrupted(&mut command, "standard error", place.counts("stalled"));
    assert_eq!(ended, Ok(3), "the run does not wait for its reader");
    drop(reader);
}

#[test]
fn commands_that_wait_for_input() {
    let place = Place::new("");
    place.pipe("pipe");
    let commands: [&[&str]; 8] = [
        &["check", "-"],
        &["check", "pipe"],
        &["run", "-"],
        &["run", "pipe"],
        &["import", "-"],
        &["import", "pipe"],
        &["export", "--cangw", "pipe"],
        &["demo", "--log", "pipe"],
    ];
    for arguments in commands {
        let what = arguments.join(" ");
        let ended = interrupted(&mut place.command(arguments), &what, || true);
        assert_eq!(ended, Err(TERM), "{what}");
    }
}

#[test]
fn commands_that_wait_for_a_gateway_that_hangs() {
    let place = Place::new("");
    let listener = UnixListener::bind(place.path("mute.sock")).unwrap();
    for command in ["stats", "routes", "reload"] {
        let mut asking = place.command(&[command, "--socket", "mute.sock"]);
        assert_eq!(interrupted(&mut asking, command, || true), Err(TERM));
    }
    drop(listener);
}
