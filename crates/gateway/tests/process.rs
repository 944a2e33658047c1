//! A gateway as a process of its own, from a `gateway.toml`: signals, kill -9, restart.
//!
//! The process is this test program again; an environment variable makes it run as a gateway.
#![allow(clippy::unwrap_used)]

use config::SourceText;
use engine::CounterSnapshot;
use gateway::control::{ControlRequest, request};
use gateway::run::{EndReason, RunOptions, run};
use port::PortKinds;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const FILE: &str = "CANGATE_TEST_FILE";
const UNTIL_END: &str = "CANGATE_TEST_UNTIL_END";
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads candump lines from standard input and writes those with ID 123 to standard output.
const ONE: &str = r#"
[gateway]
realtime = false
lock_memory = false
[ports.in]
kind = "log"
read = "-"
pace = "fast"
[ports.out]
kind = "log"
write = "-"
[[routes]]
name = "kept"
from = "in"
to = "out"
id = "123"
"#;

/// Sends frames from standard input over an embedded bus, at 1 Mbit/s in real time, to standard
/// output.
const BUS: &str = r#"
[gateway]
realtime = false
lock_memory = false
[ports.in]
kind = "log"
read = "-"
pace = "fast"
[ports.left]
kind = "bus"
bus = "shared"
bitrate = "1M"
queue = 100
[ports.right]
kind = "bus"
bus = "shared"
bitrate = "1M"
[ports.out]
kind = "log"
write = "-"
[[routes]]
from = "in"
to = "left"
[[routes]]
from = "right"
to = "out"
"#;

/// Not a test of its own: the gateway that the other tests start.
#[test]
fn the_gateway() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    // A gateway that hangs exits with a status that no test expects.
    std::thread::spawn(|| {
        std::thread::sleep(3 * TEST_TIMEOUT);
        std::process::exit(15);
    });
    let file = PathBuf::from(file);
    let text = std::fs::read_to_string(&file).unwrap();
    let (config, _) = gateway::config::load(
        &SourceText::new("gateway.toml", text),
        &PortKinds::standard(),
    )
    .unwrap();
    let options = RunOptions {
        file: Some(file),
        until_end: std::env::var_os(UNTIL_END).is_some(),
        signals: true,
        ..RunOptions::default()
    };
    match run(config, &PortKinds::standard(), &options, &|notices| {
        eprintln!("{}", notices.notice);
    }) {
        Ok(summary) => {
            summary.stats.process.check().unwrap();
            eprintln!("{}", serde_json::to_string(&summary.stats.process).unwrap());
            std::process::exit(match summary.reason {
                EndReason::Signal => 10,
                EndReason::Request => 11,
                EndReason::Finished => 12,
                EndReason::Failed => 13,
            });
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(14);
        }
    }
}

struct Gateway {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    socket: PathBuf,
}

fn command(folder: &Path, text: &str) -> Command {
    let file = folder.join("gate.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "the_gateway", "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(folder: &Path, text: &str) -> Gateway {
    let mut child = command(folder, text).spawn().unwrap();
    let mut gateway = Gateway {
        stdin: child.stdin.take(),
        stdout: BufReader::new(child.stdout.take().unwrap()),
        child,
        socket: folder.join("cangate/gate.sock"),
    };
    while gateway.ask(&ControlRequest::Ping).is_err() {
        if let Some(status) = gateway.child.try_wait().unwrap() {
            panic!("the gateway ended at once: {status} {}", gateway.rest());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    gateway
}

impl Gateway {
    fn ask(&self, what: &ControlRequest) -> Result<serde_json::Value, String> {
        request(&self.socket, what, TEST_TIMEOUT).map_err(|e| e.to_string())
    }

    fn stats(&self) -> CounterSnapshot {
        let value = self.ask(&ControlRequest::Stats).unwrap();
        let snapshot: CounterSnapshot = serde_json::from_value(value).unwrap();
        snapshot.check().unwrap();
        snapshot
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "(1700000000.000000) can0 {line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Returns the next frame on standard output; lines of the test harness are skipped.
    fn receive(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the output has ended"
            );
            if let Some((_, frame)) = line.trim_end().split_once(" out ") {
                return frame.to_owned();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn rest(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
        text
    }

    /// Waits for the end; returns the exit status and the last counters.
    fn end(mut self) -> (Option<i32>, CounterSnapshot) {
        let status = self.child.wait().unwrap();
        let text = self.rest();
        let json = text.lines().find(|line| line.starts_with('{'));
        let json = json.unwrap_or_else(|| panic!("no summary in {text:?}"));
        (status.code(), serde_json::from_str(json).unwrap())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sigterm_and_sigint_end_it_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let mut gateway = start(folder.path(), ONE);
        gateway.send("123#01");
        assert_eq!(gateway.receive(), "123#01");
        let socket = gateway.socket.clone();
        gateway.signal(signal);
        let status = gateway.child.wait().unwrap();
        assert_eq!(status.code(), Some(10));
        assert!(!socket.exists());
    }
}

#[test]
fn the_end_of_the_log_ends_it_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), ONE)
        .env(UNTIL_END, "1")
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for n in 0..1_000 {
        let id = if n % 2 == 0 { 0x123 } else { 0x124 };
        writeln!(stdin, "(1700000000.{n:06}) can0 {id:03X}#{n:04X}").unwrap();
    }
    writeln!(stdin, "this is no frame").unwrap();
    drop(stdin);
    let gateway = Gateway {
        stdin: None,
        stdout: BufReader::new(child.stdout.take().unwrap()),
        child,
        socket: PathBuf::new(),
    };
    let mut gateway = gateway;
    for n in (0..1_000).step_by(2) {
        assert_eq!(gateway.receive(), format!("123#{n:04X}"));
    }
    let status = gateway.child.wait().unwrap();
    assert_eq!(status.code(), Some(12));
}

#[test]
fn sighup_reloads_and_a_broken_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.toml");
    let mut gateway = start(folder.path(), ONE);
    gateway.send("123#01");
    assert_eq!(gateway.receive(), "123#01");

    std::fs::write(&file, "[ports.in]\nkind = \"telepathy\"\n").unwrap();
    gateway.signal(Signal::HUP);
    let refused = gateway.ask(&ControlRequest::Reload).unwrap_err();
    assert!(refused.contains("gate.toml:2:8"), "{refused}");
    gateway.send("123#02");
    assert_eq!(gateway.receive(), "123#02");
    assert_eq!(gateway.stats().reloads, 0);

    std::fs::write(&file, ONE.replace("id = \"123\"", "id = \"456\"")).unwrap();
    gateway.signal(Signal::HUP);
    while gateway.stats().reloads == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    gateway.send("123#03");
    gateway.send("456#04");
    assert_eq!(gateway.receive(), "456#04");
    let routes = gateway.ask(&ControlRequest::Routes).unwrap();
    assert!(
        routes[0]["words"].as_str().unwrap().contains("456"),
        "{routes}"
    );
    gateway.signal(Signal::TERM);
    let (code, last) = gateway.end();
    assert_eq!(code, Some(10));
    let kept = last.route("kept").unwrap();
    assert_eq!((kept.taken, kept.copies.accepted), (3, 3));
    assert_eq!(last.received(), 4);
}

#[test]
fn after_kill_9_the_next_one_takes_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = start(folder.path(), ONE);
    let socket = first.socket.clone();

    // While it runs, a second one reports which process has the socket.
    let second = command(folder.path(), ONE).output().unwrap();
    assert_eq!(second.status.code(), Some(14));
    let why = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        why.contains(&format!("process {}", first.child.id())),
        "{why}"
    );
    assert!(
        first.ask(&ControlRequest::Ping).is_ok(),
        "the first one is not disturbed"
    );

    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(socket.exists(), "a killed gateway leaves its socket behind");
    let mut next = start(folder.path(), ONE);
    next.send("123#05");
    assert_eq!(next.receive(), "123#05");
}

/// Frames pass an embedded bus in real time, and the frames that a port holds at the end are
/// accounted for.
#[test]
fn embedded_buses_run_in_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut gateway = start(folder.path(), BUS);
    for n in 0..50 {
        gateway.send(&format!("123#{n:02X}"));
    }
    for n in 0..50 {
        assert_eq!(gateway.receive(), format!("123#{n:02X}"));
    }
    gateway.ask(&ControlRequest::Shutdown).unwrap();
    let (code, last) = gateway.end();
    assert_eq!(code, Some(11));
    assert_eq!(last.port("left").unwrap().tx.sent, 50);
    assert_eq!(last.port("right").unwrap().received, 50);
}

/// With `--until-end`, frames that have been put on a bus arrive before the run ends.
#[test]
fn the_end_waits_for_frames_on_a_bus() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), BUS)
        .env(UNTIL_END, "1")
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for n in 0..50 {
        writeln!(stdin, "(1700000000.000000) can0 123#{n:02X}").unwrap();
    }
    drop(stdin);
    let mut gateway = Gateway {
        stdin: None,
        stdout: BufReader::new(child.stdout.take().unwrap()),
        child,
        socket: PathBuf::new(),
    };
    for n in 0..50 {
        assert_eq!(gateway.receive(), format!("123#{n:02X}"));
    }
    let (code, last) = gateway.end();
    assert_eq!(code, Some(12));
    assert_eq!(last.port("left").unwrap().tx.sent, 50);
    assert_eq!(last.port("left").unwrap().tx.lost, 0);
}

/// SIGPIPE must not end the gateway when a client disconnects before it has read its answer.
#[test]
fn a_client_that_goes_away_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = start(folder.path(), ONE);
    for _ in 0..20 {
        let mut stream = std::os::unix::net::UnixStream::connect(&gateway.socket).unwrap();
        stream
            .write_all(&ControlRequest::Stats.line().repeat(50))
            .unwrap();
        drop(stream);
    }
    gateway.signal(Signal::PIPE);
    gateway.ask(&ControlRequest::Ping).unwrap();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.end().0, Some(10));
}
