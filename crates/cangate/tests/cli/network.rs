//! Ports on IP networks with python-can as the peer, through `cangate run` on the loopback
//! interface.

use crate::gateway::{Gateway, frames, row};
use crate::python_can::python_with;
use crate::{cangate, stderr};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest time for a line of the peer: a message that is lost must fail the test.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);

/// A script that opens a bus with python-can, sends the messages of its input, and prints those
/// that it receives. Without the network that the bus needs, it prints why.
const PEER: &str = r#"
import sys, threading, can
def words(m):
    return " ".join([f"{m.arbitration_id:X}{'x' if m.is_extended_id else ''}",
        f"{int(m.is_error_frame)}{int(m.is_remote_frame)}{int(m.is_fd)}{int(m.bitrate_switch)}{int(m.error_state_indicator)}",
        str(m.dlc), m.data.hex().upper() or "-"])
options = dict(word.split("=", 1) for word in sys.argv[1:])
for name in ("port", "bitrate", "sleep_after_open"):
    if name in options:
        options[name] = int(options[name])
try:
    bus = can.Bus(**options)
except can.CanInitializationError as error:
    print(f"no bus: {error}", flush=True)
    sys.exit()
print("ready", flush=True)
def receive():
    while True:
        try:
            m = bus.recv(1)
        except can.CanError:
            return
        if m is not None:
            print(words(m), flush=True)
threading.Thread(target=receive, daemon=True).start()
for line in sys.stdin:
    name, flags, dlc, data = line.split()
    error, rtr, fd, brs, esi = (c == "1" for c in flags)
    bus.send(can.Message(arbitration_id=int(name.rstrip("x"), 16), is_extended_id=name.endswith("x"),
        is_error_frame=error, is_remote_frame=rtr, is_fd=fd, bitrate_switch=brs, error_state_indicator=esi,
        dlc=int(dlc), data=bytes.fromhex(data) if data != "-" else None))
"#;

/// Messages in the words of the script, and as candump writes them.
const CLASSIC: [(&str, &str); 4] = [
    ("123 00000 4 11223344", "123#11223344"),
    (
        "1ABCDEF0x 00000 8 0102030405060708",
        "1ABCDEF0#0102030405060708",
    ),
    ("7FF 00000 0 -", "7FF#"),
    ("123x 00000 1 FF", "00000123#FF"),
];
const REMOTE: [(&str, &str); 2] = [("123 01000 5 -", "123#R5"), ("7x 01000 0 -", "00000007#R")];
const FD: [(&str, &str); 3] = [
    ("123 00100 2 AABB", "123##4AABB"),
    (
        "1ABCDEF0x 00110 12 112233445566778899AABBCC",
        "1ABCDEF0##5112233445566778899AABBCC",
    ),
    ("321 00110 0 -", "321##5"),
];
const ESI: [(&str, &str); 1] = [("123 00111 1 55", "123##755")];

/// A program with python-can, ended when the test ends.
struct PythonPeer {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Drop for PythonPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl PythonPeer {
    /// Starts it, and waits until its bus is open. `Err` is the reason why it has none.
    fn start(python: &Path, options: &[&str]) -> Result<Self, String> {
        let mut child = Command::new(python)
            .args(["-c", PEER])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let peer = Self {
            child,
            input,
            lines,
        };
        match &*peer.line() {
            "ready" => Ok(peer),
            other => Err(other.to_owned()),
        }
    }

    /// Returns the next line.
    fn line(&self) -> String {
        let line = self.lines.recv_timeout(LINE_TIMEOUT);
        line.expect("the peer prints a line")
    }

    fn send(&mut self, message: &str) {
        writeln!(self.input, "{message}").unwrap();
    }
}

/// Routes between the standard streams and the port `net`.
fn routes(table: &str) -> String {
    format!(
        "[ports.net]\n{table}\n[[routes]]\nfrom = \"in\"\nto = \"net\"\n[[routes]]\nfrom = \"net\"\nto = \"out\"\n"
    )
}

fn received(gateway: &Gateway, port: &str) -> u64 {
    row(&gateway.stats()["ports"], port)["received"]
        .as_u64()
        .unwrap()
}

/// Sends all messages both ways through a gateway with this port, and compares what arrives.
fn exchange(python: &Path, table: &str, options: &[&str], messages: &[(&str, &str)]) {
    let mut gateway = Gateway::start(&routes(table));
    let mut peer = match PythonPeer::start(python, options) {
        Ok(peer) => peer,
        // Only a group needs more than the loopback interface of every machine.
        Err(why) if why.starts_with("no bus:") && options.contains(&"interface=udp_multicast") => {
            eprintln!("SKIPPED because python-can has {why}");
            return;
        }
        Err(why) => panic!("{options:?}: {why:?}"),
    };
    // A stream is open when the gateway has noticed it; a frame before is refused.
    gateway.until("the peer is there", |gateway| {
        let stats = gateway.stats();
        let state = row(&stats["ports"], "net")["state"].clone();
        state == "up"
    });
    for (words, _) in messages {
        peer.send(words);
    }
    let count = messages.len() as u64;
    gateway.until("its messages arrive", |gateway| {
        received(gateway, "net") >= count
    });
    let lines: Vec<&str> = messages.iter().map(|(_, line)| *line).collect();
    gateway.feed(&lines);
    for (words, line) in messages {
        assert_eq!(peer.line(), *words, "{options:?} {line}");
    }
    let stats = gateway.stats();
    let net = row(&stats["ports"], "net");
    assert_eq!(net["received"], count, "{net}");
    assert_eq!(
        (&net["tx"]["sent"], &net["rx"]["malformed"]),
        (&count.into(), &0.into()),
        "{net}"
    );
    gateway.signal("INT");
    let (output, written) = gateway.end();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(frames(&written), lines, "{options:?}");
}

fn free_tcp() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[test]
fn python_can_connects_by_slcan() {
    let Some(python) = python_with("can, serial", "python-can pyserial") else {
        return;
    };
    let port = free_tcp();
    let channel = format!("channel=socket://127.0.0.1:{port}");
    let options = [
        "interface=slcan",
        &channel,
        "bitrate=500000",
        "sleep_after_open=0",
    ];
    let messages = [&CLASSIC[..], &REMOTE, &FD].concat();
    exchange(
        &python,
        &format!("kind = \"slcan\"\nlisten = {port}"),
        &options,
        &messages,
    );
}

#[test]
fn python_can_connects_by_socketcand() {
    let Some(python) = python_with("can", "python-can") else {
        return;
    };
    let port = free_tcp();
    let number = format!("port={port}");
    let options = [
        "interface=socketcand",
        "host=127.0.0.1",
        &number,
        "channel=vcan0",
    ];
    let table = format!("kind = \"socketcand\"\nlisten = {port}\nname = \"vcan0\"");
    exchange(&python, &table, &options, &CLASSIC);
}

#[test]
fn python_can_shares_a_multicast_group() {
    let Some(python) = python_with("can, msgpack", "python-can msgpack") else {
        return;
    };
    if crate::is_emulated() {
        println!("SKIPPED because an emulated program cannot join a multicast group (ENODEV)");
        return;
    }
    let port = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let number = format!("port={port}");
    let options = ["interface=udp_multicast", "channel=239.74.163.2", &number];
    let messages = [&CLASSIC[..], &REMOTE, &FD, &ESI].concat();
    exchange(
        &python,
        &format!("kind = \"multicast\"\nport = {port}"),
        &options,
        &messages,
    );
}

/// python-can finds the buses by the beacon, which it awaits at a fixed port.
#[test]
fn python_can_finds_the_buses() {
    const SCRIPT: &str = "import can\nfor config in can.detect_available_configs('socketcand'): \
        print(config['host'], config['port'], config['channel'])";
    let Some(python) = python_with("can", "python-can") else {
        return;
    };
    if UdpSocket::bind("0.0.0.0:42000").is_err() {
        eprintln!("SKIPPED because another program has UDP port 42000");
        return;
    }
    let port = free_tcp();
    let table = format!(
        "kind = \"socketcand\"\nlisten = {port}\nname = \"can0\"\nbeacon = \"127.0.0.1:42000\"\n\
         [ports.other]\nkind = \"socketcand\"\nlisten = {port}\nname = \"body\"\n\
         beacon = \"127.0.0.1:42000\""
    );
    let _gateway = Gateway::start(&routes(&table));
    let mut command = assert_cmd::Command::new(&python);
    let found = crate::stdout(command.args(["-c", SCRIPT]), 0);
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    let expected = ["body", "can0"].map(|name| format!("127.0.0.1 {port} {name}"));
    assert_eq!(found, expected);
}

/// Classic frames only: can-cannelloni has no FD, and no length of remote frames.
#[test]
fn can_cannelloni_connects_by_tcp() {
    let Some(python) = python_with("can, can_cannelloni", "can-cannelloni") else {
        return;
    };
    let port = free_tcp();
    let channel = format!("channel=127.0.0.1:{port}");
    let table = format!("kind = \"cannelloni\"\ntransport = \"tcp\"\nlisten = {port}");
    let messages = [&CLASSIC[..], &REMOTE[1..]].concat();
    exchange(
        &python,
        &table,
        &["interface=cannelloni", &channel],
        &messages,
    );
}

/// Two programs of python-can, on two ports of an embedded bus: one listener serves both.
#[test]
fn programs_meet_on_an_embedded_bus() {
    let Some(python) = python_with("can", "python-can") else {
        return;
    };
    let port = free_tcp();
    let sides = ["a", "b"].map(|name| {
        format!(
            "[ports.client-{name}]\nkind = \"socketcand\"\nlisten = {port}\nname = \"{name}\"\n\
             [ports.node-{name}]\nkind = \"bus\"\nbus = \"body\"\n\
             [[routes]]\nfrom = \"client-{name}\"\nto = \"node-{name}\"\n\
             [[routes]]\nfrom = \"node-{name}\"\nto = \"client-{name}\"\n"
        )
    });
    let gateway = Gateway::start(&sides.concat());
    let number = format!("port={port}");
    let [mut a, mut b] = ["channel=a", "channel=b"].map(|channel| {
        let options = ["interface=socketcand", "host=127.0.0.1", &number, channel];
        PythonPeer::start(&python, &options).unwrap()
    });
    gateway.until("both are there", |gateway| {
        let stats = gateway.stats();
        let is_up = |name: &str| row(&stats["ports"], name)["state"] == "up";
        is_up("client-a") && is_up("client-b")
    });
    for (words, _) in CLASSIC {
        a.send(words);
        assert_eq!(b.line(), words);
        b.send(words);
        assert_eq!(a.line(), words);
    }
}

#[test]
fn check_warns_of_what_the_other_side_cannot_express() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let warnings = |net: &str, route: &str| {
        let text = format!(
            "[ports.can0]\nkind = \"socketcan\"\nfd = false\n[ports.net]\n{net}\n\
             [[routes]]\nname = \"r\"\nfrom = \"can0\"\nto = \"net\"\n{route}\n"
        );
        std::fs::write(&file, text).unwrap();
        stderr(cangate().arg("check").arg(&file), 0)
    };
    let remote = "remote frames never leave by port `net`: route `r` counts them as refused";
    let stamps = "`keep_stamp` has no effect at port `net` of route `r`";
    let strangers = "every machine that can connect here can send to the buses behind this port";
    let socketcand = "kind = \"socketcand\"\nlisten = 29536";
    let daemon = "kind = \"socketcand\"\nconnect = \"h:29536\"";
    let cannelloni = "kind = \"cannelloni\"\nlisten = 20000\nconnect = \"h:20000\"";
    let open = "kind = \"slcan\"\nlisten = \"0.0.0.0:3333\"";
    let gaps = "the other side of port `net` gets the times of sending, not those on the bus";
    let avtp = "kind = \"ieee1722\"\nconnect = \"h:17220\"";
    let delayed = "kind = \"ieee1722\"\nconnect = \"h:17220\"\ndelay = \"20ms\"";
    let cases: [(&str, &str, &[&str]); 11] = [
        (socketcand, "", &[remote]),
        (socketcand, "rtr = false", &[]),
        (socketcand, "rtr = false\nkeep_stamp = true", &[]),
        (daemon, "rtr = false\nkeep_stamp = true", &[stamps]),
        (daemon, "keep_stamp = true", &[remote, stamps]),
        (cannelloni, "", &[]),
        (cannelloni, "keep_stamp = true", &[stamps]),
        (open, "", &[strangers]),
        (avtp, "", &[]),
        (delayed, "", &[gaps]),
        (delayed, "keep_stamp = true", &[]),
    ];
    for (net, route, expected) in cases {
        let text = warnings(net, route);
        for warning in [remote, stamps, strangers, gaps] {
            assert_eq!(
                text.contains(warning),
                expected.contains(&warning),
                "{net} {route}: {text}"
            );
        }
    }
    let fd = warnings("kind = \"slcan\"\nlisten = 3333", "");
    assert_eq!(
        fd, "",
        "slcan has remote frames, and there is no other warning"
    );
}
