//! A gateway whose ports receive and transmit by io_uring, in a guest; and what is said where the
//! kernel has none.

use super::{exec, lab};
use serde_json::Value;

/// The parts of what `uring.sh` printed, by their titles.
fn parts(kernel: &str) -> Vec<(String, String)> {
    let here = env!("CARGO_MANIFEST_DIR");
    let arguments = format!(
        "--fast --bench timed --kernel {kernel} --timeout 300 --file {here}/tests/lab/uring.sh"
    );
    let mut command = exec(&arguments, "bash /lab/uring.sh 2>&1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(text.ends_with("== done\n"), "{text}{said}");
    let parts = text.split("== ").skip(1);
    let titled = parts.filter_map(|part| part.split_once('\n'));
    titled
        .map(|(t, body)| (t.to_owned(), body.to_owned()))
        .collect()
}

fn passes(kernel: &str) {
    let parts = parts(kernel);
    let part = |title: &str| {
        let found = parts.iter().find(|(t, _)| t == title);
        &found.unwrap_or_else(|| panic!("no {title}: {parts:?}")).1
    };
    let long: String = (1..=64).map(|n| format!("{n:02X}")).collect();
    assert_eq!(
        part("kinds").lines().collect::<Vec<_>>(),
        [
            "123#1122334455667788".to_owned(),
            "18FEF100#AA".to_owned(),
            "123#R4".to_owned(),
            format!("100##5{long}"),
            "7FF#".to_owned(),
        ],
        "{kernel}: {parts:?}"
    );
    // `cangen -D i` counts in the payload, little endian.
    let numbers: Vec<String> = (0..1000u32)
        .map(|n| n.to_le_bytes().map(|b| format!("{b:02X}")).concat())
        .collect();
    let got: Vec<&str> = part("full").lines().collect();
    assert_eq!(got, numbers, "{kernel}: each once, in order: {parts:?}");
    assert_eq!(
        part("again").lines().collect::<Vec<_>>(),
        ["124#01", "124#03", "124#04"],
        "{kernel}: {parts:?}"
    );
    let summary: Value = serde_json::from_str(part("summary")).unwrap();
    let port = |name: &str| {
        let ports = summary["ports"].as_array().unwrap();
        ports.iter().find(|port| port["name"] == name).unwrap()
    };
    assert!(port("b1").is_object(), "{summary}");
    eprintln!("{summary:#}");
}

#[test]
fn frames_pass_by_io_uring() {
    let Some(_lab) = lab() else { return };
    passes("6.1");
}

#[test]
#[ignore = "heavy"]
fn frames_pass_by_io_uring_on_a_newer_kernel() {
    let Some(_lab) = lab() else { return };
    passes("7.3");
}
