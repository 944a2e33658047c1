//! `cangate capture` on a machine without CAN interfaces. With interfaces, the laboratory tests it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

/// The type of CAN interfaces (`ARPHRD_CAN` of linux/if_arp.h), as sysfs has it.
const CAN: &str = "280";

/// Returns whether this machine has a CAN interface.
fn has_interface() -> bool {
    let all = std::fs::read_dir("/sys/class/net").unwrap();
    let types =
        all.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("type")).ok());
    types.into_iter().any(|kind| kind.trim() == CAN)
}

#[test]
fn a_recording_of_no_interface_is_a_failure() {
    if has_interface() {
        println!("SKIPPED because this machine has a CAN interface");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo_bin!("cangate"))
        .args(["capture", "any", "--out"])
        .arg(folder.path().join("x.log"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    assert!(first.contains("there is no CAN interface yet"), "{first}");
    // A process that may not record has ended already.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = rustix::process::Pid::from_child(&child);
    if child.try_wait().unwrap().is_none() {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    if rest.contains("not permitted") {
        println!("SKIPPED because this user may not record: {rest}");
        return;
    }
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(
        rest.contains("nothing was recorded: there is no CAN interface"),
        "{rest}"
    );
}
