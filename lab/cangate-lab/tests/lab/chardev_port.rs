//! Ports of kind `chardev`, in a guest with the real driver.

use super::script::TWO_DEVICES;
use super::{exec, lab};

/// A device that goes and comes back, a second process on it, a flood, a kill: every frame is
/// counted, and the next gateway finds the controllers running.
#[test]
#[ignore = "boots a guest"]
fn a_gateway_on_character_devices_meets_what_happens_to_devices() {
    let Some(_guest) = lab() else { return };
    let here = env!("CARGO_MANIFEST_DIR");
    let file =
        format!("--bench timed --file {TWO_DEVICES} --file {here}/tests/lab/chardev_port.sh");
    let output = exec(&file, "sh /lab/chardev_port.sh").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let expected = [
        "port gw0: character device /dev/gw0 at 500000 bit/s",
        "port gw1: character device /dev/gw1 at 500000 bit/s",
        "came 101#01 103#03",
        "port state received routed offered sent undeliverable reopened",
        "gw0 up 3 2 · · · ·",
        "gw1 up · · 3 2 1 1",
        "3 frames received = 2 routed + 1 undeliverable. All sums add up.",
        "port gw1: is gone: frames for it are not sent until it is back",
        "port gw1: is up again (it was gone)",
        "flood 2000",
        "gw0 bus=0 model=chardev-sja1000 received=2003 overrun=0 sent=0 failed=0 pending=0",
        "gw1 bus=1 model=chardev-sja1000 received=0 overrun=0 sent=2001 failed=0 pending=0",
        "20 sent, 20 answered",
        "came 104#04",
        "status 0",
        "/dev/gw0 runs with other settings, at 500000 bit/s",
        "/dev/null is not a CAN controller of the driver canchar",
        "there is no /dev/nothing: is the driver loaded",
    ];
    assert_eq!(lines, expected, "{errors}");
}
