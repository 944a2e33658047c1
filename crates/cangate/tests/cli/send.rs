//! `cangate send`: to ports of every kind that a machine without CAN has, and into a gateway.

use crate::gateway::{Gateway, frames, row};
use crate::{cangate, stderr, text};
use assert_cmd::Command;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A gateway file with a log to write, in a folder of its own.
struct SendFolder(TempDir);

impl SendFolder {
    fn new(ports: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let other = "[ports.other]\nkind = \"bus\"\n";
        let routes = "[[routes]]\nfrom = \"other\"\nto = \"out\"\n";
        folder.write("gateway.toml", &format!("{ports}\n{other}\n{routes}"));
        folder
    }

    fn log() -> Self {
        Self::new("[ports.out]\nkind = \"log\"\nwrite = \"out.log\"\ninterface = \"can7\"\n")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// Returns the command that sends to the port `out` of the file.
    fn send(&self) -> Command {
        let mut command = cangate();
        command.current_dir(self.0.path());
        command.args(["send", "--config", "gateway.toml", "--port", "out"]);
        command
    }
}

#[test]
fn frames_of_every_kind_are_sent_as_they_are_written() {
    let folder = SendFolder::log();
    let all = [
        "123#1122",
        "00000123#R5",
        "18DAF110##1AABB",
        "7FF#0011223344556677_F",
        "45123#81:00:12345678#AA",
    ];
    let err = stderr(folder.send().args(all), 0);
    assert_eq!(err, "5 frames = 5 sent\n");
    let log = folder.read("out.log");
    let written: Vec<String> = frames(&log)
        .iter()
        .map(|frame| frame.replace("##5", "##1"))
        .collect();
    assert_eq!(written, all);
    assert!(log.lines().all(|line| line.contains(" can7 ")), "{log}");
}

#[test]
fn rounds_keep_their_period() {
    let folder = SendFolder::log();
    let options = [
        "--every", "2ms", "--count", "25", "--json", "123#11", "124#22",
    ];
    let output = folder.send().args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let sums: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&sums["frames"], &sums["sent"]), (&50.into(), &50.into()));
    let late = |key: &str| sums["late"][key].as_u64().unwrap();
    assert!(late("max_ns") >= late("mean_ns"));
    let log = folder.read("out.log");
    assert_eq!(frames(&log), ["123#11", "124#22"].repeat(25));
    // Only that no round is early: a machine that is busy makes them late.
    let stamps: Vec<f64> = log
        .lines()
        .map(|line| line[1..line.find(')').unwrap()].parse().unwrap())
        .collect();
    let ran = stamps.last().unwrap() - stamps[0];
    assert!(ran >= 0.002 * 24.0 - 0.0001, "{ran}");
}

#[test]
fn lines_are_sent_while_they_are_read() {
    let folder = SendFolder::log();
    folder.write(
        "drive.log",
        "# a drive\n(10.000000) can0 123#11\n(10.001000) can1 124#22 R\n125#33\n",
    );
    let err = stderr(
        folder.send().args(["--read", "drive.log", "--keep-timing"]),
        0,
    );
    assert!(err.starts_with("3 frames = 3 sent; late by "), "{err}");
    assert_eq!(
        frames(&folder.read("out.log")),
        ["123#11", "124#22", "125#33"]
    );
    let input = "123#11\n  can0  124   [1]  22\n125#3\n126#44\n";
    let output = folder
        .send()
        .args(["--read", "-"])
        .write_stdin(input)
        .output()
        .unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(
        err.contains("standard input:2: ") && err.contains("candump -L"),
        "{err}"
    );
    assert!(err.contains("standard input:3: "), "{err}");
    assert!(
        err.contains("2 frames = 2 sent") && err.contains("2 lines were not frames"),
        "{err}"
    );
    assert_eq!(frames(&folder.read("out.log")), ["123#11", "126#44"]);
}

/// A message with a protection by profile 01, Data ID 0x123. The checksum of a payload of zeros is
/// that of AUTOSAR's example (see crates/e2e/tests/vectors).
const DATABASE: &str = "BU_: Engine Door\n\
    BO_ 256 Protected: 8 Engine\n \
    SG_ Crc : 0|8@1+ (1,0) [0|255] \"\" Door\n \
    SG_ Count : 8|4@1+ (1,0) [0|14] \"\" Door\n\
    BO_ 291 EngineData: 8 Engine\n \
    SG_ EngineSpeed : 0|16@1+ (0.25,0) [0|8000] \"rpm\" Door\n \
    SG_ Gear : 16|4@1+ (1,0) [0|15] \"\" Door\n \
    SG_ Spare : 24|8@1+ (1,0) [0|255] \"\" Door\n\
    BA_DEF_ BO_ \"E2EProfile\" STRING ;\nBA_DEF_ BO_ \"E2EDataId\" STRING ;\n\
    BA_DEF_ BO_ \"E2ECounterSignal\" STRING ;\nBA_DEF_ BO_ \"E2ECrcSignal\" STRING ;\n\
    BA_DEF_ SG_ \"GenSigStartValue\" INT 0 255 ;\n\
    BA_DEF_DEF_ \"E2EProfile\" \"\" ;\nBA_DEF_DEF_ \"E2EDataId\" \"\" ;\n\
    BA_DEF_DEF_ \"E2ECounterSignal\" \"\" ;\nBA_DEF_DEF_ \"E2ECrcSignal\" \"\" ;\n\
    BA_ \"E2EProfile\" BO_ 256 \"P01\" ;\nBA_ \"E2EDataId\" BO_ 256 \"0x123\" ;\n\
    BA_ \"E2ECounterSignal\" BO_ 256 \"Count\" ;\nBA_ \"E2ECrcSignal\" BO_ 256 \"Crc\" ;\n\
    BA_ \"GenSigStartValue\" SG_ 291 Spare 7 ;\n\
    VAL_ 291 Gear 1 \"First\" 2 \"Second\" ;\n";

#[test]
fn a_message_is_sent_by_its_name_and_signals() {
    let folder = SendFolder::log();
    folder.write("body.dbc", DATABASE);
    let send = |signals: &[&str]| {
        let mut command = folder.send();
        command.args(["--database", "body.dbc", "--message", "EngineData"]);
        for signal in signals {
            command.args(["--signal", signal]);
        }
        command
    };
    stderr(&mut send(&["EngineSpeed=1500rpm", "Gear=Second"]), 0);
    // 1500 rpm are raw 6000 = 0x1770; the start value of Spare is 7.
    assert_eq!(frames(&folder.read("out.log")), ["123#7017020700000000"]);
    let err = stderr(&mut send(&["EngineSpeed=1500"]), 0);
    assert!(err.contains("not set are sent as raw 0: Gear\n"), "{err}");
    for (signals, words) in [
        (
            &["EngineSpeed=1500km/h"][..],
            "has the unit rpm, and not km/h",
        ),
        (&["EngineSpeed=9000"], "the database allows 0 to 8000 rpm"),
        (&["EngineSpeed=0.1"], "between the values 0 and 0.25"),
        (&["EngineSped=1"], "did you mean `EngineSpeed`?"),
        (&["Gear=Reverse"], "give a number, or one of First, Second"),
        (&["Gear=1", "Gear=2"], "signal Gear is set twice"),
        (&["Gear"], "write SIGNAL=VALUE"),
        (&["Gear=1 m"], "signal Gear has no unit"),
    ] {
        let err = stderr(&mut send(signals), 2);
        assert!(err.contains(words), "{err}");
    }
    let err = stderr(
        folder
            .send()
            .args(["--database", "body.dbc", "--message", "EngineDate"]),
        2,
    );
    assert!(err.contains("did you mean `EngineData`?"), "{err}");
}

#[test]
fn the_protection_of_a_message_is_computed() {
    let folder = SendFolder::log();
    folder.write("body.dbc", DATABASE);
    let message = ["--database", "body.dbc", "--message", "Protected"];
    stderr(folder.send().args(message).args(["--count", "16"]), 0);
    let log = folder.read("out.log");
    let sent = frames(&log);
    assert_eq!(sent[0], "100#CC00000000000000");
    // The counter runs from 0 to 14.
    let counters: Vec<u8> = sent
        .iter()
        .map(|frame| frame.as_bytes()[7] - b'0')
        .collect();
    assert_eq!(counters[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(sent[15], sent[0]);
    let err = stderr(folder.send().args(message).args(["--signal", "Count=3"]), 2);
    assert!(
        err.contains("is computed by the end-to-end protection"),
        "{err}"
    );
    folder.write("body.dbc", &DATABASE.replace("\"P01\"", "\"P99\""));
    let err = stderr(folder.send().args(message), 0);
    assert!(
        err.contains("is sent without its end-to-end protection"),
        "{err}"
    );
}

/// A datagram as cannelloni 1 sends it: version 2, op code 0, sequence number, number of frames;
/// each frame with its ID, length and data.
#[test]
fn a_port_on_a_network_sends_datagrams() {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let address = peer.local_addr().unwrap();
    // A port that was free a moment ago.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap().port();
    drop(free);
    let folder = SendFolder::new(&format!(
        "[ports.out]\nkind = \"cannelloni\"\nlisten = {listen}\nconnect = \"{address}\"\n"
    ));
    let err = stderr(folder.send().arg("123#1122"), 0);
    assert_eq!(err, "1 frame = 1 sent\n");
    let mut datagram = [0; 100];
    let length = peer.recv(&mut datagram).unwrap();
    assert_eq!(
        datagram[..length],
        [2, 0, 0, 0, 1, 0, 0, 1, 0x23, 2, 0x11, 0x22]
    );
}

#[test]
fn a_frame_that_is_not_sent_is_an_error_with_its_reason() {
    let folder = SendFolder::new("[ports.out]\nkind = \"bus\"\nbus = \"b\"\nbitrate = 500000\n");
    let err = stderr(folder.send().args(["123##1AA", "124##0"]), 3);
    assert!(err.contains("2 frames = 2 refused"), "{err}");
    assert!(err.contains("out cannot carry this kind of frame"), "{err}");
    for (args, words) in [
        (&["send"][..], "no port is given"),
        (&["send", "123#11"], "cangate send can0 123#11"),
        (&["send", "can0"], "no frame is given"),
        (&["send", "can0", "123#1"], "is not a frame"),
        (
            &["send", "can0", "123#11", "--every", "1us"],
            "from 10us to 24h",
        ),
        (
            &["send", "can0", "123#11", "--read", "-"],
            "put all of them into the file",
        ),
    ] {
        let err = stderr(cangate().args(args), 2);
        assert!(err.contains(words), "{args:?}: {err}");
    }
    let err = stderr(cangate().args(["send", "no-such-if", "123#11"]), 1);
    assert!(err.contains("no-such-if"), "{err}");
}

/// Routes, and a port by which clients may send.
fn with_port(inject: &str) -> String {
    format!(
        "[ports.extra]\nkind = \"log\"\nwrite = \"extra.log\"\ninterface = \"can8\"\n{inject}\n\
         [[routes]]\nname = \"all\"\nfrom = \"in\"\nto = [\"out\", \"extra\"]\n"
    )
}

fn send_to(gateway: &Gateway, port: &str, more: &[&str]) -> Command {
    let mut command = cangate();
    command.args(["send", "--to", port, "--socket"]);
    command.arg(gateway.socket()).args(more);
    command
}

#[test]
fn a_gateway_takes_frames_if_its_file_allows_it_and_counts_them() {
    let mut gateway = Gateway::start(&with_port(""));
    let err = stderr(&mut send_to(&gateway, "extra", &["123#11"]), 2);
    assert!(
        err.contains("add `inject = true` to [ports.extra]"),
        "{err}"
    );
    let err = stderr(&mut send_to(&gateway, "body", &["123#11"]), 2);
    assert!(
        err.contains("no port `body`; it has in, out, extra"),
        "{err}"
    );
    gateway.write_routes(&with_port("inject = true"));
    assert!(gateway.control("reload", &[]).status.success());
    gateway.feed(&["100#00"]);
    gateway.until("the frame came", |gateway| gateway.received() == 1);
    let err = stderr(
        &mut send_to(
            &gateway,
            "extra",
            &["123#11", "18DAF110##1AA", "--count", "3"],
        ),
        0,
    );
    assert_eq!(err, "6 frames = 6 sent\n");
    // A port that is not opened for it stays closed.
    stderr(&mut send_to(&gateway, "out", &["123#11"]), 2);
    let stats = gateway.stats();
    let extra = row(&stats["ports"], "extra");
    assert_eq!(
        (&extra["injected"], &extra["copies"]["accepted"]),
        (&6.into(), &1.into())
    );
    assert_eq!(extra["tx"]["taken"], 7);
    assert_eq!(row(&stats["ports"], "out")["injected"], Value::Null);
    let table = text(&gateway.control("stats", &[]).stdout);
    assert!(table.contains("injected"), "{table}");
    gateway.signal("TERM");
    let (output, written) = gateway.end();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(frames(&written), ["100#00"]);
}

/// The gateway disconnects clients that are silent for 5 s; a sender with a longer period goes on.
#[test]
fn a_period_may_be_longer_than_a_gateway_waits_for_a_request() {
    let gateway = Gateway::start(&with_port("inject = true"));
    let more = ["123#11", "--every", "6s", "--count", "2"];
    let err = stderr(&mut send_to(&gateway, "extra", &more), 0);
    assert!(err.starts_with("2 frames = 2 sent"), "{err}");
    gateway.signal("TERM");
    assert!(gateway.end().0.status.success());
}

/// `cangate check` names a port by which clients may send.
#[test]
fn check_names_a_port_that_clients_may_use() {
    let folder = tempfile::tempdir().unwrap();
    let file: &Path = &folder.path().join("gateway.toml");
    let write = |text: &str| std::fs::write(file, text).unwrap();
    write(
        "[ports.a]\nkind = 'bus'\ninject = true\n[ports.b]\nkind = 'bus'\n[ports.c]\nkind = 'bus'\n[[routes]]\nfrom = 'b'\nto = 'c'\n",
    );
    let output = cangate().arg("check").arg(file).output().unwrap();
    let out = text(&output.stdout);
    assert!(
        out.contains("clients of the control socket may send by it"),
        "{out}"
    );
    // A port without a route has a use.
    assert!(output.stderr.is_empty(), "{output:?}");
    write(
        "[gateway]\ninjct = true\n[ports.b]\nkind = 'bus'\n[ports.c]\nkind = 'bus'\n[[routes]]\nfrom = 'b'\nto = 'c'\n",
    );
    let err = stderr(cangate().arg("check").arg(file), 2);
    assert!(err.contains("did you mean `inject`?"), "{err}");
}
