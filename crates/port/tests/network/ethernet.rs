//! IEEE 1722 on Ethernet: a pair of interfaces in a network namespace, and tshark as witness.

use crate::common::{MS, TestPort, frame, parse};
use linux::packet::{FrameProtocol, PacketSocket};
use port::PortOpener;
use rustix::net::{SendFlags, netdevice::name_to_index, send};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

/// The variable that is set inside of a namespace.
const INSIDE: &str = "CANGATE_TEST_INSIDE";

/// Two interfaces that are connected. IPv6 would send frames of its own.
const PAIR: &str = "for name in all default; do echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6; done; \
                    ip link add veth0 address 02:00:00:00:00:01 type veth peer name veth1 \
                    address 02:00:00:00:00:02 && ip link set veth0 up && ip link set veth1 up && exec \"$0\" \"$@\"";

/// Runs a test of this module again, by a command before it; returns whether this process is to run
/// it, because it was started so.
fn is_inside(test: &str, command: &[&str]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output();
    let Ok(output) = output else {
        eprintln!("SKIPPED because there is no {}", command[0]);
        return false;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    let words = String::from_utf8_lossy(&output.stdout);
    // The test itself has not begun.
    if !output.status.success() && !words.contains("running 1 test") {
        eprintln!("SKIPPED because this machine allows no such namespace: {errors}");
        return false;
    }
    assert!(output.status.success(), "{words}{errors}");
    assert!(words.contains("1 passed"), "{words}");
    if errors.contains("SKIPPED") {
        eprintln!("{errors}");
    }
    false
}

/// Returns the bytes of a frame on Ethernet from a sender to `veth1`, padded to the least length.
fn ethernet(from: u8, hex: &str) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, from, 0x22, 0xF0];
    let digits: String = hex.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    bytes.extend((0..digits.len() / 2).map(byte));
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

#[test]
fn frames_pass_on_ethernet() {
    let command = ["unshare", "-rn", "sh", "-c", PAIR];
    if !is_inside("ethernet::frames_pass_on_ethernet", &command) {
        return;
    }
    let end = |own: u8, more: &str| {
        let (name, peer) = (own - 1, 3 - own);
        format!(
            "[ports.p{own}]\nkind = 'ieee1722'\ninterface = 'veth{name}'\n\
             peer = '02:00:00:00:00:0{peer}'\n{more}"
        )
    };
    let near = end(1, "urgent = '000-0FF'\nvlan_priority = 6");
    let [mut near, mut far] = TestPort::open_all([&near, &end(2, "")]);
    let mut tshark = tshark(4);
    let frames = [
        "123#11223344",
        "010#55",
        "124##1112233445566778899AABBCC",
        "125#",
    ]
    .map(frame);
    for frame in &frames {
        assert!(near.send(frame, 0));
        near.flush(0);
    }
    far.until(MS, |port| port.received.len() == 4);
    assert_eq!(far.received, frames);
    assert!(far.send(&frames[0], MS));
    far.flush(MS);
    near.until(MS, |port| port.received.len() == 1);
    let rx = far.rx();
    assert_eq!(
        (rx.datagrams, rx.missing, rx.malformed, rx.denied),
        (4, 0, 0, 0)
    );
    if let Some(lines) = tshark.take().map(Witness::lines) {
        let line = |priority: u8, id: &str| {
            format!("02:00:00:00:00:02|{priority}|0x22f0|0xaabbccddeeff0001|0x{id}")
        };
        let ids = ["00000123", "00000010", "00000124", "00000125"];
        let expected: Vec<String> = (0..4)
            .map(|n| line(if n == 1 { 6 } else { 0 }, ids[n]))
            .collect();
        assert_eq!(lines, expected);
    }
    // What Open1722's `acf-can-bridge` sent, padded as an interface pads it; and a stranger.
    let bridge = "82801400 aabbccddeeff0001 02052200 18eb567624b4928c 00000123 11223344";
    let packet = PacketSocket::open().unwrap();
    let index = name_to_index(&packet, "veth0").unwrap();
    packet.attach(index, FrameProtocol::Avtp).unwrap();
    for from in [1, 9] {
        send(&packet, &ethernet(from, bridge), SendFlags::empty()).unwrap();
    }
    far.until(MS, |port| port.rx().denied == 1);
    assert_eq!(far.received[4..], [frame("123##011223344")]);
    assert_eq!(far.rx().malformed, 0);
}

/// tshark on `veth1`.
struct Witness(std::process::Child);

impl Witness {
    fn lines(mut self) -> Vec<String> {
        let mut text = String::new();
        let mut out = self.0.stdout.take().unwrap();
        out.read_to_string(&mut text).unwrap();
        self.0.wait().unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// Starts tshark for a number of frames; `None` where there is none, or it may not capture.
fn tshark(frames: u32) -> Option<Witness> {
    let mut command = Command::new("tshark");
    command.args([
        "-l",
        "-i",
        "veth1",
        "-c",
        &frames.to_string(),
        // It ends in any case.
        "-a",
        "duration:60",
    ]);
    command.args(["-T", "fields", "-E", "separator=|"]);
    for field in [
        "eth.dst",
        "vlan.priority",
        "vlan.etype",
        "ntscf.stream_id",
        "can.id",
    ] {
        command.args(["-e", field]);
    }
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("SKIPPED because there is no tshark: `cargo xtask setup` installs it");
        return None;
    };
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = errors.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.contains("Capturing on"))
    });
    if begun.is_none() {
        eprintln!("SKIPPED because tshark may not capture here");
        return None;
    }
    // It says so shortly before it listens; what it writes later must not fill the pipe.
    std::thread::spawn(move || errors.count());
    std::thread::sleep(std::time::Duration::from_millis(500));
    Some(Witness(child))
}

/// Without CAP_NET_RAW, the error names it.
#[test]
fn a_missing_privilege_is_named() {
    let test = "ethernet::a_missing_privilege_is_named";
    if !is_inside(test, &["unshare", "-U"]) {
        return;
    }
    let table = "[ports.p]\nkind = 'ieee1722'\ninterface = 'lo'";
    let opened = parse(table).0.unwrap().open(&mut PortOpener::new(0, 0));
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("CAP_NET_RAW"), "{error}");
}

#[test]
fn ends_are_on_udp_or_on_ethernet() {
    let messages = |more: &str| parse(&format!("[ports.p]\nkind = 'ieee1722'\n{more}")).1;
    assert_eq!(messages("interface = 'eth0'"), [""; 0]);
    assert_eq!(messages(""), ["port `p` needs `connect`"]);
    assert_eq!(
        messages("interface = 'eth0'\nconnect = 'h:1'\nallow = '192.0.2.1'"),
        ["`connect` is for UDP", "`allow` is for UDP"]
    );
    assert_eq!(
        messages("connect = 'h:1'\npeer = '02:00:00:00:00:07'\nvlan_priority = 3"),
        ["`peer` is for Ethernet", "`vlan_priority` is for Ethernet"]
    );
    assert_eq!(
        messages("interface = 'eth0'\npeer = '2:0'"),
        ["`peer`: `2:0` is not a valid hardware address"]
    );
}
