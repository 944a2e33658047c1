//! Controllers that a process drives, on the timed bench.

use super::{exec, lab};

/// Frames pass, polled and by interrupt; a controller belongs to one process; a killed process
/// leaves its bus, and every frame is counted once.
#[test]
#[ignore = "boots a guest"]
fn a_process_drives_two_controllers() {
    let Some(_guest) = lab() else { return };
    let output = exec("--bench timed", include_str!("mapped.sh"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let gateway = |mode: &str, passed: u32| {
        vec![
            format!("{mode}: 123#1122334455667788 12345678#R3 7FF#"),
            format!("{mode}: in use"),
            "in use by another process".to_owned(),
            format!("{mode}: 124#01"),
            format!(
                "gw0 bus=0 model=mapped received={passed} overrun=0 unread=0 sent=0 failed=0 cut=0 pending=0"
            ),
            format!(
                "gw1 bus=1 model=mapped received=0 overrun=0 unread=0 sent={passed} failed=0 cut=0 pending=0"
            ),
        ]
    };
    let mut expected = gateway("poll", 4);
    expected.extend(gateway("interrupt", 8));
    expected.extend(["/dev/bitcan", "/dev/bitcan-gw1", "/dev/bitcan-tester"].map(str::to_owned));
    assert_eq!(lines, expected, "{errors}");
}
