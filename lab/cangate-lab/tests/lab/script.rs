//! A script of this folder in a guest: it prints `== NAME` before each of its parts, and `== done`
//! at its end.

use super::exec;
use std::collections::BTreeMap;

/// A file for scripts that take their buses and their ports from it.
pub(super) const TWO_DEVICES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/two_devices.sh");

/// Functions for scripts that run a gateway with one port under test.
pub(super) const ONE_PORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/one_port.sh");

/// Returns the text that `script` printed on both of its outputs; words after its name are its
/// arguments. `arguments` are those of `cangate lab exec`.
pub(super) fn printed(arguments: &str, script: &str) -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let name = script.split(' ').next().unwrap();
    let arguments = format!("{arguments} --file {here}/tests/lab/{name}");
    let output = exec(&arguments, &format!("bash /lab/{script} 2>&1"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.ends_with("== done\n"),
        "{script} did not come to its end"
    );
    text
}

/// Returns the parts of a script's output, by name.
pub(super) fn parts(text: &str) -> BTreeMap<&str, &str> {
    text.split("== ")
        .skip(1)
        .filter_map(|part| part.split_once('\n'))
        .collect()
}

/// Parses the objects of JSON in a part, one per line.
pub(super) fn objects(part: &str) -> Vec<serde_json::Value> {
    let lines = part.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
