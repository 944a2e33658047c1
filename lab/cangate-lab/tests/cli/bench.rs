//! `cangate bench`: errors are reported before any frame is sent, with advice on what to do.
//! Measuring itself is tested where there are interfaces (lab/tester/tests/vcan.rs).

use crate::{cangate, stderr, stdout};

fn bench(arguments: &str) -> std::process::Output {
    let mut command = cangate();
    command.arg("bench").args(arguments.split_whitespace());
    command.output().unwrap()
}

/// Returns the error message for invalid arguments.
fn wrong(arguments: &str) -> String {
    let mut command = cangate();
    command.arg("bench").args(arguments.split_whitespace());
    stderr(&mut command, 2)
}

#[test]
fn wrong_arguments_are_reported_with_what_to_do() {
    for (arguments, words) in [
        ("", "--send"),
        ("--send a", "--receive"),
        ("--send a --receive b --payload 1", "at least 2"),
        ("--send a --receive b --payload 65", "64"),
        ("--send a --receive b --traffic fast", "oneatatime"),
        ("--send a --receive b --traffic load:0", "1 to 100"),
        ("--send a --receive b --traffic period:0", "microseconds"),
        ("--send a --receive b --id 12", "3 hexadecimal digits"),
        (
            "--send a --receive b --id 123-00000200 --no-bus-time",
            "one format",
        ),
        ("--send a --receive b --brs", "--fd"),
        ("--send a --receive b --bitrate 5", "1000"),
        (
            "--send a --receive b --bitrate 1M --data-bitrate 500k",
            "below",
        ),
        ("--send a --receive b --set x", "NAME=VALUE"),
        ("--send a --bitcan", "cannot be used with"),
        (
            "--send nosuchcan0 --receive nosuchcan1",
            "no interface nosuchcan0",
        ),
        ("--send a --receive b --no-bus-time --payload 9", "FD"),
        (
            "--send a --receive b --no-bus-time --frames 0",
            "1 to 1000000",
        ),
        (
            "--send a --receive b --no-bus-time --traffic load:50",
            "bit rate",
        ),
        (
            "--send a --receive b --bitrate 500k --traffic period:100",
            "shorter",
        ),
        ("--send a --receive a --no-bus-time", "other bus"),
        ("--send a --reference a --receive b --no-bus-time", "echo"),
        ("--bitcan --receive-bus 0", "different"),
        ("--bitcan --receive-bus 9", "0 to 7"),
        ("syscalls lo --frames 0", "1 to 50000"),
        ("syscalls lo --frames 50001", "1 to 50000"),
        ("syscalls", "<IFACE>"),
        ("syscalls can0 --id 12", "3 hexadecimal digits"),
        ("--send a syscalls can0", "cannot be used with"),
        ("--send a --receive b --log /no/such/file", "/no/such/file"),
    ] {
        let text = wrong(arguments);
        assert!(text.contains(words), "{arguments}: {text}");
    }
}

#[test]
fn what_a_log_lacks_is_told_before_any_frame_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("lossy.log");
    let lines = "(1.0) can0 123#1122\n# 12 frames of can0 are missing here: the ring was full\n\
                 nonsense\n(1.5) can0 123#80:00:00000000#AA\n(1.1) can0 123#2233\n";
    std::fs::write(&log, lines).unwrap();
    let log = log.display();
    let arguments = format!("--send nosuchcan0 --receive nosuchcan1 --no-bus-time --log {log}");
    let output = bench(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for words in [
        "12 frames are missing according to the log",
        "1 bad line was left out",
        "1 XL frames are skipped",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn what_this_machine_lacks_is_named() {
    let output = bench("--send nosuchcan0 --receive nosuchcan1 --no-bus-time");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("nosuchcan0") || text.contains("AF_CAN"),
        "{text}"
    );
    assert!(output.stdout.is_empty(), "no result");
    if !std::path::Path::new("/dev/bitcan-tester").exists() {
        let output = bench("--bitcan --bitrate 1M");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("modprobe bitcan"), "{text}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn what_the_interface_for_bursts_lacks_is_named() {
    let output = bench("syscalls nosuchcan0");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("no interface nosuchcan0") || text.contains("AF_CAN"),
        "{text}"
    );
    assert!(output.stdout.is_empty(), "no result");
    let help = stdout(cangate().args(["bench", "syscalls", "--help"]), 0);
    for word in ["Examples:", "Exit status:", "ratio", "--id", "lab exec"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--virtual-time"), "the lab's own");
}

#[test]
fn help_has_groups_and_examples() {
    let help = stdout(cangate().args(["bench", "--help"]), 0);
    for word in [
        "Interfaces:",
        "Traffic:",
        "Timing:",
        "Results:",
        "Examples:",
        "Exit status:",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--virtual-time"), "the lab's own");
}

/// A bench reads its log before it looks for interfaces.
#[test]
fn what_is_not_a_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("drive.log");
    let program = std::fs::read(crate::program()).unwrap();
    for (bytes, looks) in [
        (&program[..100_000], "a program (ELF)"),
        (b"Dear diary,\ntoday\n", "it looks like text"),
        (b"", "it is empty"),
        (b"LOGG\x90\0\0\0", "Vector BLF"),
    ] {
        std::fs::write(&log, bytes).unwrap();
        let mut command = cangate();
        command.args(["bench", "--send", "none0", "--receive", "none1", "--log"]);
        let text = stderr(command.arg(&log), 2);
        assert!(text.contains("drive.log: "), "{text}");
        assert!(text.contains(looks), "{looks}: {text}");
    }
}
