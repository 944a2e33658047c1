//! Controllers that a process drives, on the timed bench.

use super::{exec, lab};

/// Frames pass, polled and by interrupt; a controller belongs to one process; a killed process leaves its
/// bus, and every frame is counted once.
#[test]
#[ignore = "boots a guest"]
fn a_process_drives_two_controllers() {
    let Some(_guest) = lab() else { return };
    let output = exec("--bench timed", include_str!("mapped.sh"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    let lines: Vec<_> = said.lines().map(str::trim_end).collect();
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

/// FD frames; one-shot, with an error and with a lost arbitration; bus-off and the way back; listen-only in
/// both directions. Each frame has one fate, which the gateway and the module count alike.
#[test]
#[ignore = "boots a guest"]
fn a_mapped_controller_does_what_a_driver_must() {
    let Some(_guest) = lab() else { return };
    let here = env!("CARGO_MANIFEST_DIR");
    let file = format!("--bench timed --file {here}/tests/lab/mapped_modes.sh");
    let output = exec(&file, "sh /lab/mapped_modes.sh").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    let parts: Vec<_> = said.split("== ").skip(1).collect();
    assert_eq!(parts.len(), 6, "{said}{errors}");
    let part = |n: usize, name: &str, lines: &[&str]| {
        let all: Vec<_> = parts[n].lines().map(str::trim).collect();
        assert_eq!(all[0], name, "{said}{errors}");
        for line in lines.iter().chain(&["status 0"]) {
            assert!(all.contains(line), "no `{line}` in {said}{errors}");
        }
        all
    };
    let long = format!("7FF##5{:0128}", 7);
    let came = format!(
        "came 123##5 123##41122334455667788 1ABCDEF0##5112233445566778899AABBCC {long} 456#R2"
    );
    part(0, "fd", &[&came, "gw1 up · · 5 5"]);
    // 102 met an error, 104 lost the arbitration: both are lost, and neither comes later.
    let one_shot = part(1, "one-shot", &["came 101#01 103#03 105#05"]);
    let row = one_shot.iter().find(|l| l.starts_with("gw1 up")).unwrap();
    assert!(row.ends_with(" · 5 3 2"), "offered, sent, lost: {said}");
    let module = one_shot.iter().find(|l| l.starts_with("gw1 bus")).unwrap();
    assert!(
        module.contains(" sent=3 failed=2 cut=0 pending=0"),
        "{said}"
    );
    // 32 errors in a row make it bus-off: the frame is lost, and after the restart the next one passes.
    part(
        2,
        "bus-off",
        &[
            "came 201#01 203#03",
            "gw1 up · · 3 2 1 4 1",
            "gw1 bus=1 model=mapped received=0 overrun=0 unread=0 sent=2 failed=1 cut=0 pending=0",
            "port gw1: is bus-off",
            "port gw1: is up again",
        ],
    );
    // It hears what others acknowledge; it acknowledges nothing, so that its sender becomes error-passive.
    let heard = [
        "ERROR-PASSIVE",
        "came 301#01 302#02",
        "gw0 bus=0 model=mapped received=2 overrun=0 unread=0 sent=0 failed=0 cut=0 pending=0",
    ];
    part(3, "listen-only", &heard);
    let refused = [
        "came",
        "gw1 up · · 1 · 1",
        "gw1 bus=1 model=mapped received=0 overrun=0 unread=0 sent=0 failed=0 cut=0 pending=0",
    ];
    part(4, "listen-only-out", &refused);
}
