//! Steps with headings and times, and the table at the end.

use anyhow::Result;
use std::fs;
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
    /// Processor time of the programs that it started.
    processor: Duration,
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
        let (started, before) = (Instant::now(), children_time());
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
            processor: children_time().saturating_sub(before),
            tally,
        });
    }

    /// Prints the table and the closing line; returns true if nothing failed.
    pub(crate) fn close(self) -> bool {
        let mut sum = TestTally::default();
        println!("\n==== summary");
        let mut all = Duration::ZERO;
        println!(
            "{:<12} {:>9} {:>9} {:>8} {:>8} {:>8}",
            "step", "time", "processor", "passed", "failed", "skipped"
        );
        for FinishedStep {
            name,
            time,
            processor,
            tally,
        } in self.steps
        {
            all += processor;
            println!(
                "{name:<12} {:>9} {:>9} {:>8} {:>8} {:>8}",
                seconds(time),
                seconds(processor),
                tally.passed,
                tally.failed,
                tally.skipped.len()
            );
            sum.add(tally);
        }
        println!(
            "{:<12} {:>9} {:>9}",
            "all",
            seconds(self.started.elapsed()),
            seconds(all)
        );
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

/// Clock ticks per second in the files of /proc, the same on all processors of [`crate::arm64`] and
/// on this one (`USER_HZ`).
const TICKS: u64 = 100;

/// Returns the processor time of all child processes that have ended, and of theirs; zero where
/// /proc does not have it. A process that outlives its parent is not counted.
fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(children_ticks(&stat).unwrap_or_default() * 1000 / TICKS)
}

/// Returns user and system time of the children, in clock ticks, from /proc/PID/stat: the fields
/// `cutime` and `cstime`, 16 and 17, of proc_pid_stat(5). Field 2, in brackets, can have blanks.
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(16 - 3);
    let ticks = |field: Option<&str>| field?.parse::<u64>().ok();
    Some(ticks(fields.next())? + ticks(fields.next())?)
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
    fn the_time_of_children_is_read_from_their_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 130 14 20 0 1 0 5 6 7";
        assert_eq!(children_ticks(stat), Some(144));
        assert_eq!(children_ticks("7 (a"), None);
        let before = children_time();
        let mut work = std::process::Command::new("sh");
        work.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        assert!(work.status().unwrap().success());
        assert!(children_time() > before);
    }

    #[test]
    fn the_closing_line_is_plain() {
        let mut tally = TestTally::passed();
        tally.add(TestTally::skipped("x because y"));
        assert_eq!(words(&tally), "1 passed, 0 failed, 1 skipped");
    }
}
