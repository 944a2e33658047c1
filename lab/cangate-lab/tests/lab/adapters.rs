//! The case `restart-unsupported`: a serial adapter whose driver, Linux's slcan, has no restart
//! after bus-off.

use super::script::{parts, printed};
use super::waiting_lab;
use std::path::PathBuf;
use std::process::Command;

/// Builds the simulated adapter, a program for guests; `None`, and a message, where there is no C
/// compiler.
fn adapter(folder: &tempfile::TempDir) -> Option<PathBuf> {
    let program = folder.path().join("slcan_adapter");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/slcan_adapter.c");
    let compiled = Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .arg(&program)
        .arg(source)
        .status();
    if compiled.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    eprintln!("SKIPPED because no C compiler makes static programs here (`cc -static`)");
    None
}

fn an_adapter_without_restart_starts(kernel: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(adapter) = adapter(&folder) else {
        return;
    };
    let text = printed(
        &format!(
            "--fast --bench vcan --kernel {kernel} --file {}",
            adapter.display()
        ),
        "slcan.sh",
    );
    let steps = parts(&text);
    let refused = "Operation not supported (os error 95); the kernel reports: Device doesn't support restart from Bus Off";
    let default = steps["default"];
    assert!(
        default.starts_with("t123111\nrestart-ms 0 bitrate 500000 "),
        "{default}"
    );
    let note = format!(
        "usb0 is set up without a restart after bus-off, which its driver refuses ({refused})"
    );
    assert!(default.contains(&note), "{default}");
    let asked =
        format!("error: usb: usb0 cannot be set to restart 70 ms after bus-off: {refused}; leave");
    assert!(steps["asked"].starts_with(&asked), "{}", steps["asked"]);
    assert_eq!(steps["never"], "t123133\nrestart-ms 0 bitrate 500000 ");
    // The reason is that of the kernel, where it gives one.
    let (odd, fd) = match kernel {
        "7.3" => (
            "; the kernel reports: bitrate 0 bps not supported\n",
            "; the kernel reports: requested control mode FD not supported\n",
        ),
        _ => (
            " (is the bit rate or the sample point outside the controller's range?)\n",
            " (does its driver support CAN FD?)\n",
        ),
    };
    assert_eq!(
        steps["odd"],
        format!(
            "error: usb: usb0 cannot be set to 333333 bit/s: Invalid argument (os error 22){odd}"
        )
    );
    assert_eq!(
        steps["fd"],
        format!(
            "error: usb: usb0 cannot be set to 500000 bit/s, data phase 2000000 bit/s: Operation not supported (os \
             error 95){fd}"
        )
    );
}

#[test]
#[ignore = "boots a guest"]
fn an_adapter_without_restart_starts_on_the_usual_kernel() {
    let Some(_lab) = waiting_lab() else { return };
    an_adapter_without_restart_starts("6.1");
}

#[test]
#[ignore = "boots a guest"]
fn an_adapter_without_restart_starts_on_the_newest_kernel() {
    let Some(_lab) = waiting_lab() else { return };
    an_adapter_without_restart_starts("7.3");
}
