//! Databases are compared with what cantools reads from the same files: each message, each signal
//! with its layout, scale, range, unit, receivers, switches and names, and the values in random
//! payloads, which are also encoded again.
//!
//! The files are those of this repository, files that cantools itself writes, and those of a
//! folder that the environment variable `CANGATE_DATABASES` names.

mod describe;
mod differences;
mod files;

use self::differences::Differences;
use self::files::{Folder, python};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The number of random payloads for each message.
const PAYLOADS: &str = "20";

#[test]
fn each_database_is_read_as_by_cantools() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let mut files = files::of_repository();
    files.extend(files::written_by_cantools(&python, &folder));
    files.extend(files::of_environment());
    let names: String = files
        .iter()
        .map(|file| format!("{}\n", file.display()))
        .collect();
    let script = files::root().join("crates/signals/tests/integration/cantools/describe.py");
    let mut child = Command::new(&python)
        .args([script, PathBuf::from(PAYLOADS)])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(names.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut differences = Differences::default();
    for part in text.split("file\t").skip(1) {
        differences.compare(part);
    }
    println!("{}", differences.summary());
    let found = differences.found();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(differences.has_compared_much());
}
