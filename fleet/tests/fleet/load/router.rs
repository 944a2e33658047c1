//! A router as a process of its own, so that its processor time and its memory can be read.

use crate::rights::certificates;
use crate::router::free_address;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use zenoh::{Config, Session, Wait as _};

/// The variable that makes a router of [`router_process`]: its settings, as JSON5.
const SETTINGS: &str = "FLEET_LOAD_ROUTER";

/// Settings of a router as in the example that is delivered.
pub(super) const SMALL: &str = "tx: { batch_size: 2048, queue: { size: { real_time: 16, data: 16, background: 16 } } },\
                     rx: { buffer_size: 2048 },";

/// A router as a process, on one processor.
pub(super) struct RouterProcess {
    child: Child,
    pub(super) address: SocketAddr,
    pub(super) opened: Duration,
    /// Has its certificates, if its links are of TLS.
    tls: Option<TempDir>,
}

impl RouterProcess {
    /// Starts a router. `link`: settings of links; `more`: all others.
    pub(super) fn start(is_tls: bool, link: &str, more: &str) -> Self {
        let address = free_address();
        let tls = is_tls.then(|| tempfile::tempdir().unwrap());
        let (protocol, keys) = match &tls {
            None => ("tcp", String::new()),
            Some(folder) => {
                let folder = folder.path();
                certificates(folder, &["router", "client"]);
                let file = |name: &str| format!("'{}'", folder.join(name).display());
                let (ca, own, key) = (file("ca.pem"), file("router.pem"), file("router.key"));
                let keys = format!(
                    "tls: {{ root_ca_certificate: {ca}, listen_certificate: {own},\
                     listen_private_key: {key}, enable_mtls: true }}"
                );
                ("tls", keys)
            }
        };
        let settings = format!(
            "{{ mode: 'router', scouting: {{ multicast: {{ enabled: false }} }},\
             listen: {{ endpoints: ['{protocol}/{address}'] }},\
             transport: {{ link: {{ {link} {keys} }} }}, {more} }}"
        );
        let file = std::env::temp_dir().join(format!("fleet-load-{}.json5", std::process::id()));
        fs::write(&file, settings).unwrap();
        let mut router = Command::new("taskset");
        router
            .args(["-c", "0"])
            .arg(std::env::current_exe().unwrap());
        router.args([
            "--ignored",
            "--exact",
            "--nocapture",
            "load::router::router_process",
        ]);
        router
            .env(SETTINGS, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let begun = Instant::now();
        let mut child = router.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")));
        let opened = begun.elapsed();
        fs::remove_file(file).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            address,
            opened,
            tls,
        }
    }

    /// Opens a session with it, by this port of loopback.
    pub(super) fn client(&self, port: u16) -> Session {
        let mut config = Config::default();
        let mut set = |key: &str, value: &str| config.insert_json5(key, value).unwrap();
        set("mode", "'client'");
        set("scouting/multicast/enabled", "false");
        set("transport/link/tx/queue/size/data", "16");
        match &self.tls {
            None => set("connect/endpoints", &format!("['tcp/127.0.0.1:{port}']")),
            Some(folder) => {
                set("connect/endpoints", &format!("['tls/localhost:{port}']"));
                set("transport/link/tls/enable_mtls", "true");
                for (key, name) in [
                    ("root_ca_certificate", "ca.pem"),
                    ("connect_certificate", "client.pem"),
                    ("connect_private_key", "client.key"),
                ] {
                    let path = format!("'{}'", folder.path().join(name).display());
                    set(&format!("transport/link/tls/{key}"), &path);
                }
            }
        }
        zenoh::open(config).wait().unwrap()
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Returns the processor time up to now: ticks of 10 ms.
    pub(super) fn busy(&self) -> Duration {
        busy(&self.read("stat"))
    }

    /// Returns the resident memory, kB.
    pub(super) fn memory(&self) -> u64 {
        memory(&self.read("status"))
    }
}

/// Returns the processor time in `/proc/PID/stat`.
pub(super) fn busy(stat: &str) -> Duration {
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// Returns the resident memory in `/proc/PID/status`, kB.
pub(super) fn memory(status: &str) -> u64 {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

impl Drop for RouterProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is a router, if [`RouterProcess`] starts it.
#[test]
#[ignore = "it is the router of the other tests here"]
fn router_process() {
    let Some(file) = std::env::var_os(SETTINGS) else {
        return;
    };
    let session = zenoh::open(Config::from_file(file).unwrap())
        .wait()
        .unwrap();
    println!("\nready");
    let _ = std::io::stdin().read(&mut [0]);
    session.close().wait().unwrap();
}
