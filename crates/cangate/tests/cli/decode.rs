//! `cangate decode`: the signals in the frames of a log.

use crate::python_can::python_with;
use crate::{cangate, stderr, stdout};
use std::fmt::Write as _;
use std::path::Path;

const DATABASE: &str = r#"VERSION ""

BU_: Engine Brake

BO_ 256 EngineData: 8 Engine
 SG_ Mode M : 0|8@1+ (1,0) [0|1] "" Brake
 SG_ Speed m0 : 15|16@0+ (0.25,0) [0|16383.75] "rpm" Brake
 SG_ Temperature m1 : 8|8@1- (0.1,-40) [0|0] "deg, C" Brake
 SG_ Sum : 56|8@1+ (1,0) [0|255] "" Brake

BO_ 2147483904 Extended: 1 Brake
 SG_ Level : 0|8@1+ (1e-3,0) [0|0] "V" Engine

VAL_ 256 Mode 0 "speed" 1 "temperature" ;
"#;

const LOG: &str = "\
(1.000001) can0 100#001F400000000012
(1.500000) can0 100#01FF000000000034
(2.000000) can1 00000100#07
(2.500000) can0 100#00
(3.000000) can0 100#R8
(3.500000) can0 101#00
(4.000000) can0 20000004#0004000000000000
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("body.dbc"), DATABASE).unwrap();
    std::fs::write(folder.path().join("in.log"), LOG).unwrap();
    folder
}

fn decode(folder: &Path, args: &[&str]) -> assert_cmd::Command {
    let mut command = cangate();
    command.arg("decode").args(args).current_dir(folder);
    command
}

const TEXT: &str = "\
(1.000001) can0 EngineData: Mode=speed (0), Speed=2000 rpm, Sum=18
(1.500000) can0 EngineData: Mode=temperature (1), Temperature=-40.1 deg, C, Sum=52
(2.000000) can1 Extended: Level=0.007 V
(2.500000) can0 EngineData: Mode=speed (0)
";

#[test]
fn each_frame_has_its_message_and_each_one_that_is_not_decoded_is_counted() {
    let folder = folder();
    let args = ["in.log", "--database", "body.dbc"];
    let output = decode(folder.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), TEXT);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "warning: not decoded: 1 frame with 1 ID that is not in the database\n\
         warning: not decoded: 1 remote frame\n\
         warning: not decoded: 1 error frame\n\
         warning: 2 values are absent because their frames are too short\n\
         in.log: 4 of 7 frames decoded\n"
    );
    let mut pipe = decode(folder.path(), &["-", "--database", "body.dbc"]);
    assert_eq!(stdout(pipe.write_stdin(LOG), 0), TEXT);
}

#[test]
fn a_table_has_a_line_for_each_signal() {
    let folder = folder();
    let args = ["in.log", "-d", "body.dbc", "--format", "csv"];
    assert_eq!(
        stdout(&mut decode(folder.path(), &args), 0),
        "time,port,message,signal,raw,value,unit\n\
         1.000001000,can0,EngineData,Mode,0,0,\n\
         1.000001000,can0,EngineData,Speed,8000,2000,rpm\n\
         1.000001000,can0,EngineData,Sum,18,18,\n\
         1.500000000,can0,EngineData,Mode,1,1,\n\
         1.500000000,can0,EngineData,Temperature,-1,-40.1,\"deg, C\"\n\
         1.500000000,can0,EngineData,Sum,52,52,\n\
         2.000000000,can1,Extended,Level,7,0.007,V\n\
         2.500000000,can0,EngineData,Mode,0,0,\n"
    );
}

/// With a database for one interface, the frames of the others are not in a database.
#[test]
fn a_database_can_be_for_one_interface() {
    let folder = folder();
    let only = decode(folder.path(), &["in.log", "-d", "can1=body.dbc"]).output();
    let only = String::from_utf8(only.unwrap().stdout).unwrap();
    assert_eq!(only, "(2.000000) can1 Extended: Level=0.007 V\n");
    let both = ["in.log", "-d", "can1=body.dbc", "-d", "./body.dbc"];
    assert_eq!(stdout(&mut decode(folder.path(), &both), 0), TEXT);
    let twice = ["in.log", "-d", "body.dbc", "-d", "body.dbc"];
    let error = stderr(&mut decode(folder.path(), &twice), 2);
    assert!(
        error.contains("name the interface, as in `--database can1=body.dbc`"),
        "{error}"
    );
}

#[test]
fn mistakes_are_named() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("bad.dbc", "BO_ 1 M: 8 A\nnonsense\n");
    write("empty.dbc", "BU_: A\n");
    write(
        "bad.log",
        "(1.000001) can0 100#001F400000000012\nnonsense\n",
    );
    write(
        "short.dbc",
        "BO_ 4096 M: 1 A\n SG_ s : 0|16@1+ (1,0) [0|0] \"\" A\n",
    );
    for (args, status, words) in [
        (
            ["in.log", "bad.dbc"],
            2,
            "bad.dbc: line 2, column 1: no statement of a DBC continues with `nonsense`",
        ),
        (["in.log", "empty.dbc"], 2, "empty.dbc: no message in it"),
        (["in.log", "none.dbc"], 2, "none.dbc"),
        (["none.log", "body.dbc"], 2, "none.log"),
        (
            ["body.dbc", "body.dbc"],
            2,
            "body.dbc: not a log file: it looks like DBC",
        ),
        (
            ["bad.log", "body.dbc"],
            3,
            "bad.log: 1 bad lines were left out; the rest was decoded",
        ),
        (
            ["in.log", "short.dbc"],
            0,
            "warning: short.dbc: line 1: ID 4096 of M is above 2047",
        ),
        (
            ["in.log", "short.dbc"],
            0,
            "line 2: signal s of M: it ends in byte 2 of 1",
        ),
        (
            ["-", "-"],
            2,
            "standard input (`-`) can be only one of LOG and the databases",
        ),
    ] {
        let [log, database] = args;
        let mut command = decode(folder.path(), &[log, "--database", database]);
        let error = stderr(&mut command, status);
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

/// Decodes each frame with cantools, and prints a line for each signal.
const CANTOOLS: &str = r##"
import sys, cantools
database = cantools.database.load_file("all.dbc", strict=False)
for line in open("all.log"):
    name, data = line.split()[2].split("#", 1)
    fd = data.startswith("#")
    message = database.get_message_by_frame_id(int(name, 16))
    data = bytes.fromhex(data[2:] if fd else data)
    options = dict(decode_choices=False, allow_truncated=True)
    raw = message.decode(data, scaling=False, **options)
    value = message.decode(data, **options)
    for signal in message.signals:
        if signal.name in raw:
            print(message.name, signal.name, repr(float(raw[signal.name])), repr(float(value[signal.name])))
"##;

/// A database of random layouts: every start, length and byte order that fits into 64 bytes,
/// integers and floats, multiplexed or not. No frame has overlapping signals, which cantools does
/// not decode.
fn random_database() -> (String, Vec<(u32, usize)>) {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        // The generator of Knuth's MMIX.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut text = "VERSION \"\"\n\nBU_: A\n\n".to_owned();
    let mut floats = String::new();
    let mut messages = Vec::new();
    for id in 1..=2000 {
        let len = [8, 8, 8, 12, 64][random(5) as usize];
        writeln!(text, "BO_ {id} M{id}: {len} A").unwrap();
        messages.push((id, len as usize));
        // The switch has the first byte, and each of its values one signal.
        let (signals, least) = if random(3) == 0 { (4, 8) } else { (1, 0) };
        if signals > 1 {
            writeln!(text, " SG_ S M : 0|2@1+ (1,0) [0|3] \"\" A").unwrap();
        }
        for number in 0..signals {
            let is_float = random(10) == 0;
            let bits = if is_float { 32 } else { 1 + random(64 - least) };
            let is_intel = random(2) == 0;
            // The first bit in the byte order, and its number in the file.
            let first = least + random(len * 8 - least - bits + 1);
            let start = if is_intel {
                first
            } else {
                first / 8 * 8 + 7 - first % 8
            };
            let order = u8::from(is_intel);
            let sign = if random(2) == 0 { '+' } else { '-' };
            let factor = ["1", "0.1", "-0.25", "1E-05", "4"][random(5) as usize];
            let offset = ["0", "-40", "0.5", "1000"][random(4) as usize];
            let switch = match signals {
                1 => String::new(),
                _ => format!(" m{number}"),
            };
            let layout = format!("{start}|{bits}@{order}{sign} ({factor},{offset})");
            writeln!(text, " SG_ s{number}{switch} : {layout} [0|0] \"\" A").unwrap();
            if is_float {
                writeln!(floats, "SIG_VALTYPE_ {id} s{number} : 1;").unwrap();
            }
        }
        text.push('\n');
    }
    (text + &floats, messages)
}

#[test]
fn values_are_those_of_cantools() {
    let Some(python) = python_with("cantools", "cantools") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (database, messages) = random_database();
    std::fs::write(folder.path().join("all.dbc"), database).unwrap();
    let mut log = String::new();
    let mut byte = 1_u8;
    for time in 0..5 {
        for (id, len) in &messages {
            let data = (0..*len).map(|_| {
                byte = byte.wrapping_mul(141).wrapping_add(91);
                format!("{:02X}", byte.rotate_left(3) ^ (byte >> 1))
            });
            let data: String = data.collect();
            let separator = if *len > 8 { "##0" } else { "#" };
            writeln!(log, "({time}.000000) can0 {id:03X}{separator}{data}").unwrap();
        }
    }
    std::fs::write(folder.path().join("all.log"), log).unwrap();
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", CANTOOLS]).current_dir(folder.path());
    let wanted = stdout(&mut oracle, 0);
    let args = ["all.log", "--database", "all.dbc", "--format", "csv"];
    let found = stdout(&mut decode(folder.path(), &args), 0);
    let found: Vec<Vec<&str>> = found
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert!(found.len() > 10_000, "{}", found.len());
    let wanted: Vec<Vec<&str>> = wanted
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found[2..4], wanted[..2], "{found:?}");
        let number = |text: &str| text.parse::<f64>().unwrap();
        let same =
            |a: f64, b: f64, most: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= most;
        let (raw, value) = (number(wanted[2]), number(wanted[3]));
        assert!(same(number(found[4]), raw, 0.0), "{found:?} {wanted:?}");
        // cantools calculates in binary floating point.
        assert!(
            same(number(found[5]), value, value.abs() * 1e-12 + 1e-9),
            "{found:?} {wanted:?}"
        );
    }
}

/// A file that asammdf wrote has a group of an ordinary signal beside its frames.
#[test]
fn records_that_are_not_frames_are_reported() {
    let folder = folder();
    let made = crate::root().join("crates/logs/tests/field/made/asammdf-list.mf4");
    let args = [made.to_str().unwrap(), "--database", "body.dbc"];
    let error = stderr(&mut decode(folder.path(), &args), 0);
    assert!(
        error.contains("3 records of speed are not classic or FD frames"),
        "{error}"
    );
}
