//! A gateway that a test runs: its files are in a folder of their own, frames are fed through its
//! standard input, and it is ended when the test ends.

use crate::cangate;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time after which a test gives up, also on a machine under load; much longer than expected.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Gateway {
    child: Option<Child>,
    input: Option<ChildStdin>,
    folder: TempDir,
}

impl Gateway {
    /// Starts a gateway that reads frames from its standard input (port `in`) and writes
    /// `out.log` (port `out`), with these routes.
    pub(crate) fn start(routes: &str) -> Self {
        Self::start_with(routes, |_| ())
    }

    /// Does the same, with the changes of `change` to the command.
    pub(crate) fn start_with(routes: &str, change: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut gateway = Self {
            child: None,
            input: None,
            folder,
        };
        gateway.write_routes(routes);
        let mut command = Command::new(crate::program());
        command
            .arg("run")
            .arg(gateway.file())
            .current_dir(gateway.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        // The parent's copies of its pipes are closed: only the child has them.
        drop(command);
        gateway.input = child.stdin.take();
        gateway.child = Some(child);
        gateway.until("it answers on its socket", |gateway| {
            gateway.control("stats", &["--json"]).status.success()
        });
        gateway
    }

    /// Writes its file, with the same ports as always.
    pub(crate) fn write_routes(&self, routes: &str) {
        let socket = self.socket();
        let text = format!(
            "[gateway]\ncontrol = {socket:?}\nrealtime = false\nlock_memory = false\n\n\
             [ports.in]\nkind = \"log\"\nread = \"-\"\npace = \"fast\"\n\n\
             [ports.out]\nkind = \"log\"\nwrite = \"out.log\"\ninterface = \"can7\"\n\n{routes}"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("control.sock")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Feeds frames, one per line, in cansend's syntax.
    pub(crate) fn feed(&mut self, frames: &[&str]) {
        let input = self.input.as_mut().unwrap();
        for frame in frames {
            writeln!(input, "(1.000000) can0 {frame}").unwrap();
        }
        input.flush().unwrap();
    }

    /// Runs a command that queries it over its socket.
    pub(crate) fn control(&self, command: &str, options: &[&str]) -> Output {
        cangate()
            .arg(command)
            .arg("--socket")
            .arg(self.socket())
            .args(options)
            .output()
            .unwrap()
    }

    /// Returns its counters.
    pub(crate) fn stats(&self) -> Value {
        let output = self.control("stats", &["--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the number of frames that came in and were counted.
    pub(crate) fn received(&self) -> u64 {
        row(&self.stats()["ports"], "in")["received"]
            .as_u64()
            .unwrap()
    }

    /// Waits until a condition holds.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            assert!(started.elapsed() < TEST_TIMEOUT, "not in a minute: {what}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("kill -{name} {}", self.pid()))
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended.
    pub(crate) fn end(mut self) -> (Output, String) {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        let written = std::fs::read_to_string(self.folder.path().join("out.log")).unwrap();
        (output, written)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended on its own; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the entry with a name.
pub(crate) fn row<'a>(rows: &'a Value, name: &str) -> &'a Value {
    rows.as_array()
        .and_then(|rows| rows.iter().find(|row| row["name"] == name))
        .unwrap_or_else(|| panic!("no {name} in {rows}"))
}

/// Returns the frames of a log, without time and interface.
pub(crate) fn frames(log: &str) -> Vec<&str> {
    log.lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect()
}
