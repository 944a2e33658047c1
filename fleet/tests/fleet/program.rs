//! The program under test, in this process or as one of its own.

use crate::peer::GatewayPeer;
use cangate_fleet::counters::BusCounters;
use cangate_fleet::run::RunningFleet;
use cangate_fleet::{session, settings};
use config::{Diagnostics, SourceText, render};
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use zenoh::{Config, Wait as _};

/// Returns a table `[[buses]]`, and its gateway's port.
pub(crate) fn bus(name: &str, keys: &str) -> (String, GatewayPeer) {
    let (peer, listen, gateway) = GatewayPeer::new();
    let text = format!(
        "[[buses]]\nname = \"{name}\"\nlisten = \"{listen}\"\ngateway = \"{gateway}\"\n\
         max_age = \"5s\"\nreport = \"200ms\"\nurgent = \"000-0FF\"\nbulk = \"700-7FF\"\n{keys}\n"
    );
    (text, peer)
}

/// Returns the file of a program with this endpoint and these buses.
pub(crate) fn file(endpoint: &str, zenoh: &str, buses: &[&str]) -> String {
    let buses = buses.concat();
    format!("[zenoh]\nconnect = \"{endpoint}\"\n{zenoh}\n{buses}")
}

/// Reads a file.
pub(crate) fn load(text: &str) -> Result<settings::FleetSettings, String> {
    let source = SourceText::new("fleet.toml", text);
    let mut found = Diagnostics::new();
    let settings = settings::load(&source, &mut found);
    settings.ok_or_else(|| render(&source, found.list(), false))
}

/// Starts the program in this process, joined.
pub(crate) fn start(text: &str) -> RunningFleet {
    let settings = load(text).unwrap();
    let config = session::config(&settings.zenoh, Path::new("/")).unwrap();
    start_with(text, config).unwrap()
}

/// Starts the program in this process with a configuration of Zenoh's.
pub(crate) fn start_with(text: &str, config: Config) -> zenoh::Result<RunningFleet> {
    let mut fleet = RunningFleet::start(load(text).unwrap()).unwrap();
    fleet.join(zenoh::open(config).wait()?).unwrap();
    Ok(fleet)
}

/// Waits until a condition holds.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "30 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The program as a process.
pub(crate) struct ProgramProcess(Child);

impl ProgramProcess {
    /// Starts it with a file, and waits until it has joined.
    pub(crate) fn start(file: &Path) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cangate-fleet"));
        program.args(["run", "--json"]).arg(file);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut said = Vec::new();
        let mut stderr = child.stderr.take().unwrap();
        let mut byte = [0];
        while !said.ends_with(b"joined\n") {
            assert_eq!(
                stderr.read(&mut byte).unwrap(),
                1,
                "{}",
                String::from_utf8_lossy(&said)
            );
            said.push(byte[0]);
        }
        // What it says later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self(child)
    }

    /// Returns the ID of the process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal to it, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Ends it, and returns its last counters.
    pub(crate) fn end(mut self) -> Vec<BusCounters> {
        self.signal("TERM");
        let mut text = String::new();
        self.0
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert!(self.0.wait().unwrap().success());
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }
}

impl Drop for ProgramProcess {
    fn drop(&mut self) {
        // A test that failed leaves no process; one that has ended is not there any more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the endpoint of an address over TCP.
pub(crate) fn tcp(address: SocketAddr) -> String {
    format!("tcp/{address}")
}
