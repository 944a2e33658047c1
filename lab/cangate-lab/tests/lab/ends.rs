//! Guests that fail, and a cangate that is ended while a guest runs.

use super::{exec, lab};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn failed(arguments: &str, command: &str) -> String {
    let output = exec(arguments, command).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    words
}

#[test]
#[ignore = "boots a guest"]
fn a_panic_is_reported_with_the_end_of_the_console() {
    let Some(_lab) = lab() else { return };
    let words = failed(
        "--bench none",
        "echo 8 > /proc/sys/kernel/printk; echo c > /proc/sysrq-trigger",
    );
    assert!(
        words.contains("the guest's kernel panicked: sysrq triggered crash"),
        "{words}"
    );
    assert!(words.contains("Call Trace"), "{words}");
}

#[test]
#[ignore = "boots a guest"]
fn want_of_memory_is_reported() {
    let Some(_lab) = lab() else { return };
    let words = failed("--bench none --memory 320", "tail /dev/zero");
    assert!(
        words.contains("ran out of memory") && words.contains("320 MiB"),
        "{words}"
    );
}

#[test]
#[ignore = "boots a guest"]
fn a_guest_that_never_ends_is_given_up() {
    let Some(_lab) = lab() else { return };
    let words = failed("--bench none --timeout 3", "while :; do :; done");
    assert!(words.contains("3 s"), "{words}");
}

#[test]
#[ignore = "boots a guest"]
fn a_guest_that_is_switched_off_under_its_job_is_reported() {
    let Some(_lab) = lab() else { return };
    let words = failed("--bench none", "poweroff -f");
    assert!(words.contains("switched itself off"), "{words}");
}

/// Returns the folders of guests that this process runs.
fn qemus_of(pid: u32) -> Vec<String> {
    let mark = format!("/runs/{pid}-");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&mark) && line.contains("qemu-system") {
            found.push(line);
        }
    }
    found
}

/// Runs a guest that waits, ends cangate by a signal, and checks what is left.
fn ended_by(signal: &str) {
    // Virtual time would be over at once.
    // A shell that runs this test in the background makes it, and all its children, ignore
    // interrupts.
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(crate::program())
        .args(["lab", "exec", "--fast", "--cpus", "1", "--bench", "none"])
        .args(["--", "sh", "-c", "echo up; sleep 1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    assert_eq!(qemus_of(child.id()).len(), 1);
    let killed = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {}", child.id())])
        .status()
        .unwrap();
    assert!(killed.success());
    child.wait().unwrap();
    // The kernel notifies QEMU when its parent is gone; QEMU needs some time to end.
    let patience = Instant::now();
    while !qemus_of(child.id()).is_empty() {
        assert!(
            patience.elapsed() < Duration::from_secs(60),
            "QEMU is left behind"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its remains in the cache are removed by the next cangate.
    let folder = guest::Lab::open(&guest::Locations::default())
        .unwrap()
        .folder();
    let mark = format!("{}-", child.id());
    let left = fs::read_dir(folder.join("runs"))
        .unwrap()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(&mark));
    assert!(!left, "a folder is left behind");
}

#[test]
#[ignore = "boots a guest"]
fn an_interrupt_leaves_nothing_behind() {
    let Some(_lab) = lab() else { return };
    ended_by("INT");
}

#[test]
#[ignore = "boots a guest"]
fn a_kill_leaves_nothing_behind() {
    let Some(_lab) = lab() else { return };
    ended_by("KILL");
}
