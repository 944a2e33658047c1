//! Two real gateways with this program between them, as docs/secure.md shows, and a hostile peer.

use crate::program::TestAuthority;
use crate::program::{SecureProcess, TestProcess, free_tcp, free_udp, wait_for, write_secret};
use cangate_secure::counters::LinkReport;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Number of frames of the log.
const FRAMES: usize = 200;

/// Returns the program `cangate`: `CANGATE` names it, or the main workspace has a debug build.
fn cangate() -> Option<PathBuf> {
    let named = std::env::var_os("CANGATE").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/cangate");
    let found = named.or(Some(built)).filter(|path| path.is_file());
    if found.is_none() {
        println!("SKIPPED because there is no cangate: build it, or name it by CANGATE");
    }
    found
}

/// Starts a gateway in a folder of its own.
fn start_gateway(program: &Path, folder: &Path, text: &str) -> TestProcess {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("gateway.toml"), text).unwrap();
    let mut gateway = Command::new(program);
    gateway.args(["run", "gateway.toml"]).current_dir(folder);
    gateway.env("XDG_RUNTIME_DIR", folder).stdout(Stdio::null());
    TestProcess::start(&mut gateway)
}

/// Returns a log; FD, 29 bits, remote and empty frames are among its frames if `is_all`.
fn log(is_all: bool) -> String {
    let line = |n: usize| {
        let frame = match n % 5 {
            0 => format!("{:03X}#{n:08X}", n % 0x800),
            1 => format!("{:08X}#{n:016X}", 0x18FE_0000 + n),
            2 if is_all => format!("123##5{n:024X}"),
            3 => "7FF#".to_owned(),
            _ if is_all => "345#R3".to_owned(),
            _ => format!("345#{n:08X}"),
        };
        format!("({:.6}) can0 {frame}\n", n as f64 * 0.005)
    };
    (0..FRAMES).map(line).collect()
}

/// Returns identifier and payload of each line of a log.
fn contents(log: &str) -> Vec<&str> {
    log.lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect()
}

/// Returns the file of a gateway that writes a log of what comes over a port.
fn writer(port: &str) -> String {
    format!(
        "[ports.far]\n{port}\n[ports.result]\nkind = \"log\"\nwrite = \"out.log\"\n\
         [[routes]]\nfrom = \"far\"\nto = \"result\"\n"
    )
}

/// Returns the file of a gateway that sends a log over a port.
fn reader(port: &str) -> String {
    format!(
        "[ports.near]\n{port}\n[ports.drive]\nkind = \"log\"\nread = \"in.log\"\n\
         [[routes]]\nfrom = \"drive\"\nto = \"near\"\n"
    )
}

/// Sends garbage and first messages of handshakes to a port until `stop`, from 200 sockets. They
/// are at another address of this machine, where they take no port of other tests.
fn attack(port: u16, stop: &AtomicBool) -> usize {
    let sockets: Vec<UdpSocket> = (0..200)
        .map(|_| UdpSocket::bind("127.0.0.2:0").unwrap())
        .collect();
    let mut hello = vec![22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 66];
    hello.extend_from_slice(&[1, 0, 0, 54, 0, 0, 0, 0, 0, 0, 0, 54, 0xFE, 0xFD]);
    hello.extend_from_slice(&[7; 32]);
    // No session, no cookie, one suite, no compression, extended master secret (RFC 7627).
    hello.extend_from_slice(&[0, 0, 0, 2, 0xC0, 0xA8, 1, 0]);
    hello.extend_from_slice(&[0, 10, 0, 23, 0, 0, 0, 35, 0, 2, 0, 0]);
    let mut sent = 0;
    while !stop.load(Relaxed) {
        for socket in &sockets {
            // A client of its own each time.
            hello[30..34].copy_from_slice(&(sent as u32).to_be_bytes());
            let rubbish = vec![sent as u8; sent % 1400];
            let _ = socket.send_to(&hello, ("127.0.0.1", port));
            let _ = socket.send_to(&rubbish, ("127.0.0.1", port));
            sent += 2;
            if sent % 40 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    sent
}

/// A log passes two gateways, by IEEE 1722 over DTLS.
fn datagrams(is_attacked: bool) {
    let Some(program) = cangate() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [near, near_plain, far, far_plain, network] = [0; 5].map(|_| free_udp());
    write_secret(&folder.join("v1.psk"), "00112233445566778899aabbccddeeff");
    let peer = |plain: u16, gateway: u16| {
        format!(
            "identity = \"v1\"\nkey = \"v1.psk\"\nplain = \"127.0.0.1:{plain}\"\n\
             gateway = \"127.0.0.1:{gateway}\"\n"
        )
    };
    let port = |listen: u16, connect: u16| {
        format!(
            "kind = \"ieee1722\"\nlisten = {listen}\nconnect = \"127.0.0.1:{connect}\"\n\
             reports = \"1s\"\n"
        )
    };
    let far_gateway = start_gateway(
        &program,
        &folder.join("far"),
        &writer(&port(far, far_plain)),
    );
    let listener = format!(
        "[[udp]]\nname = \"zone\"\nlisten = \"127.0.0.1:{network}\"\ntimeout = \"60s\"\n\
         [[udp.peers]]\n{}",
        peer(far_plain, far)
    );
    let listener = SecureProcess::start(folder, "far.toml", &listener);
    let stop = Arc::new(AtomicBool::new(false));
    let attacking = is_attacked.then(|| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || attack(network, &stop))
    });
    let connector = format!(
        "[[udp]]\nname = \"zone\"\nconnect = \"127.0.0.1:{network}\"\ntimeout = \"60s\"\n{}",
        peer(near_plain, near)
    );
    let connector = SecureProcess::start(folder, "near.toml", &connector);
    connector.0.wait_for("v1 has joined");
    // The far gateway opens its log before its port.
    wait_for("the far gateway", || {
        UdpSocket::bind(("127.0.0.1", far)).is_err()
    });

    let near_folder = folder.join("near");
    fs::create_dir_all(&near_folder).unwrap();
    fs::write(near_folder.join("in.log"), log(true)).unwrap();
    let near_gateway = start_gateway(&program, &near_folder, &reader(&port(near, near_plain)));
    let out = folder.join("far/out.log");
    let read = || fs::read_to_string(&out).unwrap_or_default();
    wait_for("all frames in the far log", || {
        read().lines().count() >= FRAMES
    });
    stop.store(true, Relaxed);
    near_gateway.signal("TERM");
    let (near_report, far_report) = (connector.end(), listener.end());
    far_gateway.signal("TERM");
    println!("{near_report:#?}\n{far_report:#?}");
    assert_eq!(contents(&read()), contents(&log(true)));
    let (
        LinkReport::Udp { peers: near, .. },
        LinkReport::Udp {
            network,
            handshakes,
            peers: far,
            ..
        },
    ) = (&near_report[0], &far_report[0])
    else {
        panic!("{near_report:?}");
    };
    // The report at the end of the gateway may come after the end of the session.
    let (sent, delivered) = (near[0].gateway.sent, far[0].gateway.delivered);
    assert!(
        sent >= FRAMES as u64 && sent - delivered <= 2,
        "{sent} {delivered}"
    );
    assert_eq!(far[0].gateway.sessions, 1);
    if let Some(attacking) = attacking {
        let sent = attacking.join().unwrap();
        println!("{sent} hostile datagrams");
        assert!(handshakes.cookies > 1000, "{handshakes:?}");
        assert_eq!(handshakes.completed, 1, "{handshakes:?}");
        assert!(network.malformed > 1000, "{network:?}");
    }
}

#[test]
fn a_log_passes_two_gateways_over_dtls() {
    datagrams(false);
}

#[test]
fn a_log_passes_beside_a_hostile_peer() {
    datagrams(true);
}

/// A log passes two gateways, by cannelloni over TLS.
#[test]
fn a_log_passes_two_gateways_over_tls() {
    let Some(program) = cangate() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = TestAuthority::new(folder, "test");
    authority.sign(folder, "near", false);
    authority.sign(folder, "far", false);
    let [far, plain, network] = [0; 3].map(|_| free_tcp());
    let files = |name: &str| {
        format!("authority = \"test-ca.pem\"\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\n")
    };
    let far_port = format!("kind = \"cannelloni\"\ntransport = \"tcp\"\nlisten = {far}\n");
    let far_gateway = start_gateway(&program, &folder.join("far"), &writer(&far_port));
    let listener = format!(
        "[[tcp]]\nname = \"bus\"\nlisten = \"127.0.0.1:{network}\"\n\
         gateway = \"127.0.0.1:{far}\"\n{}",
        files("far")
    );
    let listener = SecureProcess::start(folder, "far.toml", &listener);
    let connector = format!(
        "[[tcp]]\nname = \"bus\"\nplain = \"127.0.0.1:{plain}\"\n\
         connect = \"localhost:{network}\"\n{}",
        files("near")
    );
    let connector = SecureProcess::start(folder, "near.toml", &connector);
    let near_folder = folder.join("near");
    fs::create_dir_all(&near_folder).unwrap();
    // The port has no client at once, and frames without one are refused: so the log begins later.
    let late = log(false)
        .replace("(0.", "(2.")
        .replacen("(2.000000)", "(0.000000)", 1);
    fs::write(near_folder.join("in.log"), &late).unwrap();
    let near_port =
        format!("kind = \"cannelloni\"\ntransport = \"tcp\"\nconnect = \"127.0.0.1:{plain}\"\n");
    let near_gateway = start_gateway(&program, &near_folder, &reader(&near_port));
    let out = folder.join("far/out.log");
    let read = || fs::read_to_string(&out).unwrap_or_default();
    wait_for("the frames in the far log", || {
        read().lines().count() >= FRAMES - 1
    });
    near_gateway.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    let (near_report, far_report) = (connector.end(), listener.end());
    far_gateway.signal("TERM");
    println!("{near_report:#?}\n{far_report:#?}");
    let (log, out) = (late, read());
    let (expected, came) = (contents(&log), contents(&out));
    assert_eq!(came[came.len() + 1 - FRAMES..], expected[1..]);
    let (LinkReport::Tcp { streams: near, .. }, LinkReport::Tcp { streams: far, .. }) =
        (&near_report[0], &far_report[0])
    else {
        panic!("{near_report:?}");
    };
    assert_eq!((near.sent, far.received), (far.written, near.sent));
    assert_eq!((near.lost, far.dropped), (0, 0));
}
