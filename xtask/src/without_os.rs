//! The core without an operating system: it builds there, and the engine runs there.

use crate::command::{command, line, output, show};
use crate::report::TestTally;
use crate::setup::{BARE_TARGET, NO_STD_TARGET, has_target};
use crate::workspace::Workspace;
use anyhow::Result;

/// The program of `crates/engine/without_os`.
const PROGRAM: &str = "engine-without-os";

/// Builds the core for a processor without an operating system's library, and runs the engine's
/// scenarios as a program without one.
pub(crate) fn no_std(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = builds(workspace)?;
    tally.add(images(workspace)?);
    tally.add(runs(workspace)?);
    Ok(tally)
}

fn builds(workspace: &Workspace) -> Result<TestTally> {
    if !has_target(NO_STD_TARGET) {
        return Ok(missing(NO_STD_TARGET));
    }
    let mut build = workspace.cargo("build");
    for room in [
        "cangate-frame",
        "cangate-route",
        "cangate-engine",
        "cangate-controller",
        "cangate-bus",
        "cangate-analysis",
        "cangate-signals",
        "cangate-e2e",
    ] {
        build.args(["-p", room]);
    }
    build.args(["--lib", "--no-default-features", "--target", NO_STD_TARGET]);
    Ok(TestTally::check(show(&mut build)?))
}

/// Checks that the images of `baremetal` compile; `cangate image` builds them, and tests in the lab
/// run them.
fn images(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = TestTally::default();
    for target in [BARE_TARGET, NO_STD_TARGET] {
        if !has_target(target) {
            tally.add(missing(target));
            continue;
        }
        let mut look = workspace.cargo("clippy");
        look.args(["-p", "cangate-baremetal", "--bin", "cangate-image"]);
        look.args(["--target", target, "--", "-D", "warnings"]);
        tally.add(TestTally::check(show(&mut look)?));
    }
    Ok(tally)
}

/// Runs the program. Linux starts it, but only its outermost lines depend on Linux.
fn runs(workspace: &Workspace) -> Result<TestTally> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(TestTally::skipped(format!(
            "{PROGRAM} because only Linux on x86-64 can run it"
        )));
    }
    if !has_target(BARE_TARGET) {
        return Ok(missing(BARE_TARGET));
    }
    let mut build = workspace.cargo("rustc");
    build.args([
        "-p",
        "cangate-engine",
        "--bin",
        PROGRAM,
        "--target",
        BARE_TARGET,
    ]);
    // At a fixed address: there is no loader that would relocate the program.
    build.args([
        "--",
        "-C",
        "relocation-model=static",
        "-C",
        "code-model=small",
    ]);
    if !show(&mut build)? {
        return Ok(TestTally::failed());
    }
    let program = workspace
        .target
        .join(BARE_TARGET)
        .join("debug")
        .join(PROGRAM);
    let mut program = command(program, &workspace.root);
    println!("$ {}", line(&program));
    let result = output(&mut program)?;
    let text = String::from_utf8_lossy(&result.stdout);
    let mut tally = TestTally::check(result.status.success());
    match passed(&text) {
        Some(scenarios) if result.status.success() => tally.passed = scenarios,
        _ => {
            print!("{text}");
            tally = TestTally::failed();
        }
    }
    Ok(tally)
}

/// Returns the number of scenarios that passed, from the program's last line.
fn passed(text: &str) -> Option<u64> {
    let (number, rest) = text.lines().last()?.split_once(' ')?;
    let number = number.parse().ok().filter(|&number| number > 0)?;
    (rest == "scenarios passed without an operating system").then_some(number)
}

fn missing(target: &str) -> TestTally {
    TestTally::skipped(format!(
        "no_std because the target {target} is missing; to have it: rustup target add {target}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_that_came_to_its_end_has_passed() {
        let good = "one\ntwo\n2 scenarios passed without an operating system\n";
        assert_eq!(passed(good), Some(2));
        assert_eq!(passed("one\ntwo\n"), None);
        assert_eq!(
            passed("0 scenarios passed without an operating system\n"),
            None
        );
        assert_eq!(passed("2 scenarios passed\n"), None);
        assert_eq!(passed(""), None);
    }
}
