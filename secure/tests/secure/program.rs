//! The program as a process, and what it needs: keys, certificates, free ports.

use cangate_secure::counters::LinkReport;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Returns a port of UDP that was free a moment ago.
pub(crate) fn free_udp() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// Returns a port of TCP that was free a moment ago.
pub(crate) fn free_tcp() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Writes a file that others cannot read.
pub(crate) fn write_secret(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// Waits until a condition holds.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "30 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns whether a program is on the path; if not, the test is skipped.
pub(crate) fn has_program(name: &str) -> bool {
    let started = Command::new(name)
        .arg("version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if started.is_err() {
        println!("SKIPPED because there is no {name} on the path");
    }
    started.is_ok()
}

/// An authority whose certificates are in a folder: `NAME-ca.pem`.
pub(crate) struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
}

impl TestAuthority {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        let certificate = parameters.self_signed(&key).unwrap();
        fs::write(folder.join(format!("{name}-ca.pem")), certificate.pem()).unwrap();
        Self {
            issuer: Issuer::new(parameters, key),
        }
    }

    /// Writes `NAME.pem` and `NAME.key`, for `localhost` and 127.0.0.1.
    pub(crate) fn sign(&self, folder: &Path, name: &str, is_expired: bool) {
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        if is_expired {
            parameters.not_before = date_time_ymd(2001, 1, 1);
            parameters.not_after = date_time_ymd(2001, 1, 2);
        }
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        write_secret(&folder.join(format!("{name}.key")), &key.serialize_pem());
    }
}

/// A process that ends with this value.
pub(crate) struct TestProcess {
    pub(crate) child: Child,
    said: Arc<Mutex<String>>,
}

impl TestProcess {
    /// Starts a program; its standard error is kept.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (stderr, saying) = (child.stderr.take().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut said = saying.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        Self { child, said }
    }

    /// Returns what it has written to standard error.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has written this.
    pub(crate) fn wait_for(&self, part: &str) {
        let begun = Instant::now();
        while !self.said().contains(part) {
            let said = self.said();
            assert!(begun.elapsed() < Duration::from_secs(30), "{part}: {said}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal to it, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        // A test that failed leaves no process; one that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program.
pub(crate) struct SecureProcess(pub(crate) TestProcess);

impl SecureProcess {
    /// Starts it with a file of this name and text in the folder, and waits until it runs.
    pub(crate) fn start(folder: &Path, name: &str, text: &str) -> Self {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_cangate-secure"));
        program.args(["run", "--json"]).arg(path);
        let process = TestProcess::start(program.stdout(Stdio::piped()));
        process.wait_for("running\n");
        Self(process)
    }

    /// Ends it, and returns its last counters, which are balanced.
    pub(crate) fn end(mut self) -> Vec<LinkReport> {
        self.0.signal("TERM");
        let mut text = String::new();
        let stdout = self.0.child.stdout.take();
        stdout.unwrap().read_to_string(&mut text).unwrap();
        assert!(self.0.child.wait().unwrap().success());
        let reports: Vec<LinkReport> = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        for report in &reports {
            assert!(report.is_balanced(), "{report:#?}");
        }
        reports
    }
}
