//! Reading what `cargo test -- --show-output` prints: counts, and tests that skipped themselves.
//!
//! A test that cannot run on this machine prints `SKIPPED because …` and returns. libtest counts
//! it as passed; here it counts as skipped.

use crate::command::read_lines;
use crate::report::Tally;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// What a skipped test's output contains.
const MARK: &str = "SKIPPED because";

/// Runs `cargo test … -- --show-output`, shows what matters of its output, keeps all of it in
/// `log`, and counts.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<Tally> {
    let mut reader = Reader::default();
    let good = read_lines(command, log, |line| {
        if reader.line(line) {
            println!("{line}");
        }
    })?;
    if reader.ignored > 0 {
        println!("{} marked as heavy did not run here", reader.ignored);
    }
    println!("the whole output is in {}", log.display());
    Ok(reader.tally(good))
}

/// Follows the output line by line.
#[derive(Default)]
struct Reader {
    passed: u64,
    failed: u64,
    ignored: u64,
    skipped: Vec<String>,
    part: Part,
    /// The test whose output is being shown.
    test: String,
    /// It was counted as skipped already.
    counted: bool,
}

/// Which part of a test program's output a line belongs to.
#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Part {
    #[default]
    Other,
    /// Output of tests that passed.
    Successes,
    /// Output of tests that failed.
    Failures,
}

impl Reader {
    /// Takes a line; true where a person wants to see it at once.
    fn line(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
            self.ignored += count(result, "ignored");
            self.part = Part::Other;
            self.test.clear();
            return true;
        }
        match line {
            "successes:" => self.part = Part::Successes,
            "failures:" => self.part = Part::Failures,
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
        // A failed test that says it is skipped has failed all the same.
        if self.part != Part::Failures
            && let Some(at) = line.find(MARK)
        {
            self.skip(&line[at + "SKIPPED ".len()..]);
            return true;
        }
        let passed = line.starts_with("test ") && line.ends_with("... ok");
        !passed && self.part != Part::Successes
    }

    fn skip(&mut self, because: &str) {
        if self.test.is_empty() {
            // From a thread of the test, which libtest does not capture: no name is known.
            self.skipped.push(format!("a test {because}"));
        } else if !self.counted {
            self.skipped.push(format!("{} {because}", self.test));
            self.counted = true;
        }
    }

    /// The counts. A run that failed without a failed test (it did not build) counts as one.
    fn tally(self, success: bool) -> Tally {
        let failed = if success {
            self.failed
        } else {
            self.failed.max(1)
        };
        Tally {
            passed: self.passed.saturating_sub(self.skipped.len() as u64),
            failed,
            skipped: self.skipped,
        }
    }
}

/// The number before a word in `ok. 3 passed; 0 failed; …`.
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
        let mut reader = Reader::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.line(line)).collect();
        assert!(shown.contains(&"test c ... FAILED"));
        assert!(shown.contains(&"panicked"));
        assert!(!shown.contains(&"test a ... ok"));
        assert!(!shown.contains(&"worked"));
        assert_eq!(reader.ignored, 1);
        assert_eq!(
            reader.tally(false),
            Tally {
                passed: 1,
                failed: 1,
                skipped: vec!["a because there is no CAN here".to_owned()],
            }
        );
    }

    #[test]
    fn what_did_not_build_has_failed() {
        let mut reader = Reader::default();
        reader.line("error: could not compile `x` (lib) due to 1 previous error");
        assert_eq!(reader.tally(false).failed, 1);
    }
}
