//! `cargo xtask test`: everything that can be tested on this machine, in one order.

use crate::libtest;
use crate::report::{Report, Tally};
use crate::workspace::{TestBinary, Workspace};
use crate::{checks, fuzz, lab, promises, setup, without_os};
use anyhow::{Result, bail};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these steps, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = STEPS)]
    only: Vec<String>,
    /// Not these steps
    #[arg(long, value_delimiter = ',', value_parser = STEPS)]
    skip: Vec<String>,
}

/// The steps in their order.
const STEPS: [&str; 16] = [
    "setup",
    "format",
    "clippy",
    "build",
    "lab",
    "test",
    "heavy",
    "guests",
    "reproduce",
    "benches",
    "readme",
    "no_std",
    "doc",
    "fuzz",
    "promises",
    "documents",
];

impl Options {
    fn wants(&self, step: &str) -> bool {
        let named = |steps: &[String]| steps.iter().any(|name| name == step);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

/// What later steps need of earlier ones.
#[derive(Default)]
struct Built {
    /// Built once, for `heavy` and `promises`.
    binaries: Option<Vec<TestBinary>>,
    /// Test programs with tests that need a kernel with CAN, and these tests.
    guests: BTreeMap<String, Vec<String>>,
}

impl Built {
    fn binaries(&mut self, workspace: &Workspace) -> Result<&[TestBinary]> {
        if self.binaries.is_none() {
            self.binaries = Some(workspace.test_binaries()?);
        }
        Ok(self.binaries.as_deref().unwrap_or_default())
    }

    /// Tests that need a kernel with CAN are left to the step `guests`, where it is wanted.
    fn hand_over(&mut self, run: libtest::Run, options: &Options) -> Tally {
        let libtest::Run { mut tally, guests } = run;
        if options.wants("guests") {
            for (program, tests) in guests {
                println!("{} of {program} will run in a guest", tests.len());
                tally.unskip(&tests);
                self.guests.entry(program).or_default().extend(tests);
            }
        }
        tally
    }
}

/// Runs the steps that are wanted, all of them even where one fails.
pub(crate) fn run(workspace: &Workspace, options: &Options, report: &mut Report) {
    let built = RefCell::new(Built::default());
    for step in STEPS.into_iter().filter(|step| options.wants(step)) {
        report.step(step, || match step {
            "setup" => setup::run(setup::may_install()),
            "format" => checks::format(workspace),
            "clippy" => checks::clippy(workspace),
            "build" => {
                let mut built = built.borrow_mut();
                println!("{} test programs", built.binaries(workspace)?.len());
                Ok(Tally::passed())
            }
            "lab" => lab::setup(workspace),
            "test" => {
                let run = debug_tests(workspace)?;
                Ok(built.borrow_mut().hand_over(run, options))
            }
            "heavy" => {
                let run = heavy_tests(workspace, built.borrow_mut().binaries(workspace)?)?;
                Ok(built.borrow_mut().hand_over(run, options))
            }
            "guests" => lab::guests(workspace, &built.borrow().guests),
            "reproduce" => lab::reproduce(workspace),
            "benches" => checks::benches(workspace),
            "readme" => checks::readme(workspace),
            "no_std" => without_os::no_std(workspace),
            "doc" => checks::doc(workspace),
            "fuzz" => fuzz::run(workspace, &fuzz::Options::smoke()),
            "promises" => promises::check(workspace, built.borrow_mut().binaries(workspace)?),
            _ => {
                let mut tally = checks::dependencies(workspace)?;
                tally.add(checks::links(workspace)?);
                Ok(tally)
            }
        });
    }
}

/// All tests that are quick enough without optimization. Ignored ones are the next step's.
fn debug_tests(workspace: &Workspace) -> Result<libtest::Run> {
    let mut test = workspace.cargo("test");
    test.args(["--workspace", "--no-fail-fast", "--", "--show-output"]);
    libtest::run(&mut test, &workspace.log("test"))
}

/// Tests that are marked `#[ignore]` because they need an optimized build.
fn heavy_tests(workspace: &Workspace, binaries: &[TestBinary]) -> Result<libtest::Run> {
    let mut packages = BTreeSet::new();
    let mut selectors = BTreeSet::new();
    let mut wanted = 0;
    for binary in binaries {
        let ignored = binary.tests(true)?.len();
        if ignored > 0 {
            wanted += ignored;
            packages.insert(binary.package.clone());
            selectors.insert(binary.selector.clone());
        }
    }
    if packages.is_empty() {
        println!("no test is marked as heavy");
        return Ok(libtest::Run {
            tally: Tally::default(),
            guests: BTreeMap::new(),
        });
    }
    let mut test = workspace.cargo("test");
    test.args(["--release", "--no-fail-fast"]);
    for package in packages {
        test.args(["-p", &package]);
    }
    for selector in selectors {
        test.args(selector);
    }
    test.args(["--", "--ignored", "--show-output"]);
    let run = libtest::run(&mut test, &workspace.log("heavy"))?;
    let tally = &run.tally;
    let ran = tally.passed + tally.failed + tally.skipped.len() as u64;
    if ran < wanted as u64 {
        bail!("{wanted} heavy tests are there, {ran} ran");
    }
    Ok(run)
}
