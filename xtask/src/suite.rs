//! `cargo xtask test`: everything that can be tested on this machine, in one order.

mod ignored;
mod steps;

use crate::command::command;
use crate::libtest;
use crate::report::{StepReport, TestTally};
use crate::workspace::{EarlyBuild, TestBinary, TestScope, Workspace};
use crate::{
    alone, arm64, bpf, checks, figures, fuzz, lab, package, promises, python, setup, structure,
    without_os,
};
use anyhow::{Result, bail};
use ignored::{IgnoredTests, count, ignored_tests};
use std::cell::RefCell;
use std::collections::BTreeMap;
use steps::{STEPS, StepClass, SuiteStep};

#[derive(clap::Args)]
pub(crate) struct SuiteOptions {
    /// Also what CI runs: clippy, heavy tests, guests, claims, fuzzing
    #[arg(long)]
    all: bool,
    /// With --all or --only: also the steps that take longest
    ///
    /// For changes of the laboratory, above all of machines in its guests. `--list` shows these
    /// steps.
    #[arg(long)]
    long: bool,
    /// Only these steps, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// Not these steps
    #[arg(long, value_delimiter = ',', value_parser = names())]
    skip: Vec<String>,
    /// List the steps that would run, with what each does and how long it takes; run none
    #[arg(long)]
    list: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    STEPS.map(|step| step.name).into()
}

impl SuiteOptions {
    /// Returns the options of CI.
    pub(crate) fn everything(mut self) -> Self {
        self.all = true;
        self
    }

    fn wants(&self, step: &SuiteStep) -> bool {
        let named = |steps: &[String]| steps.iter().any(|name| name == step.name);
        let chosen = match step.class {
            StepClass::Long if self.long => true,
            _ if !self.only.is_empty() => named(&self.only),
            StepClass::Quick => true,
            StepClass::All => self.all,
            StepClass::Long => false,
        };
        chosen && !named(&self.skip)
    }

    fn wants_named(&self, name: &str) -> bool {
        STEPS
            .iter()
            .any(|step| step.name == name && self.wants(step))
    }

    /// Returns whether this is the quick run, which ends with a remark about what it left out.
    fn is_quick(&self) -> bool {
        !self.all && self.only.is_empty()
    }

    /// Returns whether the steps should be listed instead of run.
    pub(crate) fn is_list(&self) -> bool {
        self.list
    }

    /// Returns the steps that would run, one per line: the least option that includes it, its time,
    /// its description; then those that would not run.
    pub(crate) fn steps(&self) -> Result<String> {
        self.check()?;
        let lines = |wanted: bool| -> (String, u32) {
            let steps = STEPS.iter().filter(|step| self.wants(step) == wanted);
            steps.fold((String::new(), 0), |(text, sum), step| {
                let word = step.class.word();
                let line = format!(
                    "{:<10} {word:<7} {:>5} s  {}\n",
                    step.name, step.seconds, step.what
                );
                (text + &line, sum + step.seconds)
            })
        };
        let ((run, time), (left, more)) = (lines(true), lines(false));
        let mut text = format!("{run}about {} on two idle cores\n", minutes(time));
        if more > 0 {
            text += &format!("\nleft out, about {} more:\n{left}", minutes(more));
        }
        Ok(text)
    }

    /// Rejects `--long` without `--all` or `--only`.
    fn check(&self) -> Result<()> {
        if self.long && self.is_quick() {
            bail!("--long adds to a run with --all or --only: `cargo xtask test --all --long`");
        }
        Ok(())
    }
}

/// Formats seconds in words.
fn minutes(seconds: u32) -> String {
    match seconds.div_ceil(60) {
        1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

/// Results of earlier steps that later ones need.
struct SuiteState {
    scope: TestScope,
    /// The build of the tests, which runs while `setup` waits for other machines.
    early_build: Option<EarlyBuild>,
    /// Built once, for `heavy` and `promises`.
    binaries: Option<Vec<TestBinary>>,
    /// Test programs with tests that need a kernel with CAN, and these tests.
    guests: BTreeMap<String, Vec<String>>,
    /// The tests and steps that a quick run left out.
    left: LeftTests,
}

impl SuiteState {
    fn new(options: &SuiteOptions) -> Self {
        Self {
            scope: match options.is_quick() {
                true => TestScope::Gateway,
                false => TestScope::All,
            },
            early_build: None,
            binaries: None,
            guests: BTreeMap::new(),
            left: LeftTests::default(),
        }
    }

    /// Starts the build of the tests, which [`binaries`](Self::binaries) waits for.
    fn build_early(&mut self, workspace: &Workspace) -> Result<()> {
        self.early_build = Some(workspace.start_test_build(self.scope)?);
        Ok(())
    }

    fn binaries(&mut self, workspace: &Workspace) -> Result<&[TestBinary]> {
        if self.binaries.is_none() {
            if let Some(build) = self.early_build.take() {
                build.finish()?;
            }
            self.binaries = Some(workspace.test_binaries(self.scope)?);
        }
        Ok(self.binaries.as_deref().unwrap_or_default())
    }

    /// Tests that need a kernel with CAN are left to the step `guests`, if it is wanted, and in a
    /// quick run to a full one.
    fn hand_over(&mut self, run: libtest::TestRun, options: &SuiteOptions) -> TestTally {
        let libtest::TestRun {
            mut tally,
            guests,
            heavy,
        } = run;
        if options.is_quick() {
            let waiting: Vec<String> = guests.into_values().flatten().collect();
            tally.unskip(&waiting);
            self.left.guests += waiting.len() as u64;
            self.left.heavy += heavy;
        } else if options.wants_named("guests") {
            for (program, tests) in guests {
                println!("{} of {program} will run in a guest", tests.len());
                tally.unskip(&tests);
                self.guests.entry(program).or_default().extend(tests);
            }
        }
        tally
    }
}

/// The tests and steps that a run left out.
#[derive(Default)]
struct LeftTests {
    guests: u64,
    heavy: u64,
    long: u64,
}

impl LeftTests {
    /// Returns a sentence for each kind of run that includes more.
    fn words(&self, options: &SuiteOptions) -> Vec<String> {
        let left = |class: StepClass| -> Vec<&SuiteStep> {
            let steps = STEPS.iter().filter(|step| step.class == class);
            steps.filter(|step| !options.wants(step)).collect()
        };
        let names = |steps: &[&SuiteStep]| {
            let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
            names.join(", ")
        };
        let time = |steps: &[&SuiteStep]| minutes(steps.iter().map(|step| step.seconds).sum());
        let mut words = Vec::new();
        if options.is_quick() {
            let steps = left(StepClass::All);
            words.push(format!(
                "left for `cargo xtask test --all`: the tests of pages and of the laboratory, {} tests in guests, \
                 {} heavy tests, and the steps {}; about {} more",
                self.guests,
                self.heavy,
                names(&steps),
                time(&steps)
            ));
        }
        let steps = left(StepClass::Long);
        if (options.all || options.is_quick()) && !steps.is_empty() {
            let tests = if self.long > 0 {
                format!("{} tests in ", self.long)
            } else {
                String::new()
            };
            words.push(format!(
                "left for `cargo xtask test --all --long`: {tests}the steps {}; about {} more, and {} packages, \
                 the commands {} and four targets in arm64 and a real-time kernel in guests",
                names(&steps),
                time(&steps),
                arm64::COMPUTING.len(),
                arm64::COMPUTING_COMMANDS.join(", ")
            ));
        }
        words
    }
}

/// Runs the steps that are wanted; if one fails, the others still run.
pub(crate) fn run(
    workspace: &Workspace,
    options: &SuiteOptions,
    report: &mut StepReport,
) -> Result<()> {
    options.check()?;
    let built = RefCell::new(SuiteState::new(options));
    for step in STEPS.iter().filter(|step| options.wants(step)) {
        report.step(step.name, || match step.name {
            "setup" => {
                if options.wants_named("build") {
                    built.borrow_mut().build_early(workspace)?;
                }
                setup::run(&workspace.root, setup::may_install(), !options.is_quick())
            }
            "format" => checks::format(workspace),
            "structure" => structure::check(workspace),
            "clippy" => checks::clippy(workspace),
            "build" => {
                let mut built = built.borrow_mut();
                println!("{} test programs", built.binaries(workspace)?.len());
                Ok(TestTally::passed())
            }
            "small" => checks::small(workspace),
            "lab" => lab::setup(workspace),
            "test" => {
                let mut built = built.borrow_mut();
                let run = debug_tests(workspace, built.binaries(workspace)?)?;
                Ok(built.hand_over(run, options))
            }
            "package" => package::run(
                workspace,
                package::Architecture::host(),
                package::PackageProfile::Release,
            ),
            "arm64" => arm64::run(
                workspace,
                built.borrow_mut().binaries(workspace)?,
                options.long,
            ),
            "heavy" => {
                let mut built = built.borrow_mut();
                let run =
                    ignored_tests(workspace, built.binaries(workspace)?, IgnoredTests::Heavy)?;
                built.left.long = count(built.binaries(workspace)?, IgnoredTests::Long)?;
                Ok(built.hand_over(run, options))
            }
            "long" => {
                let mut built = built.borrow_mut();
                let run = ignored_tests(workspace, built.binaries(workspace)?, IgnoredTests::Long)?;
                Ok(built.hand_over(run, options))
            }
            "guests" => lab::guests(workspace, &built.borrow().guests, options.long),
            "reproduce" => lab::reproduce(workspace, lab::ClaimSet::Short),
            "features" => checks::features(workspace),
            "claims" => lab::reproduce(workspace, lab::ClaimSet::All),
            "benches" => checks::benches(workspace),
            "readme" => checks::readme(workspace),
            "no_std" => without_os::no_std(workspace),
            "doc" => {
                let mut tally = checks::doc(workspace)?;
                tally.add(doc_tests(workspace)?);
                Ok(tally)
            }
            "python" => python::run(workspace),
            "fleet" | "secure" => alone::run(workspace, step.name),
            "fuzz" => fuzz::run(workspace, &fuzz::FuzzOptions::smoke()),
            "bpf" => bpf::run(workspace, false),
            "promises" => promises::check(workspace, built.borrow_mut().binaries(workspace)?),
            _ => {
                let mut tally = checks::dependencies(workspace)?;
                tally.add(checks::links(workspace)?);
                tally.add(figures::origins(workspace)?);
                Ok(tally)
            }
        });
    }
    for words in built.borrow().left.words(options) {
        report.remark(words);
    }
    Ok(())
}

/// Runs all tests that are quick enough without optimization. Ignored tests belong to other steps,
/// and so do the examples in the API's documentation, for which rustdoc reads each library once
/// more.
fn debug_tests(workspace: &Workspace, binaries: &[TestBinary]) -> Result<libtest::TestRun> {
    let programs = binaries.iter().map(|binary| {
        let mut test = command(&binary.program, &binary.folder);
        test.arg("--show-output");
        (binary.program.as_path(), test)
    });
    libtest::run_all(programs, |number| workspace.log(&format!("test-{number}")))
}

/// Runs the examples in the API's documentation.
fn doc_tests(workspace: &Workspace) -> Result<TestTally> {
    let mut test = workspace.guest_cargo("test");
    test.args(["--workspace", "--doc", "--no-fail-fast"]);
    test.args(["--", "--show-output"]);
    Ok(libtest::run(&mut test, &workspace.log("doc"))?.tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(all: bool, only: &[&str], skip: &[&str]) -> SuiteOptions {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        SuiteOptions {
            all,
            long: false,
            only: owned(only),
            skip: owned(skip),
            list: false,
        }
    }

    fn with_long(mut options: SuiteOptions) -> SuiteOptions {
        options.long = true;
        options
    }

    #[test]
    fn a_quick_run_leaves_out_long_experiments_and_reports_that() {
        let quick = options(false, &[], &["format"]);
        assert!(quick.wants_named("test") && quick.is_quick());
        for left in ["guests", "clippy", "small", "long", "format"] {
            assert!(!quick.wants_named(left), "{left}");
        }
        let left = LeftTests {
            guests: 3,
            heavy: 2,
            long: 0,
        };
        let words = left.words(&quick);
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].contains("of the laboratory, 3 tests in guests, 2 heavy tests"));
        assert!(words[0].contains("guests, reproduce"), "{words:?}");
        assert!(words[1].contains("the steps long, features, claims, fleet, secure; about "));
    }

    #[test]
    fn a_whole_run_leaves_the_long_steps_and_counts_their_tests() {
        let whole = options(false, &[], &[]).everything();
        let steps = |class| STEPS.iter().filter(move |step| step.class == class);
        assert!(
            steps(StepClass::Quick)
                .chain(steps(StepClass::All))
                .all(|step| whole.wants(step))
        );
        assert!(!steps(StepClass::Long).any(|step| whole.wants(step)));
        let left = LeftTests {
            long: 7,
            ..LeftTests::default()
        };
        let words = left.words(&whole);
        assert_eq!(words.len(), 1, "{words:?}");
        assert!(
            words[0].contains("7 tests in the steps long, features, claims, fleet, secure; about ")
        );
        let longest = with_long(options(true, &[], &[]));
        assert!(longest.check().is_ok());
        assert!(STEPS.iter().all(|step| longest.wants(step)));
        assert!(left.words(&longest).is_empty());
        // A skipped step is listed.
        let skips = with_long(options(true, &[], &["claims"]));
        assert!(left.words(&skips)[0].contains("the steps claims;"));
    }

    #[test]
    fn steps_that_are_named_run_also_where_they_take_long() {
        let named = options(false, &["guests"], &[]);
        assert!(named.wants_named("guests") && !named.wants_named("test"));
        assert!(!named.is_quick() && LeftTests::default().words(&named).is_empty());
        assert!(options(false, &["long"], &[]).wants_named("long"));
        let more = with_long(named);
        assert!(more.check().is_ok());
        assert!(more.wants_named("guests") && more.wants_named("long"));
        assert!(!more.wants_named("test"));
        let alone = with_long(options(false, &[], &[])).check();
        assert!(alone.unwrap_err().to_string().contains("--all --long"));
    }

    #[test]
    fn the_document_has_the_table_of_steps() {
        let document = include_str!("../../docs/contributing.md");
        for step in &STEPS {
            let time = format!("{} s", step.seconds);
            let row = format!(
                "| `{}` | {} | {time} | {} |",
                step.name,
                step.class.word(),
                step.what
            );
            assert!(
                document.contains(&row),
                "docs/contributing.md has no row\n{row}"
            );
        }
        let listed = options(true, &[], &[]).steps().unwrap();
        let (run, left) = listed.split_once("left out, about ").unwrap();
        assert!(run.contains("heavy") && !run.contains("--long"), "{listed}");
        assert!(
            left.contains("--long") && !left.contains("--all "),
            "{listed}"
        );
        assert_eq!(
            (minutes(40), minutes(61)),
            ("a minute".to_owned(), "2 minutes".to_owned())
        );
    }
}
