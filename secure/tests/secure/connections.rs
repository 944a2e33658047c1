//! Connections over TLS: their ends, their bounds, and peers that want to harm.

use crate::program::{SecureProcess, TestAuthority, free_tcp, wait_for};
use cangate_secure::counters::{LinkReport, StreamCounters};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Two links that lead to each other: programs connect to `plain`, and come out at `gateway`.
struct LinkedPair {
    plain: u16,
    network: u16,
    gateway: TcpListener,
    near: SecureProcess,
    far: SecureProcess,
}

impl LinkedPair {
    fn start(folder: &Path, keys: &str) -> Self {
        let authority = TestAuthority::new(folder, "test");
        authority.sign(folder, "near", false);
        authority.sign(folder, "far", false);
        let gateway = TcpListener::bind("127.0.0.1:0").unwrap();
        let (plain, network) = (free_tcp(), free_tcp());
        let files = |name: &str| {
            format!(
                "authority = \"test-ca.pem\"\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\n"
            )
        };
        let far = format!(
            "[[tcp]]\nname = \"far\"\nlisten = \"127.0.0.1:{network}\"\ngateway = \"{}\"\n{keys}\n{}",
            gateway.local_addr().unwrap(),
            files("far")
        );
        let near = format!(
            "[[tcp]]\nname = \"near\"\nplain = \"127.0.0.1:{plain}\"\n\
             connect = \"localhost:{network}\"\n{}",
            files("near")
        );
        Self {
            plain,
            network,
            far: SecureProcess::start(folder, "far.toml", &far),
            near: SecureProcess::start(folder, "near.toml", &near),
            gateway,
        }
    }

    /// Returns both ends of a new connection.
    fn connect(&self) -> (TcpStream, TcpStream) {
        let program = TcpStream::connect(("127.0.0.1", self.plain)).unwrap();
        let (gateway, _) = self.gateway.accept().unwrap();
        for stream in [&program, &gateway] {
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
        }
        (program, gateway)
    }

    /// Ends both programs, and returns their counters.
    fn end(self) -> (StreamCounters, StreamCounters) {
        let counters = |process: SecureProcess| match process.end().remove(0) {
            LinkReport::Tcp { streams, .. } => streams,
            other => panic!("{other:?}"),
        };
        (counters(self.near), counters(self.far))
    }
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn each_half_ends_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pair = LinkedPair::start(folder.path(), "");
    let (mut program, mut gateway) = pair.connect();
    program.write_all(b"request").unwrap();
    program.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&gateway), b"request");
    // The other half goes on.
    let long = vec![7; 300_000];
    gateway.write_all(&long).unwrap();
    drop(gateway);
    assert_eq!(read_all(&program), long);
    std::thread::sleep(Duration::from_millis(300));
    let (near, far) = pair.end();
    assert_eq!((near.ended, far.ended), (1, 1), "{near:?} {far:?}");
    assert_eq!((near.read, far.written, near.written), (7, 7, 300_000));
}

#[test]
fn a_receiver_that_does_not_read_stops_its_own_sender_only() {
    let folder = tempfile::tempdir().unwrap();
    let pair = LinkedPair::start(folder.path(), "");
    let (program, _lazy) = pair.connect();
    program
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    // All room on the way fills: of sockets and of the two programs, which is little.
    let chunk = vec![7; 1 << 16];
    let mut taken = 0_usize;
    while let Ok(count) = (&program).write(&chunk) {
        taken += count;
        assert!(taken < 100 << 20, "there is no bound");
    }
    let (mut other, mut gateway) = pair.connect();
    let begun = Instant::now();
    for _ in 0..20 {
        other.write_all(b"ping").unwrap();
        let mut came = [0; 4];
        gateway.read_exact(&mut came).unwrap();
        gateway.write_all(&came).unwrap();
        other.read_exact(&mut came).unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    let (near, far) = pair.end();
    println!("{taken} bytes in all buffers, {near:?}");
    assert!(near.lost + far.dropped < 1 << 19, "{near:?} {far:?}");
}

#[test]
fn peers_without_a_handshake_hold_no_place() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "handshake_timeout = \"1s\"\nhandshakes = 20\nclients = 2";
    let pair = LinkedPair::start(folder.path(), keys);
    let (mut program, mut gateway) = pair.connect();
    // Silent ones, and some that write rubbish.
    let mut hostile = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", pair.network)).unwrap();
        if number % 2 == 0 {
            let _ = stream.write_all(&[number as u8; 100]);
        }
        hostile.push(stream);
        program.write_all(b"x").unwrap();
        gateway.read_exact(&mut [0]).unwrap();
    }
    // Two good ones are all that `clients` allows.
    let (_second, _other) = pair.connect();
    let third = TcpStream::connect(("127.0.0.1", pair.plain)).unwrap();
    third
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let ended = (&third).read(&mut [0]);
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    std::thread::sleep(Duration::from_millis(1500));
    let (_, far) = pair.end();
    println!("{far:?}");
    assert_eq!(far.connections, 203);
    assert_eq!(far.refused + far.displaced + far.late, 200, "{far:?}");
    // The other side may have ended first.
    assert_eq!((far.full, far.closed + far.broken), (1, 2), "{far:?}");
}

#[test]
fn what_cannot_be_reached_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut pair = LinkedPair::start(folder.path(), "");
    pair.gateway = TcpListener::bind("127.0.0.1:0").unwrap();
    let _program = TcpStream::connect(("127.0.0.1", pair.plain)).unwrap();
    pair.far.0.wait_for("cannot be reached");
    wait_for("the other side's end", || {
        pair.near.0.said().contains("it was cut")
            || pair.near.0.said().contains("the network")
            || pair.near.0.said().contains("it ends the connection")
    });
    let (_, far) = pair.end();
    assert_eq!(far.unreachable, 1);
}
