//! Programs that are workspaces of their own, in `fleet/` and `secure/`: formatting, clippy, their
//! tests.

use crate::command::{command, on_path, show};
use crate::libtest;
use crate::report::TestTally;
use crate::workspace::{Workspace, cargo};
use anyhow::Result;
use std::process::Command;

/// The variable by which the tests find the gateway.
const GATEWAY: &str = "CANGATE";

/// Runs all checks of the program in a folder, which is also the name of the step.
pub(crate) fn run(workspace: &Workspace, folder: &str) -> Result<TestTally> {
    let cargo = |arguments: &[&str]| {
        let mut command = command(cargo(), &workspace.root.join(folder));
        command.args(arguments);
        command.env("CARGO_TARGET_DIR", workspace.target.join(folder));
        command
    };
    let mut tally = lint(&cargo, folder)?;
    let mut test = cargo(&["test", "--locked", "--", "--show-output"]);
    // The step `build` has built it.
    let gateway = workspace.target.join("debug/cangate");
    if gateway.is_file() && std::env::var_os(GATEWAY).is_none() {
        test.env(GATEWAY, gateway);
    }
    tally.add(libtest::run(&mut test, &workspace.log(folder))?.tally);
    Ok(tally)
}

/// Checks the formatting, and runs clippy.
fn lint(cargo: &impl Fn(&[&str]) -> Command, folder: &str) -> Result<TestTally> {
    let mut tally = TestTally::default();
    let clippy = [
        "clippy",
        "--locked",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    let lints: [(&str, &[&str]); 2] = [
        ("cargo-fmt", &["fmt", "--check"]),
        ("cargo-clippy", &clippy),
    ];
    for (program, arguments) in lints {
        if on_path(program) {
            tally.add(TestTally::check(show(&mut cargo(arguments))?));
        } else {
            let because = format!("{} of {folder}/ because it is missing", arguments[0]);
            tally.add(TestTally::skipped(because));
        }
    }
    Ok(tally)
}
