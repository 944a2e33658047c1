//! A folder with a gateway file in it, for runs from a test.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time after which a test gives up, also on a machine under load; much longer than expected.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with a gateway file and logs.
pub(crate) struct Place(TempDir);

impl Place {
    /// Creates a folder with this gateway file; the table [gateway] is added.
    pub(crate) fn new(ports_and_routes: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.gateway(ports_and_routes);
        place
    }

    /// Writes another gateway file, under the same name.
    pub(crate) fn gateway(&self, ports_and_routes: &str) {
        let head = "[gateway]\nrealtime = false\nlock_memory = false\ncontrol = ";
        let socket = self.path("control.sock");
        self.write(
            "gateway.toml",
            &format!("{head}{socket:?}\n{ports_and_routes}"),
        );
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the names of all files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status();
        assert!(made.unwrap().success());
    }

    /// Returns a condition: the gateway is up, and this counter of its port `out` is not zero.
    pub(crate) fn counts(&self, counter: &str) -> impl FnMut() -> bool + use<> {
        let socket = self.path("control.sock");
        let mut stats = self.command(&["stats", "gateway.toml", "--json"]);
        let counter = format!("/tx/{counter}");
        move || {
            if !socket.exists() {
                return false;
            }
            let output = stats.output().unwrap();
            // It may have its socket before it answers.
            let all: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let ports = all["ports"].as_array().into_iter().flatten();
            let out = ports.filter(|port| port["name"] == "out");
            let number = |port: &Value| port.pointer(&counter).and_then(Value::as_u64);
            out.filter_map(number).any(|number| number > 0)
        }
    }

    /// Returns a command that runs the program here, with an empty standard input and captured
    /// output.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::program());
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_RUNTIME_DIR", self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Returns a log with this many frames, numbered.
pub(crate) fn log(frames: u32) -> String {
    let line = |i| format!("({}.{:06}) can0 123#{i:08X}\n", i / 1000, i % 1000 * 1000);
    (0..frames).map(line).collect()
}

/// A port that replays `in.log` as fast as possible, and a route from it to `out`.
pub(crate) const IN: &str = "[ports.in]\nkind = 'log'\nread = 'in.log'\npace = 'fast'\n\
    [[routes]]\nfrom = 'in'\nto = 'out'\n";

pub(crate) fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let status = kill.arg(format!("-{name}")).arg(child.id().to_string());
    assert!(status.status().unwrap().success());
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < TEST_TIMEOUT, "not in a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
