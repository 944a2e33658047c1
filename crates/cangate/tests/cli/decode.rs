//! `cangate decode`: the signals in the frames of a log.

use crate::{cangate, stderr, stdout};
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
            ["in.log", "can0can0can0can0=body.dbc"],
            2,
            "`can0can0can0can0` is not the name of an interface",
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

#[test]
fn messages_and_signals_can_be_selected() {
    let folder = folder();
    let with = |options: &[&str]| {
        let args = [&["in.log", "-d", "body.dbc"], options].concat();
        decode(folder.path(), &args)
    };
    let text = |options: &[&str]| stdout(&mut with(options), 0);
    let speed = "(1.000001) can0 EngineData: Speed=2000 rpm\n";
    assert_eq!(text(&["--signals", "Speed"]), speed);
    assert_eq!(text(&["--signals", "EngineData.Speed"]), speed);
    let both =
        "(1.000001) can0 EngineData: Speed=2000 rpm\n(2.000000) can1 Extended: Level=0.007 V\n";
    assert_eq!(text(&["--signals", "Level,Speed"]), both);
    assert_eq!(text(&["--signals", "Level", "--signals", "Speed"]), both);
    let extended = "(2.000000) can1 Extended: Level=0.007 V\n";
    assert_eq!(text(&["--messages", "Extended"]), extended);
    assert_eq!(
        text(&["--messages", "Extended", "--signals", "Level,Speed"]),
        extended
    );
    assert_eq!(
        text(&["--signals", "Level", "--format", "csv"]),
        "time,port,message,signal,raw,value,unit\n2.000000000,can1,Extended,Level,7,0.007,V\n"
    );
    let error = stderr(&mut with(&["--messages", "Extended"]), 0);
    assert!(
        error.ends_with("in.log: 1 of 7 frames decoded, 4 not selected\n"),
        "{error}"
    );
    for (options, words) in [
        (
            ["--messages", "Engine"],
            "--messages Engine: not in the databases; did you mean `EngineData`?",
        ),
        (
            ["--signals", "sped"],
            "--signals sped: not in the databases; did you mean `Speed`?",
        ),
        (
            ["--signals", "Extended.Speed"],
            "--signals Extended.Speed: not in the databases; there is `Level`",
        ),
        (["--signals", "Extnded.Level"], "did you mean `Extended`?"),
        (
            ["--messages=Extended", "--signals=Speed"],
            "--messages and --signals together select nothing",
        ),
    ] {
        let error = stderr(&mut with(&options), 2);
        assert!(error.contains(words), "{options:?}: {error}");
    }
}

#[test]
fn strict_stops_at_what_cannot_be_decoded() {
    let folder = folder();
    let bad = format!(
        "{}nonsense\n",
        LOG.lines().next().unwrap().to_owned() + "\n"
    );
    let unknown = LOG.replace("(2.500000) can0 100#00\n", "");
    for (log, words) in [
        (
            LOG,
            "in.log: line 4: the frame is too short for Speed of EngineData;",
        ),
        (&unknown, "in.log: line 5: 101 is not in the database;"),
        (&bad, "in.log: line 2, column 1: "),
    ] {
        std::fs::write(folder.path().join("in.log"), log).unwrap();
        let args = ["in.log", "-d", "body.dbc", "--strict"];
        let output = decode(folder.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(words), "{error}");
        // Lines before that are written.
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(TEXT.starts_with(&text) && !text.is_empty(), "{text}");
    }
    // Signals that are not selected need not be there.
    std::fs::write(
        folder.path().join("in.log"),
        LOG.replace("can0 101#00", "can0 100#00"),
    )
    .unwrap();
    let args = ["in.log", "-d", "body.dbc", "--strict", "--signals", "Mode"];
    assert_eq!(
        stdout(&mut decode(folder.path(), &args), 0).lines().count(),
        4
    );
}

#[test]
fn logs_of_all_formats_are_decoded_one_after_the_other() {
    let folder = folder();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, LOG.as_bytes()).unwrap();
    std::fs::write(folder.path().join("in.log.gz"), packed.finish().unwrap()).unwrap();
    let args = ["in.log.gz", "-", "in.log", "-d", "body.dbc"];
    let mut command = decode(folder.path(), &args);
    command.write_stdin(LOG);
    assert_eq!(stdout(&mut command, 0), TEXT.repeat(3));
    let error = stderr(&mut command, 0);
    assert!(
        error.contains("not decoded: 3 frames with 1 ID that is not in the database")
            && error.ends_with("3 logs: 12 of 21 frames decoded\n"),
        "{error}"
    );
    // A file that is not a log is refused before anything is written.
    let output = decode(folder.path(), &["in.log", "body.dbc", "-d", "body.dbc"]).output();
    let output = output.unwrap();
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(2), &[] as &[u8])
    );

    let any = "\
BO_ 291 M: 8 A
 SG_ First : 7|8@0+ (1,0) [0|0] \"\" A

BO_ 85 N: 8 A
 SG_ Last : 56|8@1+ (0.5,0) [0|0] \"\" A
";
    std::fs::write(folder.path().join("any.dbc"), any).unwrap();
    let field = crate::root().join("crates/logs/tests/field/made");
    for (name, wanted) in [
        ("python-can.log", "M,First,1,1,\n"),
        ("python-can.asc", "M,First,1,1,\n"),
        ("python-can.blf", "M,First,1,1,\nN,Last,7,3.5,\n"),
        ("python-can.mf4", "M,First,1,1,\nN,Last,7,3.5,\n"),
    ] {
        let path = field.join(name);
        let args = [path.to_str().unwrap(), "-d", "any.dbc", "--format", "csv"];
        let table = stdout(&mut decode(folder.path(), &args), 0);
        let rows = table.lines().skip(1);
        let rows: String = rows
            .filter_map(|row| Some(format!("{}\n", row.splitn(3, ',').nth(2)?)))
            .collect();
        assert_eq!(rows, wanted, "{name}");
    }
}

/// A pipe's lines are shown before the program awaits more, and not when its buffer is full.
#[test]
fn lines_of_a_pipe_are_shown_at_once_and_its_end_is_noticed() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};
    let folder = folder();
    let mut child = Command::new(crate::program())
        .args(["decode", "-", "-d", "body.dbc"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for (line, wanted) in LOG.lines().zip(TEXT.lines()) {
        writeln!(input, "{line}").unwrap();
        let mut shown = String::new();
        output.read_line(&mut shown).unwrap();
        assert_eq!(shown.trim_end(), wanted);
    }
    drop(output);
    // The first line finds standard output closed.
    writeln!(input, "{}", LOG.lines().next().unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    drop(input);
}

/// A file that asammdf wrote has a group of an ordinary signal in addition to its frames.
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
