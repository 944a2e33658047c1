//! A folder with a gateway file in it, for runs from a test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a machine under load may take for anything. Not what is expected: what is given up at.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a gateway file and logs.
pub(crate) struct Place(TempDir);

impl Place {
    /// With this gateway file; [gateway] is added.
    pub(crate) fn new(ports_and_routes: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.gateway(ports_and_routes);
        place
    }

    /// Another gateway file, under the same name.
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

    /// The names of all files, in order.
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

    /// The program, to be run here, with nothing on its standard input and its output kept.
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

/// So many frames, numbered.
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

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "not in a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
