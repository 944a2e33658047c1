//! A parser for the output of `cargo test -- --show-output`: counts, and tests that skipped
//! themselves.
//!
//! A test that cannot run on this machine prints `SKIPPED because …` and returns. libtest counts it
//! as passed; here it counts as skipped. If its reason names `AF_CAN` as missing, it can still run
//! in a guest of the lab ([`TestRun::guests`]).

use crate::command::read_lines;
use crate::parallel;
use crate::report::TestTally;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The text that a skipped test's output contains.
const MARK: &str = "SKIPPED because";

/// The text in the reason of a test that can run in a guest of the lab.
const GUEST_HAS: &str = "AF_CAN";

/// The result of a run of test programs.
#[derive(Default)]
pub(crate) struct TestRun {
    /// The counts.
    pub(crate) tally: TestTally,
    /// Tests that skipped themselves here and can run in a guest, each with the reason, by the
    /// program's path as cargo prints it. They are also in the tally's skipped ones.
    pub(crate) guests: BTreeMap<String, Vec<String>>,
    /// Tests that are marked as heavy and did not run.
    pub(crate) heavy: u64,
}

impl TestRun {
    /// Adds another run's result.
    pub(crate) fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        for (program, tests) in other.guests {
            self.guests.entry(program).or_default().extend(tests);
        }
        self.heavy += other.heavy;
    }
}

/// Runs `cargo test … -- --show-output`, or a test program, shows the important lines of its
/// output, keeps all of it in `log`, and counts.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<TestRun> {
    shown("", command, log)
}

/// As [`run`], with a name before each line, because other programs run at the same time.
pub(crate) fn run_as(name: &str, command: &mut Command, log: &Path) -> Result<TestRun> {
    shown(&format!("{name}: "), command, log)
}

/// Runs test programs, as many at a time as there are processors: many tests mostly wait. The
/// important lines of a program's output are shown when the program has ended; `log` gets all of
/// it, for each program under its number.
pub(crate) fn run_all<'a>(
    programs: impl Iterator<Item = (&'a Path, Command)> + Send,
    log: impl Fn(usize) -> PathBuf + Sync,
) -> Result<TestRun> {
    let runs = parallel::for_each(programs, |number, (program, mut command)| {
        let mut reader = OutputReader {
            program: program.display().to_string(),
            ..OutputReader::default()
        };
        let mut shown = String::new();
        let log = log(number);
        let good = read_lines(&mut command, &log, |line| {
            if reader.line(line) && !line.is_empty() {
                shown += &format!("{line}\n");
            }
        })?;
        if !good {
            shown += &format!("the whole output is in {}\n", log.display());
        }
        println!("     Running {}\n{shown}", program.display());
        Ok(reader.finish(good))
    })?;
    let mut all = TestRun::default();
    for run in runs {
        all.add(run);
    }
    Ok(all)
}

fn shown(before: &str, command: &mut Command, log: &Path) -> Result<TestRun> {
    let mut reader = OutputReader::default();
    let good = read_lines(command, log, |line| {
        if reader.line(line) {
            println!("{before}{line}");
        }
    })?;
    if reader.ignored > 0 {
        println!(
            "{before}{} marked as heavy did not run here",
            reader.ignored
        );
    }
    println!("{before}the whole output is in {}", log.display());
    Ok(reader.finish(good))
}

/// A parser that follows the output line by line.
#[derive(Default)]
struct OutputReader {
    passed: u64,
    failed: u64,
    ignored: u64,
    skipped: Vec<String>,
    part: OutputPart,
    /// The test whose output is being shown.
    test: String,
    /// Whether it was counted as skipped already.
    counted: bool,
    /// The program that is running, as cargo prints its path.
    program: String,
    /// See [`TestRun::guests`].
    guests: BTreeMap<String, Vec<String>>,
}

/// The part of a test program's output that a line belongs to.
#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum OutputPart {
    #[default]
    Other,
    /// Output of tests that passed.
    Successes,
    /// Output of tests that failed.
    Failures,
}

/// The name for a test whose name is unknown.
pub(crate) const NAMELESS: &str = "a test";

impl OutputReader {
    /// Processes a line; returns true if it should be shown to the user at once.
    fn line(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
            self.ignored += count(result, "ignored");
            self.part = OutputPart::Other;
            self.test.clear();
            return true;
        }
        if let Some(running) = line.trim_start().strip_prefix("Running ") {
            let path = running
                .rsplit_once('(')
                .and_then(|(_, path)| path.strip_suffix(')'));
            path.unwrap_or_default().clone_into(&mut self.program);
        }
        match line {
            "successes:" => self.part = OutputPart::Successes,
            "failures:" => self.part = OutputPart::Failures,
            _ => {}
        }
        if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" ----"))
        {
            name.strip_suffix(" stdout")
                .unwrap_or(name)
                .clone_into(&mut self.test);
            self.counted = false;
        }
        // A failed test that reports a skip still counts as failed.
        if self.part != OutputPart::Failures
            && let Some(at) = line.find(MARK)
        {
            self.skip(&line[at + "SKIPPED ".len()..]);
            return true;
        }
        let passed = line.starts_with("test ") && line.ends_with("... ok");
        !passed && self.part != OutputPart::Successes
    }

    fn skip(&mut self, because: &str) {
        // The line is from a thread of the test, which libtest does not capture: the test's name is
        // unknown.
        let test = if self.test.is_empty() {
            NAMELESS
        } else if self.counted {
            return;
        } else {
            self.counted = true;
            &self.test
        };
        let skipped = format!("{test} {because}");
        if because.contains(GUEST_HAS) && !self.program.is_empty() {
            let waiting = self.guests.entry(self.program.clone()).or_default();
            waiting.push(skipped.clone());
        }
        self.skipped.push(skipped);
    }

    /// Returns the result at the end of the run.
    fn finish(mut self, success: bool) -> TestRun {
        TestRun {
            guests: std::mem::take(&mut self.guests),
            heavy: self.ignored,
            tally: self.tally(success),
        }
    }

    /// Returns the counts. A run that failed without a failed test (it did not build) counts as
    /// one.
    fn tally(self, success: bool) -> TestTally {
        let failed = if success {
            self.failed
        } else {
            self.failed.max(1)
        };
        TestTally {
            passed: self.passed.saturating_sub(self.skipped.len() as u64),
            failed,
            skipped: self.skipped,
        }
    }
}

/// Returns the number before a word in `ok. 3 passed; 0 failed; …`.
fn count(result: &str, word: &str) -> u64 {
    result
        .split([';', '.'])
        .filter_map(|part| part.trim().strip_suffix(word))
        .find_map(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
     Running unittests src/lib.rs (target/debug/deps/x-1)

running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ignored

successes:

---- a stdout ----
hello
SKIPPED because there is no CAN here
SKIPPED because it says so twice

---- b stdout ----
worked

successes:
    a
    b

failures:

---- c stdout ----
SKIPPED because this does not help a failed test
panicked

failures:
    c

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.1s
";

    #[test]
    fn counts_and_skips() {
        let mut reader = OutputReader::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.line(line)).collect();
        assert!(shown.contains(&"test c ... FAILED"));
        assert!(shown.contains(&"panicked"));
        assert!(!shown.contains(&"test a ... ok"));
        assert!(!shown.contains(&"worked"));
        assert_eq!(reader.ignored, 1);
        assert_eq!(
            reader.tally(false),
            TestTally {
                passed: 1,
                failed: 1,
                skipped: vec!["a because there is no CAN here".to_owned()],
            }
        );
    }

    #[test]
    fn a_guest_gets_what_needs_af_can_and_nothing_else() {
        let mut reader = OutputReader::default();
        for line in [
            "     Running tests/a.rs (target/debug/deps/a-1)",
            "---- x stdout ----",
            "SKIPPED because this kernel has no AF_CAN (EAFNOSUPPORT)",
            "---- y stdout ----",
            "SKIPPED because ../shared is not here",
            "     Running tests/b.rs (target/debug/deps/b-1)",
            "---- z stdout ----",
            "SKIPPED because there is no Chromium",
        ] {
            reader.line(line);
        }
        assert_eq!(reader.skipped.len(), 3);
        let (program, tests) = reader.guests.first_key_value().unwrap();
        assert_eq!((reader.guests.len(), tests.len()), (1, 1));
        assert_eq!(program, "target/debug/deps/a-1");
    }

    #[test]
    fn what_did_not_build_has_failed() {
        let mut reader = OutputReader::default();
        reader.line("error: could not compile `x` (lib) due to 1 previous error");
        assert_eq!(reader.tally(false).failed, 1);
    }
}
