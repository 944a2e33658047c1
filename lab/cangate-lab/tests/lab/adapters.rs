//! Adapters that a program in the guest plays, under Linux's own drivers.
//!
//! * The case `restart-unsupported`: a serial adapter whose driver, Linux's slcan, has no restart
//!   after bus-off.
//! * A USB adapter with two channels and a serial number, at the kernel's virtual USB controller.

use super::script::{ONE_PORT, parts, printed};
use super::waiting_lab;
use std::path::PathBuf;
use std::process::Command;

/// Builds a simulated adapter, a program for guests; `None`, and a message, where there is no C
/// compiler.
fn adapter(folder: &tempfile::TempDir, name: &str) -> Option<PathBuf> {
    let program = folder.path().join(name);
    let source = format!("{}/tests/lab/{name}.c", env!("CARGO_MANIFEST_DIR"));
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
    let Some(adapter) = adapter(&folder, "slcan_adapter") else {
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

/// Checks that an adapter is chosen by its serial number or its place, and its settings; returns
/// what was said about settings that the kernel rounds.
fn a_usb_adapter_is_chosen_and_set_up(kernel: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let adapter = adapter(&folder, "usb_adapter")?;
    let text = printed(
        &format!(
            "--fast --bench vcan --kernel {kernel} --file {ONE_PORT} --file {}",
            adapter.display()
        ),
        "usb.sh",
    );
    let steps = parts(&text);
    for channel in 0..2 {
        let shown = format!(
            "can{channel}       gs_usb  down   not set   classic\n    usb 1-1, serial A7, channel {channel}\n"
        );
        assert!(steps["list"].contains(&shown), "{text}");
    }
    let frames = "2 frames = 2 sent\ncan1 123#1122\ncan1 18DAF110#AABB\n";
    assert_eq!(steps["frames"], frames, "{text}");
    // Plugged in elsewhere, its second channel is can2, because can1 is another interface.
    let settings = "bitrate 500000\ntermination 120\n";
    assert_eq!(
        steps["serial"],
        format!(
            "{settings}can2\nusb 1-3, serial A7\n{settings}can1 is gone\ncan2 is up again\nchannel 1: termination 1\n"
        ),
        "{text}"
    );
    assert_eq!(
        steps["several"],
        "several interfaces have serial A7: can0 (usb 1-3, serial A7, device 1-3:1.0, driver gs_usb, channel 0); can2 \
         (usb 1-3, serial A7, device 1-3:1.0, driver gs_usb, channel 1); add a property that differs\n"
    );
    assert_eq!(steps["place"], "not at another place\nusb 1-1, serial B8\n");
    // The reason is that of the kernel, where it gives one.
    let no_mode = |mode: &str, guess: &str| match kernel {
        "7.3" => format!("; the kernel reports: requested control mode {mode} not supported"),
        _ => format!(" ({guess})"),
    };
    let no_setting = "its driver does not support it: leave it out";
    let state = "; can0 stays down, and is now set to 500000 bit/s";
    let refused = [
        format!(
            "triple-sampling on: Operation not supported (os error 95){}{state}",
            no_mode("TRIPLE-SAMPLING", no_setting)
        ),
        format!(
            "a termination of 60 ohms: Invalid argument (os error 22) (does its driver support this value?){state}"
        ),
        format!(
            "berr-reporting on: Operation not supported (os error 95){}{state}",
            no_mode("BERR-REPORTING", no_setting)
        ),
        format!(
            "500000 bit/s, data phase 2000000 bit/s: Operation not supported (os error 95){}",
            no_mode("FD", "does its driver support CAN FD?")
        ),
    ];
    let refused = refused.map(|words| format!("error: a: can0 cannot be set to {words}\n"));
    assert_eq!(steps["refused"], refused.concat(), "{text}");
    assert_eq!(
        steps["sample point"],
        "can0 runs with sample-point 0.687, and its port is set to sample-point 0.875: another program has changed it; \
         `cangate reload` sets can0 as the file specifies\n"
    );
    Some(steps["rounded"].to_owned())
}

/// Linux 6.1 shortens a jump width without a word, and gives the channels no numbers.
#[test]
#[ignore = "boots a guest"]
fn a_usb_adapter_is_chosen_and_set_up_on_the_usual_kernel() {
    let Some(_lab) = waiting_lab() else { return };
    let Some(rounded) = a_usb_adapter_is_chosen_and_set_up("6.1") else {
        return;
    };
    let note = "can0 has sjw 4 in place of 8, sample-point 0.750 in place of 0.810: the nearest that its controller's \
        clock and fields allow\n";
    // At each of the two starts, and no alarm.
    assert_eq!(rounded, note.repeat(2));
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn a_usb_adapter_is_chosen_and_set_up_on_the_newest_kernel() {
        let Some(_lab) = waiting_lab() else { return };
        let Some(rounded) = a_usb_adapter_is_chosen_and_set_up("7.3") else {
            return;
        };
        let refused = "error: a: can0 cannot be set to 500000 bit/s: Invalid argument (os error 22); the kernel reports: sjw: \
            8 greater than max sjw: 4\n";
        assert!(rounded.starts_with(refused), "{rounded}");
    }

    #[test]
    #[ignore = "boots a guest"]
    fn an_adapter_without_restart_starts_on_the_newest_kernel() {
        let Some(_lab) = waiting_lab() else { return };
        an_adapter_without_restart_starts("7.3");
    }
}
