//! Steps with headings and times, and the table at the end.

use anyhow::Result;
use std::time::{Duration, Instant};

/// The result of a step, counted in tests. A check that is not a test counts as one.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct TestTally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests that could not run here, each with the reason.
    pub(crate) skipped: Vec<String>,
}

impl TestTally {
    /// Returns one check that passed.
    pub(crate) fn passed() -> Self {
        Self {
            passed: 1,
            ..Self::default()
        }
    }

    /// Returns one check that failed; its error was printed.
    pub(crate) fn failed() -> Self {
        Self {
            failed: 1,
            ..Self::default()
        }
    }

    /// Returns one check that cannot run here.
    pub(crate) fn skipped(because: impl Into<String>) -> Self {
        Self {
            skipped: vec![because.into()],
            ..Self::default()
        }
    }

    /// Returns one check with an outcome.
    pub(crate) fn check(good: bool) -> Self {
        if good { Self::passed() } else { Self::failed() }
    }

    /// Removes skipped tests that ran elsewhere.
    pub(crate) fn unskip(&mut self, those: &[String]) {
        for that in those {
            if let Some(at) = self.skipped.iter().position(|skipped| skipped == that) {
                self.skipped.remove(at);
            }
        }
    }

    /// Adds another's counts.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }
}

/// One finished step.
struct FinishedStep {
    name: String,
    time: Duration,
    tally: TestTally,
}

/// All steps of a run.
pub(crate) struct StepReport {
    started: Instant,
    steps: Vec<FinishedStep>,
    /// Remarks that are printed before the closing line.
    remarks: Vec<String>,
}

impl StepReport {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            steps: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Adds a sentence that is printed before the closing line.
    pub(crate) fn remark(&mut self, sentence: String) {
        self.remarks.push(sentence);
    }

    /// Runs a step under its heading. An error is printed and counts as one failed test.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<TestTally>) {
        println!(
            "\n==== {name}  ({} since the start)",
            seconds(self.started.elapsed())
        );
        let started = Instant::now();
        let tally = work().unwrap_or_else(|error| {
            println!("{name} failed: {error:#}");
            TestTally::failed()
        });
        let time = started.elapsed();
        for because in &tally.skipped {
            println!("SKIPPED {because}");
        }
        println!("---- {name}: {} in {}", words(&tally), seconds(time));
        self.steps.push(FinishedStep {
            name: name.to_owned(),
            time,
            tally,
        });
    }

    /// Prints the table and the closing line; returns true if nothing failed.
    pub(crate) fn close(self) -> bool {
        let mut sum = TestTally::default();
        println!("\n==== summary");
        println!(
            "{:<12} {:>9} {:>8} {:>8} {:>8}",
            "step", "time", "passed", "failed", "skipped"
        );
        for FinishedStep { name, time, tally } in self.steps {
            println!(
                "{name:<12} {:>9} {:>8} {:>8} {:>8}",
                seconds(time),
                tally.passed,
                tally.failed,
                tally.skipped.len()
            );
            sum.add(tally);
        }
        println!("{:<12} {:>9}", "all", seconds(self.started.elapsed()));
        if !sum.skipped.is_empty() {
            println!("\n{} skipped:", sum.skipped.len());
            for because in &sum.skipped {
                println!("  SKIPPED {because}");
            }
        }
        println!();
        for remark in &self.remarks {
            println!("{remark}");
        }
        println!("{}", words(&sum));
        sum.failed == 0
    }
}

/// Formats the closing line, which other programs read too: `N passed, N failed, N skipped`.
fn words(tally: &TestTally) -> String {
    format!(
        "{} passed, {} failed, {} skipped",
        tally.passed,
        tally.failed,
        tally.skipped.len()
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_or_an_error_fails_the_run() {
        let mut good = StepReport::new();
        good.step("a", || Ok(TestTally::passed()));
        good.step("b", || Ok(TestTally::skipped("b because of nothing")));
        assert!(good.close());

        let mut failed = StepReport::new();
        failed.step("a", || Ok(TestTally::passed()));
        failed.step("b", || Ok(TestTally::failed()));
        assert!(!failed.close());

        let mut error = StepReport::new();
        error.step("a", || anyhow::bail!("no such thing"));
        assert!(!error.close());
    }

    #[test]
    fn the_closing_line_is_plain() {
        let mut tally = TestTally::passed();
        tally.add(TestTally::skipped("x because y"));
        assert_eq!(words(&tally), "1 passed, 0 failed, 1 skipped");
    }
}
