//! `cargo xtask test`: everything that can be tested on this machine, in one order.

use crate::libtest;
use crate::report::{Report, Tally};
use crate::workspace::{TestBinary, Workspace};
use crate::{arm64, bpf, checks, fuzz, house, lab, package, promises, setup, without_os};
use anyhow::{Result, bail};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Everything, also what takes long: guests, heavy cases, reproduction, fuzzing
    #[arg(long)]
    all: bool,
    /// Only these steps, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// Not these steps
    #[arg(long, value_delimiter = ',', value_parser = names())]
    skip: Vec<String>,
}

/// A step, and whether it is quick: part of a run without `--all`.
struct Stage {
    name: &'static str,
    quick: bool,
}

const fn quick(name: &'static str) -> Stage {
    Stage { name, quick: true }
}

const fn long(name: &'static str) -> Stage {
    Stage { name, quick: false }
}

/// The steps in their order.
const STEPS: [Stage; 20] = [
    quick("setup"),
    quick("format"),
    quick("house"),
    quick("clippy"),
    quick("build"),
    long("lab"),
    quick("test"),
    long("package"),
    long("arm64"),
    long("heavy"),
    long("guests"),
    long("reproduce"),
    long("benches"),
    long("readme"),
    quick("no_std"),
    quick("doc"),
    long("fuzz"),
    long("bpf"),
    quick("promises"),
    quick("documents"),
];

fn names() -> clap::builder::PossibleValuesParser {
    STEPS.map(|step| step.name).into()
}

impl Options {
    /// What CI runs.
    pub(crate) fn everything(mut self) -> Self {
        self.all = true;
        self
    }

    fn wants(&self, step: &Stage) -> bool {
        let named = |steps: &[String]| steps.iter().any(|name| name == step.name);
        let chosen = if self.only.is_empty() {
            self.all || step.quick
        } else {
            named(&self.only)
        };
        chosen && !named(&self.skip)
    }

    fn wants_named(&self, name: &str) -> bool {
        STEPS
            .iter()
            .any(|step| step.name == name && self.wants(step))
    }

    /// Is this the quick run, after which somebody must be told what it left out?
    fn is_quick(&self) -> bool {
        !self.all && self.only.is_empty()
    }
}

/// What later steps need of earlier ones.
#[derive(Default)]
struct Built {
    /// Built once, for `heavy` and `promises`.
    binaries: Option<Vec<TestBinary>>,
    /// Test programs with tests that need a kernel with CAN, and these tests.
    guests: BTreeMap<String, Vec<String>>,
    /// What a quick run left out.
    left: Left,
}

impl Built {
    fn binaries(&mut self, workspace: &Workspace) -> Result<&[TestBinary]> {
        if self.binaries.is_none() {
            self.binaries = Some(workspace.test_binaries()?);
        }
        Ok(self.binaries.as_deref().unwrap_or_default())
    }

    /// Tests that need a kernel with CAN are left to the step `guests`, where it is wanted, and
    /// in a quick run to a whole one.
    fn hand_over(&mut self, run: libtest::Run, options: &Options) -> Tally {
        let libtest::Run {
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

/// Tests that a quick run saw and left out.
#[derive(Default)]
struct Left {
    guests: u64,
    heavy: u64,
}

impl Left {
    fn words(&self) -> String {
        let steps: Vec<&str> = STEPS
            .iter()
            .filter(|step| !step.quick)
            .map(|step| step.name)
            .collect();
        format!(
            "left for `cargo xtask test --all`: {} tests in guests, {} heavy tests, and the steps {}",
            self.guests,
            self.heavy,
            steps.join(", ")
        )
    }
}

/// Runs the steps that are wanted, all of them even where one fails.
pub(crate) fn run(workspace: &Workspace, options: &Options, report: &mut Report) {
    let built = RefCell::new(Built::default());
    for step in STEPS.iter().filter(|step| options.wants(step)) {
        report.step(step.name, || match step.name {
            "setup" => setup::run(&workspace.root, setup::may_install(), !options.is_quick()),
            "format" => checks::format(workspace),
            "house" => house::check(workspace),
            "clippy" => checks::clippy(workspace),
            "build" => {
                let mut built = built.borrow_mut();
                println!("{} test programs", built.binaries(workspace)?.len());
                let mut tally = Tally::passed();
                tally.add(checks::kinds_of_port(workspace)?);
                Ok(tally)
            }
            "lab" => lab::setup(workspace),
            "test" => {
                let run = debug_tests(workspace)?;
                Ok(built.borrow_mut().hand_over(run, options))
            }
            "package" => package::run(workspace, package::Architecture::host()),
            "arm64" => arm64::run(workspace),
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
            "bpf" => bpf::run(workspace, false),
            "promises" => promises::check(workspace, built.borrow_mut().binaries(workspace)?),
            _ => {
                let mut tally = checks::dependencies(workspace)?;
                tally.add(checks::links(workspace)?);
                Ok(tally)
            }
        });
    }
    if options.is_quick() {
        report.remark(built.borrow().left.words());
    }
}

/// All tests that are quick enough without optimization. Ignored ones are the next step's.
fn debug_tests(workspace: &Workspace) -> Result<libtest::Run> {
    let mut test = workspace.cargo("test");
    test.args(["--workspace", "--no-fail-fast", "--", "--show-output"]);
    libtest::run(&mut test, &workspace.log("test"))
}

/// Tests that are marked `#[ignore]` because they need an optimized build, or boot guests: there it is
/// half of their time, and the states that they save are those of `reproduce`.
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
            heavy: 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn options(all: bool, only: &[&str], skip: &[&str]) -> Options {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Options {
            all,
            only: owned(only),
            skip: owned(skip),
        }
    }

    #[test]
    fn a_quick_run_leaves_out_what_takes_long_and_says_so() {
        let quick = options(false, &[], &["doc"]);
        assert!(quick.wants_named("test") && quick.is_quick());
        assert!(!quick.wants_named("guests") && !quick.wants_named("doc"));
        let words = Left {
            guests: 3,
            heavy: 2,
        }
        .words();
        assert!(
            words.contains("3 tests in guests, 2 heavy tests"),
            "{words}"
        );
        assert!(words.contains("guests, reproduce"), "{words}");
    }

    #[test]
    fn steps_that_are_named_run_also_where_they_take_long() {
        let named = options(false, &["guests"], &[]);
        assert!(named.wants_named("guests") && !named.wants_named("test"));
        assert!(!named.is_quick());
        assert!(
            STEPS
                .iter()
                .all(|step| options(false, &[], &[]).everything().wants(step))
        );
    }
}
