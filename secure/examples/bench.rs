//! The cost of a datagram: two links on this machine, between two sockets that stand for gateways.
//!
//! ```sh
//! cargo run --release --example bench
//! ```

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

use cangate_secure::run::{LinkSecrets, RunningLinks};
use cangate_secure::settings::{SecureSettings, load};
use config::{Diagnostics, SourceText};
use std::fs::{self, Permissions};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Round trips of each measurement of latency.
const ROUNDS: usize = 20_000;

/// The time of each measurement of throughput.
const TIME: Duration = Duration::from_secs(3);

/// Datagrams that may be under way when throughput is measured.
const WINDOW: u32 = 32;

fn main() {
    let (near, far) = (socket(), socket());
    let (near_plain, far_plain) = (free(), free());
    let folder = std::env::temp_dir().join(format!("cangate-secure-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut links = start(&folder, [&near, &far], [near_plain, far_plain]);
    println!("| datagram | path | one way, p50 | p99 | datagrams/s, one way |");
    println!("|---|---|---|---|---|");
    for size in [18, 1400] {
        near.connect(far.local_addr().unwrap()).unwrap();
        far.connect(near.local_addr().unwrap()).unwrap();
        measure(&near, &far, size, "one socket to the other");
        near.connect(near_plain).unwrap();
        far.connect(far_plain).unwrap();
        wait_for_session(&near, &far);
        measure(&near, &far, size, "over two cangate-secure");
    }
    for report in links.end() {
        assert!(report.is_balanced(), "{report:?}");
        eprint!("{}", report.text());
    }
    fs::remove_dir_all(&folder).unwrap();
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    socket
}

fn free() -> SocketAddr {
    socket().local_addr().unwrap()
}

/// Starts two links, each beside one of the sockets.
fn start(folder: &Path, gateways: [&UdpSocket; 2], plain: [SocketAddr; 2]) -> RunningLinks {
    let key = folder.join("v1.psk");
    fs::write(&key, "00112233445566778899aabbccddeeff").unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let network = free();
    let peer = |side: usize| {
        let gateway = gateways[side].local_addr().unwrap();
        format!(
            "identity = \"v1\"\nkey = \"v1.psk\"\nplain = \"{}\"\ngateway = \"{gateway}\"\n",
            plain[side]
        )
    };
    let text = format!(
        "[[udp]]\nname = \"far\"\nlisten = \"{network}\"\n[[udp.peers]]\n{}\
         [[udp]]\nname = \"near\"\nconnect = \"{network}\"\n{}",
        peer(1),
        peer(0)
    );
    let settings = settings(&text);
    let secrets = LinkSecrets::read(&settings, folder).unwrap();
    RunningLinks::start(&settings, secrets).unwrap()
}

fn settings(text: &str) -> SecureSettings {
    let source = SourceText::new("bench.toml", text);
    let mut found = Diagnostics::new();
    let settings = load(&source, &mut found);
    settings.unwrap_or_else(|| panic!("{:?}", found.list()))
}

fn wait_for_session(near: &UdpSocket, far: &UdpSocket) {
    let mut buffer = [0; 2000];
    for _ in 0..100 {
        near.send(b"hello").unwrap();
        if far.recv(&mut buffer).is_ok() {
            // What else is under way.
            while far.recv(&mut buffer).is_ok() {}
            return;
        }
    }
    panic!("there is no session");
}

fn measure(near: &UdpSocket, far: &UdpSocket, size: usize, path: &str) {
    let mut times = latencies(near, far, size);
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_nanos() as f64 / 1000.0;
    let rate = throughput(near, far, size);
    println!(
        "| {size} bytes | {path} | {:.1} µs | {:.1} µs | {rate:.0} |",
        at(0.5),
        at(0.99)
    );
}

/// Returns half of the time of each round trip.
fn latencies(near: &UdpSocket, far: &UdpSocket, size: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 2000];
            for _ in 0..ROUNDS {
                // One that is lost is not returned; the other thread goes on after a time.
                if let Ok(len) = far.recv(&mut buffer) {
                    let _ = far.send(&buffer[..len]);
                }
            }
        });
        let mut buffer = vec![7; size];
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            near.send(&buffer).unwrap();
            if near.recv(&mut buffer).is_ok() {
                times.push(begun.elapsed() / 2);
            }
        }
    });
    if times.len() < ROUNDS {
        eprintln!(
            "{} round trips took longer than 2 s, or are lost",
            ROUNDS - times.len()
        );
    }
    assert!(times.len() > ROUNDS / 2, "round trips are lost");
    times
}

/// Returns datagrams a second in one direction. The receiver returns each sixteenth, so that no
/// socket's room is exceeded.
fn throughput(near: &UdpSocket, far: &UdpSocket, size: usize) -> f64 {
    let begun = Instant::now();
    let mut received = 0_u32;
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut buffer = [0; 2000];
            let mut count = 0_u32;
            while far.recv(&mut buffer).is_ok() {
                count += 1;
                if count.is_multiple_of(WINDOW / 2) {
                    let _ = far.send(&count.to_be_bytes());
                }
            }
            count
        });
        let datagram = vec![7; size];
        let (mut sent, mut known) = (0_u32, 0);
        while begun.elapsed() < TIME {
            while sent - known < WINDOW {
                near.send(&datagram).unwrap();
                sent += 1;
            }
            let mut count = [0; 4];
            if near.recv(&mut count).is_err() {
                // Something was lost: go on from here.
                known = sent;
            } else {
                known = known.max(u32::from_be_bytes(count).min(sent));
            }
        }
        received = counting.join().unwrap();
    });
    f64::from(received) / TIME.as_secs_f64()
}
