//! The duties of a controller that is not an interface, whichever driver it has: with ports of kind
//! `direct` and of kind `chardev`.

use super::{exec, lab};

#[test]
#[ignore = "boots a guest"]
fn a_mapped_controller_does_what_a_driver_must() {
    does_what_a_driver_must("mapped", |received, sent, failed| {
        format!(
            "received={received} overrun=0 unread=0 sent={sent} failed={failed} cut=0 pending=0"
        )
    });
}

#[test]
#[ignore = "boots a guest"]
fn a_character_device_does_what_a_driver_must() {
    does_what_a_driver_must("chardev-sja1000", |received, sent, failed| {
        format!("received={received} overrun=0 sent={sent} failed={failed} pending=0")
    });
}

/// FD frames; one-shot, with an error and with a lost arbitration; bus-off and the way back;
/// listen-only in both directions. Each frame has one fate, which the gateway and the module count
/// alike.
fn does_what_a_driver_must(
    model: &str,
    counts: fn(received: u32, sent: u32, failed: u32) -> String,
) {
    let Some(_guest) = lab() else { return };
    let here = env!("CARGO_MANIFEST_DIR");
    let file = format!("--bench timed --file {here}/tests/lab/modes.sh");
    let command = format!("sh /lab/modes.sh {model}");
    let output = exec(&file, &command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    let parts: Vec<_> = text.split("== ").skip(1).collect();
    assert_eq!(parts.len(), 6, "{text}{errors}");
    let part = |n: usize, name: &str, lines: &[&str]| {
        let all: Vec<_> = parts[n].lines().map(str::trim).collect();
        assert_eq!(all[0], name, "{text}{errors}");
        for line in lines.iter().chain(&["status 0"]) {
            assert!(all.contains(line), "no `{line}` in {text}{errors}");
        }
        all
    };
    let long = format!("7FF##5{:0128}", 7);
    let came = format!(
        "came 123##5 123##41122334455667788 1ABCDEF0##5112233445566778899AABBCC {long} 456#R2"
    );
    part(0, "fd", &[&came, "gw1 up · · 5 5"]);
    // 102 met an error, 104 lost the arbitration: both are lost, and neither is sent later.
    let one_shot = part(1, "one-shot", &["came 101#01 103#03 105#05"]);
    let row = one_shot.iter().find(|l| l.starts_with("gw1 up")).unwrap();
    assert!(row.ends_with(" · 5 3 2"), "offered, sent, lost: {text}");
    let module = one_shot.iter().find(|l| l.starts_with("gw1 bus")).unwrap();
    // It has also received can1's frames.
    let own = counts(0, 3, 2).replace("received=0", "");
    assert!(module.ends_with(&own), "{own} {text}");
    // 32 errors in a row make it bus-off: the frame is lost, and after the restart the next one
    // passes.
    part(
        2,
        "bus-off",
        &[
            "came 201#01 203#03",
            "gw1 up · · 3 2 1 4 1",
            &format!("gw1 bus=1 model={model} {}", counts(0, 2, 1)),
            "port gw1: is bus-off",
            "port gw1: is up again",
        ],
    );
    // It receives frames that others acknowledge; it acknowledges nothing, so that its sender
    // becomes error-passive.
    let module = format!("gw0 bus=0 model={model} {}", counts(2, 0, 0));
    let heard = ["ERROR-PASSIVE", "came 301#01 302#02", &module];
    part(3, "listen-only", &heard);
    let module = format!("gw1 bus=1 model={model} {}", counts(0, 0, 0));
    let refused = ["came", "gw1 up · · 1 · 1", &module];
    part(4, "listen-only-out", &refused);
}
