//! `packaging/can.network`: systemd-networkd itself reads it, in namespaces of its own.

use crate::root;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where distributions install the program.
const PLACES: [&str; 2] = [
    "/usr/lib/systemd/systemd-networkd",
    "/lib/systemd/systemd-networkd",
];

/// Starts a shell as root of a network namespace and a mount namespace, in which /run is empty.
fn apart(script: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("mount -t tmpfs none /run && {script}");
    command.args(["--net", "--mount", "sh", "-c", &script]);
    command
}

/// Returns what systemd-networkd prints until it has read these files.
fn said(networkd: &str, folder: &Path) -> String {
    let script = format!(
        "mkdir -p /run/systemd/network && cp {}/*.network /run/systemd/network && exec {networkd} 2>&1",
        folder.display()
    );
    let mut child = apart(&script)
        .env("SYSTEMD_LOG_LEVEL", "debug")
        .env("SYSTEMD_LOG_TARGET", "console")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    let mut is_done = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        is_done |= line.contains("Enumeration completed");
        writeln!(text, "{line}").unwrap();
        if is_done {
            break;
        }
    }
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
    assert!(is_done, "systemd-networkd has not started:\n{text}");
    text
}

#[test]
fn networkd_takes_each_line_of_the_file() {
    let Some(networkd) = PLACES.into_iter().find(|path| Path::new(path).exists()) else {
        eprintln!("SKIPPED because there is no systemd-networkd");
        return;
    };
    let allowed = apart("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED because this process may not make namespaces (unshare --net --mount)");
        return;
    }
    let file = std::fs::read_to_string(root().join("packaging/can.network")).unwrap();
    // The lines for CAN FD are comments.
    let fd = file.replace("#DataBitRate", "DataBitRate");
    let fd = fd.replace("#FDMode", "FDMode");
    assert_eq!(fd.matches('#').count() + 2, file.matches('#').count());
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("80-can", file.clone()),
        ("80-fd", fd),
        ("81-key", file.replace("RestartSec", "RestartSeconds")),
        ("81-value", file.replace("500K", "fast")),
        ("81-section", file.replace("[CAN]", "[CANBUS]")),
    ] {
        std::fs::write(folder.path().join(format!("{name}.network")), text).unwrap();
    }
    let said = said(networkd, folder.path());
    let about = |name: &str| -> Vec<&str> {
        let file = format!("/{name}.network:");
        said.lines().filter(|line| line.contains(&file)).collect()
    };
    // Mistakes are reported, so the file has none if nothing is reported.
    for (name, word) in [
        ("81-key", "RestartSeconds"),
        ("81-value", "fast"),
        ("81-section", "CANBUS"),
    ] {
        assert!(about(name).iter().any(|line| line.contains(word)), "{said}");
    }
    assert_eq!(about("80-can"), [""; 0], "{said}");
    assert_eq!(about("80-fd"), [""; 0], "{said}");
}
