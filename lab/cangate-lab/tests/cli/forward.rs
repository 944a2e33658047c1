//! `cangate lab`, `bench`, `report` and `image` start the program `cangate-lab`.

use crate::{cangate, stderr, stdout, text};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Time for which a file that was just written may be busy: a concurrent test forked while it was
/// open.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// Creates a copy of `cangate` in a folder of its own, and next to it a `cangate-lab` that prints
/// its arguments.
fn prepared(folder: &Path, with_lab: bool) -> Command {
    let program = folder.join("cangate");
    std::fs::copy(crate::program(), &program).unwrap();
    if with_lab {
        let lab = folder.join("cangate-lab");
        let script = "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done\nexit 7\n";
        std::fs::write(&lab, script).unwrap();
        std::fs::set_permissions(&lab, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(program);
    command.env("PATH", "/usr/bin:/bin");
    command
}

fn run(folder: &Path, with_lab: bool, line: &str) -> Output {
    let mut command = prepared(folder, with_lab);
    command.args(line.split(' '));
    let began = Instant::now();
    loop {
        let busy = match command.output() {
            Ok(output) if text(&output.stderr).contains("Text file busy") => true,
            Ok(output) => return output,
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => true,
            Err(error) => panic!("{error}"),
        };
        assert!(busy && began.elapsed() < BUSY_TIMEOUT, "{line}: still busy");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn each_command_of_the_laboratory_gets_its_words_as_they_are() {
    for (line, words) in [
        ("lab", ""),
        (
            "lab measure --json --out x y",
            "[measure][--json][--out][x][y]",
        ),
        ("lab --help", "[--help]"),
        (
            "lab exec -- cangate --version",
            "[exec][--][cangate][--version]",
        ),
        ("bench --send can0 -h", "[bench][--send][can0][-h]"),
        (
            "bench syscalls vcan0 --json",
            "[bench][syscalls][vcan0][--json]",
        ),
        ("report --version", "[report][--version]"),
        ("image gateway.toml", "[image][gateway.toml]"),
        ("help lab measure", "[help][measure]"),
        ("help bench", "[help][bench]"),
        (
            "--color never lab run m.toml",
            "[--color][never][run][m.toml]",
        ),
        (
            "lab run m.toml --color always",
            "[run][m.toml][--color][always]",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), true, line);
        assert_eq!(text(&output.stdout), words, "{line}: {output:?}");
        assert_eq!(
            output.status.code(),
            Some(7),
            "{line}: the status is its own"
        );
    }
}

#[test]
fn a_missing_laboratory_is_named_with_the_cure() {
    for line in [
        "lab measure",
        "bench --send a",
        "report x",
        "image x",
        "help lab",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), false, line);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        for words in [
            "error: ",
            "cangate-lab",
            "Debian package",
            "cargo install --path lab/cangate-lab",
            "cargo build --release -p cangate-lab",
        ] {
            assert!(message.contains(words), "{line}: {words}: {message}");
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_gateway_lists_the_commands_of_the_laboratory() {
    let help = stdout(cangate().arg("--help"), 0);
    for command in ["lab", "bench", "report", "image"] {
        let line = help.lines().find(|line| line.trim().starts_with(command));
        assert!(line.unwrap().contains("cangate-lab"), "{help}");
    }
}

#[test]
fn both_programs_have_one_version() {
    let version = |words: &[&str]| stdout(cangate().args(words), 0);
    let gateway = version(&["--version"]);
    let lab = version(&["lab", "--version"]);
    assert_eq!(
        lab.trim_start_matches("cangate-lab "),
        gateway.trim_start_matches("cangate ")
    );
    let message = version(&["lab", "--version", "--verbose"]);
    assert!(
        message.contains(
            "kmod/bitcan, kmod/canchar, kmod/nesting, kmod/shmcan, kmod/vfcan\n  licence:  GPL-2.0"
        ),
        "{message}"
    );
    assert!(crate::root().join("kmod/bitcan").exists());
}

#[test]
fn a_gateway_under_test_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cangate();
    command
        .args(["lab", "measure", "--cangate", "no/such/cangate", "--cache"])
        .arg(folder.path().join("cache"))
        .args(["--mirror", "http://127.0.0.1:1"]);
    let message = stderr(&mut command, 2);
    assert!(message.contains("no/such/cangate"), "{message}");
    assert!(message.contains("--cangate"), "{message}");
}
