//! `cangate list` on a machine without CAN interfaces. With interfaces, the laboratory tests it.

use crate::{cangate, stderr, stdout};
use serde_json::Value;

#[test]
fn interfaces_are_listed_for_people_and_programs() {
    let all: Value = serde_json::from_str(&stdout(cangate().args(["list", "--json"]), 0)).unwrap();
    let all = all.as_array().unwrap();
    let output = cangate().arg("list").output().unwrap();
    assert!(output.status.success());
    if all.is_empty() {
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("There is no CAN interface"), "{err}");
    }
    let out = String::from_utf8(output.stdout).unwrap();
    for one in all {
        assert!(out.contains(one["interface"].as_str().unwrap()), "{out}");
    }
}

#[test]
fn an_interface_that_is_not_one_of_can_is_named() {
    let err = stderr(cangate().args(["list", "lo"]), 2);
    assert!(err.contains("lo is not a CAN interface"), "{err}");
    let err = stderr(cangate().args(["list", "no-such-if"]), 2);
    assert!(
        err.contains("no-such-if: the kernel does not know it"),
        "{err}"
    );
}
