//! `cangate stats --watch` and `cangate top`: rates of a running gateway.

use crate::gateway::{Gateway, row};
use crate::{cangate, stderr};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const ROUTES: &str = "[[routes]]\nname = \"all\"\nfrom = \"in\"\nto = \"out\"\n";

/// The time after which a test gives up, on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn rates_are_printed_until_the_gateway_ends() {
    let mut gateway = Gateway::start(ROUTES);
    let mut watch = Command::new(crate::program())
        .args(["stats", "--watch", "--json", "--interval=50ms", "--socket"])
        .arg(gateway.socket())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!(row(&first["rates"]["ports"], "in")["received"], 0.0);
    gateway.feed(&["123#11", "124#22", "125#33"]);
    // The sum of the rates is the change of the counters.
    let mut frames = 0.0;
    loop {
        let now = next();
        let rates = &now["rates"];
        let seconds = rates["over_ns"].as_f64().unwrap() / 1e9;
        frames += row(&rates["routes"], "all")["taken"].as_f64().unwrap() * seconds;
        if row(&now["counters"]["routes"], "all")["taken"] == 3 {
            break;
        }
    }
    assert!((frames - 3.0).abs() < 1e-6, "{frames}");
    gateway.signal("TERM");
    while lines.next().is_some() {}
    let output = watch.wait_with_output().unwrap();
    assert!(output.status.success());
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("has ended."), "{err}");
}

#[test]
fn people_get_a_table_of_rates() {
    let gateway = Gateway::start(ROUTES);
    let options = ["--watch", "--interval=50ms", "--count=2"];
    let output = gateway.control("stats", &options);
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out.matches("received/s").count(), 2, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    for wrong in ["1ms", "2h", "soon"] {
        let err = stderr(cangate().args(["stats", "--watch", "--interval", wrong]), 2);
        assert!(err.contains("--interval"), "{err}");
    }
}

#[test]
fn top_needs_a_terminal() {
    let gateway = Gateway::start(ROUTES);
    let output = gateway.control("top", &[]);
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("cangate stats --watch"), "{err}");
}

/// A command on a terminal of its own.
pub(crate) struct OnTerminal {
    child: Child,
    user: File,
    /// The program's side of the terminal, to check its modes.
    line: File,
    shown: Receiver<Vec<u8>>,
    seen: String,
}

impl OnTerminal {
    /// Starts `cangate top` of a gateway.
    fn start(gateway: &Gateway) -> Self {
        let socket = gateway.socket().display().to_string();
        Self::run(&["top", "--interval=50ms", "--socket", &socket])
    }

    /// Starts a command with these arguments.
    pub(crate) fn run(args: &[&str]) -> Self {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let user = File::from(user);
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&user, size).unwrap();
        let end = || line.try_clone().unwrap();
        let child = Command::new(crate::program())
            .args(args)
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let (to, shown) = channel();
        let mut screen = user.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if to.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            user,
            line,
            shown,
            seen: String::new(),
        }
    }

    /// Waits until these words are shown; the next call checks only what is shown after them.
    pub(crate) fn until(&mut self, words: &str) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(at) = self.seen.find(words) {
                self.seen.drain(..at + words.len());
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{words:?} is not shown: {:?}", self.seen),
            }
        }
    }

    /// Types keys.
    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.user.write_all(keys).unwrap();
    }

    pub(crate) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.line).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "it does not end: {:?}",
                self.seen
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether the terminal library cannot work, and prints that: QEMU's emulation of one
/// process lacks system calls that the library uses to wait (ENOSYS).
pub(crate) fn lacks_terminal_calls() -> bool {
    let lacks = crate::is_emulated();
    if lacks {
        println!("SKIPPED because an emulated program cannot wait for a terminal (ENOSYS)");
    }
    lacks
}

#[test]
fn top_shows_rates_heeds_keys_and_leaves_the_terminal_as_it_was() {
    if lacks_terminal_calls() {
        return;
    }
    let gateway = Gateway::start(ROUTES);
    let mut top = OnTerminal::start(&gateway);
    top.until("PORT");
    assert!(!top.is_cooked(), "keys come one by one");
    top.press(b"/al");
    top.until("al");
    top.press(b"\rq");
    assert!(top.end().success());
    assert!(top.is_cooked());
}

#[test]
fn top_ends_with_the_gateway_and_reports_that() {
    if lacks_terminal_calls() {
        return;
    }
    let gateway = Gateway::start(ROUTES);
    let mut top = OnTerminal::start(&gateway);
    top.until("ROUTE");
    gateway.signal("TERM");
    top.until("has ended.");
    assert!(top.end().success());
    assert!(top.is_cooked());
}
