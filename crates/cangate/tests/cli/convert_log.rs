//! `cangate convert`: logs of one format into another.

use crate::{cangate, stderr, stdout};
use std::path::Path;
use std::process::Command;

/// candump's log, of every kind of frame.
const LOG: &str = "\
(1436509052.249713) can0 123#1122 R
(1436509052.249800) can1 12345678#R4 T
(1436509052.300001) can0 7FF#R R
(1436509053.000002) can0 321##5112233 R
(1436509053.000003) can1 12345678##70011223344556677889900AA T
(1436509053.500000) can0 7FF#0011223344556677_F R
(1436509053.600000) can0 00123#81:00:12345678#AABB R
(1436509054.999999) can0 20000004#0004000000000000 R
";

fn convert(folder: &Path, args: &[&str]) -> assert_cmd::Command {
    let mut command = cangate();
    command.arg("convert").args(args).current_dir(folder);
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.log"), LOG).unwrap();
    folder
}

/// pcapng and candump's log have the same contents, compressed or not, through a file and through a
/// pipe.
#[test]
fn there_and_back_is_the_same() {
    let folder = folder();
    for name in [
        "a.pcapng",
        "b.pcapng.gz",
        "c.pcapng.zst",
        "d.log.gz",
        "e.log.zst",
    ] {
        let message = stderr(&mut convert(folder.path(), &["in.log", name]), 0);
        assert!(
            message.starts_with(&format!("in.log (candump -L) to {name}: 8 frames")),
            "{message}"
        );
        let back = stdout(&mut convert(folder.path(), &[name, "-", "--to", "log"]), 0);
        assert_eq!(back, LOG, "{name}");
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let mut pipe = convert(folder.path(), &["-", "-", "--to", "log"]);
        assert_eq!(stdout(pipe.write_stdin(bytes), 0), LOG, "{name}");
    }
    stdout(&mut convert(folder.path(), &["in.log", "f.parquet"]), 0);
    let parquet = std::fs::read(folder.path().join("f.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

/// Records of an MF4 file that are not frames are reported, and are not a mistake. A pipe is read
/// as a file is.
#[test]
fn binary_logs_of_other_programs_are_read() {
    let folder = folder();
    let made = crate::root().join("crates/logs/tests/field/made");
    let left_out = "3 records of speed are not classic or FD frames and were left out";
    for (name, frames, format, warning) in [
        ("python-can.blf", 8, "Vector BLF", None),
        ("python-can-2.mf4", 8, "ASAM MF4", None),
        ("asammdf-list.mf4", 18, "ASAM MF4", Some(left_out)),
    ] {
        let bytes = std::fs::read(made.join(name)).unwrap();
        std::fs::write(folder.path().join(name), &bytes).unwrap();
        let args = [name, "x.log", "--force", "--nanoseconds"];
        let message = stderr(&mut convert(folder.path(), &args), 0);
        let result = format!("{name} ({format}) to x.log: {frames} frames");
        assert!(message.contains(&result), "{message}");
        let warning = warning.map(|warning| format!("warning: {name}: {warning}\n"));
        assert_eq!(
            message.matches("warning: ").count(),
            usize::from(warning.is_some())
        );
        assert!(message.contains(&warning.unwrap_or_default()), "{message}");
        let mut pipe = convert(folder.path(), &["-", "-", "--to", "log", "--nanoseconds"]);
        let found = stdout(pipe.write_stdin(bytes), 0);
        let expected = std::fs::read_to_string(folder.path().join("x.log")).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

/// Frames that ASC cannot represent are counted, named, and shown by the exit status.
#[test]
fn nothing_is_lost_in_silence() {
    let folder = folder();
    let message = stderr(&mut convert(folder.path(), &["in.log", "a.asc"]), 3);
    for expected in [
        "warning: 1 frame left out, because XL frames are not written into this format; the first: line 7: can0 00123#81",
        "warning: 1 frame written as error frames without their class and data; the first: line 8: can0 2000",
        "in.log (candump -L) to a.asc: 7 frames",
        "error: in.log: left out: 1 frame; the rest was written",
    ] {
        assert!(message.contains(expected), "{expected}\n{message}");
    }
    let back = stdout(
        &mut convert(folder.path(), &["a.asc", "-", "--to", "log"]),
        0,
    );
    let expected = LOG.lines().filter(|line| !line.contains(" 00123#81"));
    let expected: String = expected
        .map(|line| match line.split_once(" 20000004#") {
            Some((begin, _)) => format!("{begin} 20000080#0000000000000000\n"),
            None => format!("{line}\n"),
        })
        .collect();
    assert_eq!(back, expected);
    let message = stderr(
        &mut convert(folder.path(), &["--strict", "in.log", "b.asc"]),
        2,
    );
    assert!(
        message.contains("in.log: line 7: can0 00123#81"),
        "{message}"
    );
    // Bad lines count, too.
    std::fs::write(folder.path().join("bad.log"), format!("{LOG}nonsense\n")).unwrap();
    let message = stderr(&mut convert(folder.path(), &["bad.log", "b.pcapng"]), 3);
    assert!(
        message.contains("bad.log: line 9, column 1") && message.contains("left out: 1 bad line")
    );
}

#[test]
fn what_is_there_is_kept_unless_it_may_be_replaced() {
    let folder = folder();
    let path = folder.path().join("mine.asc");
    std::fs::write(&path, "mine").unwrap();
    let message = stderr(&mut convert(folder.path(), &["in.log", "mine.asc"]), 2);
    assert!(message.contains("exists and is kept"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    // An input that is not a log does not change it either.
    std::fs::write(folder.path().join("zeros"), [0; 5000]).unwrap();
    stderr(
        &mut convert(folder.path(), &["--force", "zeros", "mine.asc"]),
        2,
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    let message = stderr(
        &mut convert(folder.path(), &["--force", "in.log", "./in.log"]),
        2,
    );
    assert!(message.contains("is the log that is read"), "{message}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("in.log")).unwrap(),
        LOG
    );
    stderr(
        &mut convert(folder.path(), &["--force", "in.log", "mine.asc"]),
        3,
    );
    assert!(std::fs::read(&path).unwrap().starts_with(b"date "));
    let entries = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 3, "no other file was made");
}

#[test]
fn formats_are_named_or_recognised() {
    let folder = folder();
    let zero = " (000.000000)  can0  123   [1]  11\n (000.500000)  can0  123   [1]  22\n \
                (000.700000)  can0  123   [1]  33\n";
    std::fs::write(folder.path().join("drive.txt"), zero).unwrap();
    let last = |from: &[&str]| {
        let args = [&["drive.txt", "-", "--to", "log"], from].concat();
        let out = stdout(&mut convert(folder.path(), &args), 0);
        out.lines().last().unwrap()[..19].to_owned()
    };
    assert_eq!(last(&[]), "(0000000000.700000)");
    assert_eq!(last(&["--from", "candump-delta"]), "(0000000001.200000)");
    let message = stderr(&mut convert(folder.path(), &["in.log", "x.blf"]), 2);
    assert!(
        message.contains("x.blf: the name selects no format: end it in .log, .asc"),
        "{message}"
    );
    let message = stderr(
        &mut convert(folder.path(), &["--from", "trk", "in.log", "x.log"]),
        2,
    );
    assert!(message.contains("did you mean `trc`?"), "{message}");
    let message = stderr(
        &mut convert(folder.path(), &["--from", "pcapng", "in.log", "x.asc"]),
        2,
    );
    assert!(message.contains("it looks like candump -L"), "{message}");
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    let folder = folder();
    let message = stderr(
        &mut convert(folder.path(), &["in.log", "/dev/full", "--to", "pcapng"]),
        1,
    );
    assert!(
        message.contains("cannot write /dev/full: No space left"),
        "{message}"
    );
    let message = stderr(&mut convert(folder.path(), &["in.log", "in.log/x.asc"]), 1);
    assert!(message.contains("a file has this name"), "{message}");
    let message = stderr(&mut convert(folder.path(), &["absent.log", "x.asc"]), 2);
    assert!(message.contains("absent.log: cannot be read"), "{message}");
}

/// Wireshark's tshark reads our pcapng and writes it as pcapng and as pcap of its own.
#[test]
fn what_wireshark_writes_is_read() {
    let there = Command::new("tshark").arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED because there is no tshark on the path: `apt-get install tshark`");
        return;
    }
    let folder = folder();
    stdout(&mut convert(folder.path(), &["in.log", "a.pcapng"]), 0);
    for (format, name) in [
        ("pcapng", "b.pcapng"),
        ("nsecpcap", "b.pcap"),
        ("pcap", "c.pcap"),
    ] {
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-r", "a.pcapng", "-F", format, "-w", name]);
        let output = tshark
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let back = stdout(&mut convert(folder.path(), &[name, "-", "--to", "log"]), 0);
        // pcap has neither interfaces nor directions.
        let of = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            if format == "pcapng" {
                line.to_owned()
            } else {
                format!("{} {}", words[0], words[2])
            }
        };
        let all = |text: &str| text.lines().map(of).collect::<Vec<_>>();
        assert_eq!(all(&back), all(LOG), "{format}");
    }
}
