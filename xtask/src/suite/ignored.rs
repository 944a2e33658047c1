//! Tests that are marked `#[ignore]`: they need an optimized build, or boot guests.

use crate::command::command;
use crate::workspace::{TestBinary, Workspace};
use crate::{lab, libtest, parallel};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::Path;

/// A selection of the tests that are marked `#[ignore]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IgnoredTests {
    /// All except those of [`LONG`].
    Heavy,
    /// Those of [`LONG`].
    Long,
}

/// The part of a name that marks tests in a module `long`, for libtest's filters.
pub(super) const LONG: &str = "long::";

impl IgnoredTests {
    /// Returns whether a test of this name belongs to the selection.
    pub(super) fn has(self, test: &str) -> bool {
        test.contains(LONG) == (self == Self::Long)
    }

    /// Returns libtest's arguments in addition to `--ignored`: they select the same tests as
    /// [`has`](Self::has).
    pub(super) const fn filter(self) -> &'static [&'static str] {
        match self {
            Self::Heavy => &["--skip", LONG],
            Self::Long => &[LONG],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Heavy => "heavy",
            Self::Long => "long",
        }
    }
}

/// Returns the number of these tests.
pub(super) fn count(binaries: &[TestBinary], which: IgnoredTests) -> Result<u64> {
    let mut all = 0;
    for binary in binaries {
        let ignored = binary.ignored()?;
        all += ignored.iter().filter(|test| which.has(test)).count() as u64;
    }
    Ok(all)
}

/// More tests at a time than there are processors: many mostly wait. Tests that boot guests wait
/// until a processor is free for the guest (`Right` in lab/cangate-lab/tests/lab/main.rs).
const THREADS: &str = "--test-threads=6";

/// Packages whose ignored tests boot guests. Only the two programs that they start are built for
/// release: the tests themselves mostly wait.
const BOOT_GUESTS: [&str; 2] = ["cangate-lab", "cangate-guest"];

/// Runs the tests that are marked `#[ignore]` because they need an optimized build, or boot guests.
pub(super) fn ignored_tests(
    workspace: &Workspace,
    binaries: &[TestBinary],
    which: IgnoredTests,
) -> Result<libtest::TestRun> {
    let mut optimized = Vec::new();
    let mut guests = Vec::new();
    for binary in binaries {
        if binary.ignored()?.iter().any(|test| which.has(test)) {
            let boots = BOOT_GUESTS.contains(&binary.package.as_str());
            if boots { &mut guests } else { &mut optimized }.push(binary);
        }
    }
    let programs = lab::programs(workspace)?;
    let mut parts: Vec<TestPart<'_>> = guests.into_iter().map(TestPart::Guests).collect();
    if !optimized.is_empty() {
        parts.push(TestPart::Optimized(optimized));
    }
    let mut run = libtest::TestRun::default();
    // The guests of most programs leave a processor idle now and then.
    for part in parallel::for_each(parts.into_iter(), |_, part| match part {
        TestPart::Guests(binary) => guest_tests(workspace, binary, &programs, which),
        TestPart::Optimized(binaries) => optimized_tests(workspace, &binaries, which),
    })? {
        run.add(part);
    }
    let tally = &run.tally;
    let ran = tally.passed + tally.failed + tally.skipped.len() as u64;
    let wanted = count(binaries, which)?;
    if ran < wanted {
        bail!("{wanted} {} tests exist, {ran} ran", which.name());
    }
    if wanted == 0 {
        println!("no test is marked as {}", which.name());
    }
    Ok(run)
}

/// Test programs that run at the same time as other ones.
enum TestPart<'a> {
    /// One whose tests boot guests.
    Guests(&'a TestBinary),
    /// Those that need an optimized build.
    Optimized(Vec<&'a TestBinary>),
}

/// Runs those that need an optimized build.
fn optimized_tests(
    workspace: &Workspace,
    binaries: &[&TestBinary],
    which: IgnoredTests,
) -> Result<libtest::TestRun> {
    let selectors: BTreeSet<_> = binaries.iter().map(|binary| &binary.selector).collect();
    let mut run = libtest::TestRun::default();
    // One command for each: a command would build what any of its selectors names in all of its
    // packages, also test programs without an ignored test.
    for selector in selectors {
        let mut test = workspace.release_cargo("test");
        test.args(["--release", "--no-fail-fast"]);
        let these = binaries
            .iter()
            .filter(|binary| binary.selector == *selector);
        let packages = these.map(|binary| binary.package.as_str());
        // The programs have no test of such a name. With them, all crates have the features of the
        // programs, which are built already.
        let packages: BTreeSet<_> = packages.chain(lab::PROGRAMS).collect();
        for package in packages {
            test.args(["-p", package]);
        }
        test.args(selector);
        test.args(["--", "--ignored", "--show-output", THREADS]);
        test.args(which.filter());
        let log = format!(
            "{}-{}",
            which.name(),
            selector.join("").trim_start_matches('-')
        );
        run.add(libtest::run(&mut test, &workspace.log(&log))?);
    }
    Ok(run)
}

/// Runs those tests of a program that boot guests: the step `build` has built the test program; the
/// programs of cangate are optimized.
fn guest_tests(
    workspace: &Workspace,
    binary: &TestBinary,
    programs: &Path,
    which: IgnoredTests,
) -> Result<libtest::TestRun> {
    let mut test = command(&binary.program, &binary.folder);
    test.env("CANGATE_PROGRAMS", programs);
    test.args(["--ignored", "--show-output", THREADS]);
    test.args(which.filter());
    let log = format!("{}-{}", which.name(), binary.package);
    libtest::run(&mut test, &workspace.log(&log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ignored_test_is_either_heavy_or_long() {
        for test in ["exec::boots", "long::machines::x", "lab::long::y", "long"] {
            assert_ne!(
                IgnoredTests::Heavy.has(test),
                IgnoredTests::Long.has(test),
                "{test}"
            );
            // As in libtest: `--skip` excludes names that contain the word, a filter selects them.
            let long = test.contains(LONG);
            assert_eq!(IgnoredTests::Long.has(test), long);
        }
        assert_eq!(IgnoredTests::Heavy.filter(), ["--skip", LONG]);
        assert_eq!(IgnoredTests::Long.filter(), [LONG]);
    }
}
