//! python-can reads the files that `cangate convert` writes, and vice versa: ASC, TRC, CSV,
//! candump's log. cangate also reads what python-can writes as BLF, and by asammdf as MF4.
//!
//! Frames that python-can itself does not preserve are not compared: FD frames without data, which
//! its ASC reader takes for remote frames; remote and FD frames in TRC and the length of remote
//! frames in candump's log, which it does not write; error frames in TRC, which it does not read;
//! error frames of other classes than bus errors, which its log reader takes for data frames.

use crate::{cangate, root, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script that reads a file with python-can; it prints a line for each message.
const READ: &str = r#"
import gzip, sys, can
name = sys.argv[1]
if name.endswith(".asc.gz"):
    messages = can.ASCReader(gzip.open(name, "rt"), relative_timestamp=False)
elif name.endswith(".asc"):
    messages = can.ASCReader(name, relative_timestamp=False)
else:
    messages = can.LogReader(name)
for m in messages:
    error = m.is_error_frame
    print(round(m.timestamp * 1e6), m.channel if not error else "-",
          "error" if error else f"{m.arbitration_id:X}{'x' if m.is_extended_id else ''}",
          f"{int(m.is_remote_frame)}{int(m.is_fd)}{int(m.bitrate_switch)}{int(m.error_state_indicator)}",
          "-" if error else int(m.is_rx), 0 if error else m.dlc, m.data.hex().upper())
"#;

/// A script that writes the messages of standard input, lines as above, with python-can.
const WRITE: &str = r#"
import sys, can
options = dict(word.split("=") for word in sys.argv[2:])
version = options.pop("version", None)
with can.Logger(sys.argv[1], **{name: int(value) for name, value in options.items()}) as out:
    if version:
        out.file_version = can.io.TRCFileVersion[version]
    for line in sys.stdin:
        time, channel, name, flags, rx, dlc, data = (line.rstrip("\n") + " ").split(" ")[:7]
        error = name == "error"
        rtr, fd, brs, esi = (c == "1" for c in flags)
        out.on_message_received(can.Message(
            timestamp=int(time) / 1e6, channel=0 if error else int(channel), is_error_frame=error,
            arbitration_id=0 if error else int(name.rstrip("x"), 16), is_extended_id=name.endswith("x"),
            is_remote_frame=rtr, is_fd=fd, bitrate_switch=brs, error_state_indicator=esi,
            is_rx=rx != "0", dlc=int(dlc), data=bytes.fromhex(data) if not rtr else None))
"#;

/// Returns a Python that has python-can: the one that `cargo xtask setup` makes, or the one in
/// PATH.
fn python() -> Option<PathBuf> {
    python_with("can", "python-can")
}

/// Returns a Python that has these modules, separated by commas; `package` is their name for pip.
pub(crate) fn python_with(modules: &str, package: &str) -> Option<PathBuf> {
    // It does not import them, which takes seconds with some modules.
    let find = format!(
        "from importlib.util import find_spec\nassert all(map(find_spec, '{modules}'.split(', ')))"
    );
    let target = root().join("target/python-can/bin/python3");
    let found = [target, PathBuf::from("python3")]
        .into_iter()
        .find(|python| {
            let finds = Command::new(python).args(["-c", &find]).output();
            finds.is_ok_and(|output| output.status.success())
        });
    if found.is_none() {
        eprintln!(
            "SKIPPED because there is no {package}: `cargo xtask setup` installs it, or \
             `pip install {package}`"
        );
    }
    found
}

fn run(python: &Path, folder: &Path, script: &str, args: &[&str], input: &str) -> String {
    let mut command = assert_cmd::Command::new(python);
    command.args(["-c", script]).args(args).env("TZ", "UTC");
    stdout(command.current_dir(folder).write_stdin(input.to_owned()), 0)
}

/// A message in the syntax of the scripts and as a line of candump.
#[derive(Clone)]
struct Message {
    words: String,
    line: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Remote(usize),
    Fd(usize),
    Error,
}

/// Returns messages of each kind and length, with time steps that are not whole milliseconds.
fn messages() -> Vec<Message> {
    let mut all = Vec::new();
    let mut add = |name: &str, kind: Kind, flags: u8, len: usize| {
        let n = all.len();
        let us = 1_436_509_052_249_000 + 10_713 * n as u64;
        let (channel, rx) = (n % 2, u8::from(n % 3 != 0));
        let data: String = match kind {
            Kind::Remote(_) | Kind::Error => String::new(),
            _ => (0..len)
                .map(|at| format!("{:02X}", (at * 37 + n) % 256))
                .collect(),
        };
        let id = name
            .strip_suffix('x')
            .map_or(name.to_owned(), |id| format!("{id:0>8}"));
        let (bits, frame) = match kind {
            Kind::Data => ("0000".to_owned(), format!("{id}#{data}")),
            Kind::Remote(0) => ("1000".to_owned(), format!("{id}#R")),
            Kind::Remote(len) => ("1000".to_owned(), format!("{id}#R{len}")),
            Kind::Fd(_) => (
                format!("01{}{}", flags & 1, flags >> 1),
                format!("{id}##{:X}{data}", 4 | flags),
            ),
            Kind::Error => ("0000".to_owned(), "20000080#0000000000000000".to_owned()),
        };
        let short = name.trim_start_matches('0');
        let short = if ["", "x"].contains(&short) {
            format!("0{short}")
        } else {
            short.to_owned()
        };
        let time = format!("({}.{:06})", us / 1_000_000, us % 1_000_000);
        let (words, line) = if kind == Kind::Error {
            (
                format!("{us} - error 0000 - 0 "),
                format!("{time} can{channel} {frame}"),
            )
        } else {
            let side = if rx == 1 { "R" } else { "T" };
            (
                format!("{us} {channel} {short} {bits} {rx} {len} {data}"),
                format!("{time} can{channel} {frame} {side}"),
            )
        };
        all.push(Message { words, line, kind });
    };
    for name in ["000", "123", "7FF", "00000000x", "00000123x", "1FFFFFFFx"] {
        for len in 0..=8 {
            add(name, Kind::Data, 0, len);
            add(name, Kind::Remote(len), 0, len);
        }
        for len in [0, 1, 7, 8, 12, 16, 20, 24, 32, 48, 64] {
            for flags in 0..4 {
                add(name, Kind::Fd(len), flags, len);
            }
        }
        add(name, Kind::Error, 0, 0);
    }
    all
}

fn lines(messages: &[Message], of: fn(&Message) -> &str) -> String {
    messages.iter().map(|m| format!("{}\n", of(m))).collect()
}

/// Removes `can` from channel names, so that names are comparable.
fn without_can(text: &str) -> String {
    text.replace(" can0 ", " 0 ").replace(" can1 ", " 1 ")
}

fn convert(folder: &Path, from: &str, to: &str) {
    let nanoseconds = to.ends_with(".out.log").then_some("--nanoseconds");
    stdout(
        cangate()
            .args(["convert", "--force", from, to])
            .args(nanoseconds)
            .current_dir(folder),
        0,
    );
}

#[test]
fn python_can_reads_what_is_written() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = messages();
    for (name, left_out) in [
        ("x.asc", Kind::Fd(0)),
        ("x.asc.gz", Kind::Fd(0)),
        // Its own reader of this format loses none of these messages.
        ("x.log", Kind::Remote(99)),
        ("x.log.gz", Kind::Remote(99)),
    ] {
        let some: Vec<_> = all.iter().filter(|m| m.kind != left_out).cloned().collect();
        std::fs::write(folder.path().join("in.log"), lines(&some, |m| &m.line)).unwrap();
        // Through pcapng, so that the log is written and not copied.
        convert(folder.path(), "in.log", "x.pcapng");
        convert(folder.path(), "x.pcapng", name);
        let found = run(&python, folder.path(), READ, &[name], "");
        let expected = lines(&some, |m| &m.words);
        let found = without_can(&found);
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.lines().count(), some.len(), "{name}");
    }
}

/// Returns what python-can's reader of TRC makes of a message: channels count from 1, the length of
/// an FD frame is its DLC, and of the types FE (ESI) and BI (BRS and ESI) it exchanges the flags
/// BRS.
fn as_trc(message: &Message) -> String {
    let words: Vec<&str> = message.words.split(' ').collect();
    let [time, channel, id, flags, rx, len, data] = words[..] else {
        panic!("seven words: {words:?}");
    };
    let channel = channel.parse::<u8>().unwrap() + 1;
    let flags = match flags {
        "0101" => "0111",
        "0111" => "0101",
        flags => flags,
    };
    let code = match message.kind {
        Kind::Fd(len) => frame::dlc::fd_dlc(len).to_string(),
        _ => len.to_owned(),
    };
    format!("{time} {channel} {id} {flags} {rx} {code} {data}")
}

/// Returns what python-can's CSV has of a message: no channel, no direction, no flags of FD frames.
fn as_csv(message: &Message) -> String {
    let words: Vec<&str> = message.words.split(' ').collect();
    match words[..] {
        [time, _, "error", ..] => format!("{time} - error 0000 - 0 0000000000000000"),
        [time, _, id, flags, _, len, data] => {
            let remote = flags.split_at(1).0;
            format!("{time} None {id} {remote}000 1 {len} {data}")
        }
        _ => panic!("seven words: {words:?}"),
    }
}

#[test]
fn python_can_reads_trc_and_csv() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    type Expected = fn(&Message) -> String;
    for (name, left_out, expected) in [
        ("x.trc", Kind::Error, as_trc as Expected),
        ("x.csv", Kind::Remote(99), as_csv),
    ] {
        let mut some = messages();
        some.retain(|message| message.kind != left_out);
        std::fs::write(folder.path().join("in.log"), lines(&some, |m| &m.line)).unwrap();
        convert(folder.path(), "in.log", name);
        let found = run(&python, folder.path(), READ, &[name], "");
        assert_eq!(found.lines().count(), some.len(), "{name}");
        for (found, message) in found.lines().zip(&some) {
            let expected = expected(message);
            let (found_us, found) = found.split_once(' ').unwrap();
            let (us, expected) = expected.split_once(' ').unwrap();
            assert_eq!(found, expected, "{name}");
            // The start of a TRC is a number of days, which Python rounds to microseconds.
            let [found_us, us] = [found_us, us].map(|us| us.parse::<u64>().unwrap());
            assert!(
                found_us.abs_diff(us) <= u64::from(name == "x.trc"),
                "{name}"
            );
        }
    }
}

#[test]
fn what_python_can_writes_is_read() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = messages();
    let data = |kind| kind == Kind::Data;
    let log = |kind: Kind| !matches!(kind, Kind::Remote(1..));
    type Writes = fn(Kind) -> bool;
    let csv = |kind| matches!(kind, Kind::Data | Kind::Remote(_));
    let cases: [(&[&str], Writes); 9] = [
        (&["y.asc"], |_| true),
        (&["y.asc.gz"], |_| true),
        (&["y.log"], log),
        (&["y.trc"], data),
        (&["y.trc", "version=V1_0"], data),
        (&["y.csv"], csv),
        (&["y.blf"], |_| true),
        (
            &["y.blf", "compression_level=0", "max_container_size=250"],
            |_| true,
        ),
        (
            &["y.blf", "compression_level=9", "max_container_size=999"],
            |_| true,
        ),
    ];
    for (args, writes) in cases {
        let some: Vec<_> = all.iter().filter(|m| writes(m.kind)).cloned().collect();
        let words = lines(&some, |m| &m.words);
        run(&python, folder.path(), WRITE, args, &words);
        convert(folder.path(), args[0], "y.out.log");
        let found = std::fs::read_to_string(folder.path().join("y.out.log")).unwrap();
        let mut expected = lines(&some, |m| &m.line);
        if args[0] == "y.csv" {
            // It has neither interfaces nor directions.
            expected = expected.replace(" can1 ", " can0 ");
            expected = expected.replace(" R\n", "\n").replace(" T\n", "\n");
        }
        if args[0] != "y.trc" || args.len() == 1 {
            assert_same(args[0], &found, &expected);
            continue;
        }
        // TRC 1.0 has milliseconds from a start that is in no header, one channel and no direction.
        let frames = |text: &str| -> Vec<String> {
            text.lines()
                .map(|line| line.split(' ').nth(2).unwrap().to_owned())
                .collect()
        };
        assert_eq!(frames(&found), frames(&expected), "TRC 1.0");
    }
}

/// The numbers of channels are written as they are: 1 is `can0`, and 0 another interface.
#[test]
fn what_asammdf_writes_is_read() {
    let Some(python) = python_with("can, asammdf", "asammdf") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let all = messages();
    let expected = lines(&all, |m| &m.line);
    let expected = expected.replace(" can0 ", " channel0 ");
    let expected = expected.replace(" can1 ", " can0 ");
    for level in ["0", "1", "2"] {
        let args = ["y.mf4", &format!("compression_level={level}")];
        let words = lines(&all, |m| &m.words);
        run(&python, folder.path(), WRITE, &args, &words);
        convert(folder.path(), args[0], "y.out.log");
        let found = std::fs::read_to_string(folder.path().join("y.out.log")).unwrap();
        assert_same(args[1], &found, &expected);
    }
}

/// Checks that the lines are the same, to the microsecond: python-can's own times have fractions of
/// a second in a number that is not exact. The channel of an error frame is not kept, and an empty
/// payload may be written as eight zeros.
fn assert_same(name: &str, found: &str, expected: &str) {
    let of = |line: &str| {
        let (time, rest) = line.split_once(' ').unwrap();
        let digits: String = time.chars().filter(char::is_ascii_digit).collect();
        // Ten digits of seconds, and up to nine of their fraction.
        let ns: u64 = format!("{digits:0<19}").parse().unwrap();
        let rest = if rest.contains(" 20000080#") {
            "error"
        } else {
            rest
        };
        format!("{} {rest}", (ns + 500) / 1000)
    };
    let all = |text: &str| text.lines().map(of).collect::<Vec<_>>();
    let (found, expected) = (all(found), all(expected));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(found.len(), expected.len(), "{name}");
}
