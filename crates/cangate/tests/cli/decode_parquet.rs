//! `cangate decode --format parquet`: the files of a dataset, and what becomes of them when the
//! command fails.

use crate::{cangate, stderr};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const DATABASE: &str = r#"BU_: A

BO_ 256 EngineData: 8 A
 SG_ Speed : 0|16@1+ (0.25,0) [0|0] "rpm" A
 SG_ Gear : 16|8@1- (1,0) [0|0] "" A

BO_ 257 Large: 8 A
 SG_ All : 0|64@1+ (1,0) [0|0] "" A

VAL_ 256 Gear 1 "first" -1 "reverse" ;
"#;

/// Two days, and times to the nanosecond.
const LOG: &str = "\
(1795651199.999999999) can0 100#400601
(1795651200.000000001) can1 100#4006FF
(1795651200.500000000) can0 101#FFFFFFFFFFFFFFFF
(1795651201.000000000) can0 100#4006
";

pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("body.dbc"), DATABASE).unwrap();
    fs::write(folder.path().join("in.log"), LOG).unwrap();
    folder
}

pub(crate) fn decode(folder: &Path, args: &[&str]) -> assert_cmd::Command {
    let mut command = cangate();
    let format = ["--format", "parquet"];
    command.arg("decode").args(args).args(format);
    command.current_dir(folder);
    command
}

/// Returns all files below a folder, relative to it, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// The files of a run with this number.
fn run_files(number: u64) -> [PathBuf; 3] {
    [
        "day=2026-11-25/message=EngineData",
        "day=2026-11-26/message=EngineData",
        "day=2026-11-26/message=Large",
    ]
    .map(|folder| Path::new(folder).join(format!("part-{number}.parquet")))
}

#[test]
fn each_day_and_message_has_a_file_and_further_runs_add_theirs() {
    let folder = folder();
    let add = [
        "in.log",
        "-d",
        "body.dbc",
        "--out",
        "new/archive",
        "--append",
    ];
    let archive = folder.path().join("new/archive");
    let error = stderr(&mut decode(folder.path(), &add[..5]), 0);
    let (summary, added) = error.split_once("new/archive: ").unwrap();
    assert_eq!(
        summary,
        "warning: 1 value is absent because its frame is too short\nin.log: 4 of 4 frames decoded\n"
    );
    let bytes: u64 = files(&archive)
        .iter()
        .map(|path| fs::metadata(archive.join(path)).unwrap().len())
        .sum();
    assert_eq!(added, format!("6 rows added in 3 files, {bytes} bytes\n"));
    assert_eq!(files(&archive), run_files(0));

    // Without --append, only an empty folder is taken.
    let error = stderr(&mut decode(folder.path(), &add[..5]), 2);
    assert!(
        error.contains("new/archive is not empty: it has day=")
            && error.contains("name another folder, or give --append"),
        "{error}"
    );
    for _ in 0..2 {
        let several = [&["in.log"], &add[..]].concat();
        stderr(&mut decode(folder.path(), &several), 0);
    }
    let mut all = [run_files(0), run_files(1), run_files(2)].concat();
    all.sort();
    assert_eq!(files(&archive), all);

    let selected = ["--signals", "All"];
    let args = [&add[..3], &selected, &["--out", "all"]].concat();
    stderr(&mut decode(folder.path(), &args), 0);
    assert_eq!(files(&folder.path().join("all")), run_files(0)[2..]);
}

#[test]
fn a_run_that_fails_adds_nothing() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("bad.log", &LOG.replacen('\n', "\nnonsense\n", 1));
    write("notes.txt", "");
    fs::create_dir(folder.path().join("notes")).unwrap();
    write("notes/notes.txt", "");
    for (args, status, words) in [
        (
            &["bad.log", "--out=new", "--strict"] as &[&str],
            2,
            "bad.log: line 2, column 1: ",
        ),
        (
            &["in.log", "--out=new", "--strict"],
            2,
            "in.log: line 4: the frame is too short for Gear of EngineData",
        ),
        (&["none.log", "--out=new"], 2, "none.log: cannot be read"),
        (&["in.log", "body.dbc", "--out=new"], 2, "not a log file"),
        (
            &["in.log", "--out=notes.txt"],
            1,
            "cannot create notes.txt: a file has this name",
        ),
        (
            &["in.log", "--out=notes.txt/new"],
            1,
            "cannot create notes.txt/new: a file has this name or that of a folder above",
        ),
        (
            &["in.log", "--out=notes", "--append"],
            2,
            "notes is not a dataset of signals: it has notes.txt; name another folder",
        ),
        (&["in.log"], 2, "--out <DIR>"),
    ] {
        let args = [args, &["-d", "body.dbc"]].concat();
        let error = stderr(&mut decode(folder.path(), &args), status);
        assert!(error.contains(words), "{args:?}: {error}");
        assert!(!folder.path().join("new").exists(), "{args:?}");
    }
    let mut text = cangate();
    text.args(["decode", "in.log", "-d", "body.dbc", "--out", "new"]);
    let error = stderr(text.current_dir(folder.path()), 2);
    assert!(error.contains("--out is for --format parquet"), "{error}");

    // Without --strict, the rest is written.
    let args = ["bad.log", "-d", "body.dbc", "--out", "new"];
    let error = stderr(&mut decode(folder.path(), &args), 3);
    assert!(
        error.contains("bad.log: 1 bad lines were left out"),
        "{error}"
    );
    assert_eq!(files(&folder.path().join("new")), run_files(0));
}

/// A file system of 64 KiB in a namespace of the test's own is full before the log ends.
#[test]
fn a_full_disk_leaves_nothing() {
    let folder = folder();
    let frames: String = (0..30_000_u64)
        .map(|n| {
            let noise = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!("({}.000000) can0 101#{noise:016X}\n", 1_795_651_200 + n)
        })
        .collect();
    fs::write(folder.path().join("long.log"), frames).unwrap();
    fs::create_dir(folder.path().join("small")).unwrap();
    let script = "mount -t tmpfs -o size=64k none small || exit 99
        \"$@\"; status=$?
        ls -A small
        exit $status";
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(crate::program())
        .args([
            "decode",
            "long.log",
            "-d",
            "body.dbc",
            "--format=parquet",
            "--out=small",
        ])
        .current_dir(folder.path())
        .output();
    let output = match output {
        Ok(output) if !matches!(output.status.code(), Some(99 | 125..=127)) => output,
        _ => {
            eprintln!("SKIPPED because this machine allows no mounts in namespaces (unshare)");
            return;
        }
    };
    let error = String::from_utf8(output.stderr).unwrap();
    if error.starts_with("unshare: ") {
        eprintln!("SKIPPED because this machine allows no namespaces: {error}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("cannot write small/_unfinished-0/1.partial: No space left on device")
            && error.contains("make room and try again"),
        "{error}"
    );
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "",
        "the folder is empty"
    );
}

/// Starts a run that reads `log`, and waits until it is writing into `archive`.
fn start(folder: &Path, log: &str, first: impl FnOnce(&mut Child)) -> Child {
    let mut child = Command::new(crate::program())
        .args([
            "decode",
            log,
            "-d",
            "body.dbc",
            "--format=parquet",
            "--out=archive",
        ])
        .arg("--append")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    first(&mut child);
    while !folder.join("archive/_unfinished-0").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Records up to that time are kept.
#[test]
fn an_interrupt_ends_standard_input() {
    use rustix::process::Signal;
    let folder = folder();
    let mut child = start(folder.path(), "-", |child| {
        let input = child.stdin.as_mut().unwrap();
        input.write_all(LOG.as_bytes()).unwrap();
    });
    // It stays open.
    let input = child.stdin.take();
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    drop(input);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("-: 4 of 4 frames decoded\n"), "{error}");
    assert_eq!(files(&folder.path().join("archive")), run_files(0));
}

#[test]
fn an_interrupt_while_files_are_read_leaves_nothing() {
    use rustix::process::Signal;
    let folder = folder();
    let path = folder.path().join("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &path,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let mut input = None;
    let child = start(folder.path(), "pipe", |_| {
        let mut pipe = fs::File::options().write(true).open(&path).unwrap();
        pipe.write_all(LOG.as_bytes()).unwrap();
        input = Some(pipe);
    });
    signal(&child, Signal::TERM);
    // The reader can be gone when this is written.
    let _ = input.as_mut().unwrap().write_all(LOG.as_bytes());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("stopped while pipe was read: nothing was added"),
        "{error}"
    );
    assert!(!folder.path().join("archive").exists());
}

#[test]
fn files_of_a_killed_run_are_named_by_the_next_one() {
    use rustix::process::Signal;
    let folder = folder();
    let mut child = start(folder.path(), "-", |child| {
        let input = child.stdin.as_mut().unwrap();
        input.write_all(LOG.as_bytes()).unwrap();
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let args = ["in.log", "-d", "body.dbc", "--out=archive"];
    let error = stderr(&mut decode(folder.path(), &args), 2);
    assert!(
        error.contains("archive is not empty: it has _unfinished-0"),
        "{error}"
    );
    let args = [&args[..], &["--append"]].concat();
    let error = stderr(&mut decode(folder.path(), &args), 0);
    assert!(
        error.contains("warning: archive/_unfinished-0: unfinished files of another run")
            && error.contains("whose names begin with part-0"),
        "{error}"
    );
    assert_eq!(files(&folder.path().join("archive")), run_files(1));
}
