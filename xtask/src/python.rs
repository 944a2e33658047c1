//! The Python package in `python/`: formatting, clippy, the wheel and its size, its tests.

use crate::command::{command, on_path, output, read_lines, show, within};
use crate::report::TestTally;
use crate::setup::{may_install, python_package};
use crate::venv;
use crate::workspace::{Workspace, cargo};
use anyhow::{Context, Result};
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The maximum size of the wheel, bytes.
const LARGEST_WHEEL: u64 = 2 << 20;

/// Packages that build the wheel, and that its tests use, besides those of the setup.
const PACKAGES: [&str; 4] = ["maturin>=1.9,<2", "numpy", "pandas", "pytest"];

/// Packages of the setup that the tests use.
const OF_SETUP: [&str; 2] = ["python-can", "pyarrow"];

/// The modules of all these packages, and the oldest Python that the wheel is for.
const MODULES: &str = "import can, maturin, numpy, pandas, pyarrow, pytest";
const VERSION: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// Runs all checks of the package.
pub(crate) fn run(workspace: &Workspace) -> Result<TestTally> {
    let step = PythonStep {
        folder: workspace.root.join("python"),
        venv: workspace.target.join("python/venv"),
        target: workspace.target.join("python"),
        log: workspace.log("python"),
    };
    // pip mostly waits for other machines, and clippy for none.
    let (lint, prepared) = thread::scope(|scope| {
        let prepared = scope.spawn(|| step.prepare());
        (step.lint(), prepared.join())
    });
    let mut tally = lint?;
    if let Some(because) = prepared.unwrap_or_else(|panic| resume_unwind(panic))? {
        tally.add(TestTally::skipped(format!(
            "tests of the Python package because {because}"
        )));
        return Ok(tally);
    }
    let Some(wheel) = step.wheel()? else {
        tally.add(TestTally::failed());
        return Ok(tally);
    };
    tally.add(step.check_size(&wheel)?);
    let mut install = step.pip(&["install", "--no-deps", "--force-reinstall"]);
    if show(install.arg(&wheel))? {
        tally.add(step.test()?);
    } else {
        tally.add(TestTally::failed());
    }
    Ok(tally)
}

/// The folders of the step.
struct PythonStep {
    folder: PathBuf,
    venv: PathBuf,
    /// The folder that cargo builds in.
    target: PathBuf,
    log: PathBuf,
}

impl PythonStep {
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = command(cargo(), &self.folder);
        command.args(arguments);
        command.env("CARGO_TARGET_DIR", &self.target);
        command
    }

    fn python(&self) -> Command {
        let mut python = command(self.venv.join("bin/python3"), &self.folder);
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python.env("CARGO_TARGET_DIR", &self.target);
        // pip finds the program maturin by it.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [self.venv.join("bin")].into_iter();
        let all = all.chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(all) {
            python.env("PATH", path);
        }
        python
    }

    fn pip(&self, arguments: &[&str]) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        pip.args(arguments);
        pip
    }

    /// Checks the formatting, and runs clippy as for the wheel, so that both share what they build.
    fn lint(&self) -> Result<TestTally> {
        let mut tally = TestTally::default();
        if on_path("cargo-fmt") {
            let good = show(&mut self.cargo(&["fmt", "--check"]))?;
            tally.add(TestTally::check(good));
        } else {
            let because = "format of the Python package because rustfmt is missing";
            tally.add(TestTally::skipped(because));
        }
        if on_path("cargo-clippy") {
            let clippy = ["clippy", "--locked", "--release", "--", "-D", "warnings"];
            tally.add(TestTally::check(show(&mut self.cargo(&clippy))?));
        } else {
            let because = "clippy of the Python package because it is missing";
            tally.add(TestTally::skipped(because));
        }
        Ok(tally)
    }

    /// Makes the environment with what the tests need; returns the reason if that is not possible.
    fn prepare(&self) -> Result<Option<String>> {
        let has = |mut python: Command, code: &str| {
            output(python.args(["-c", code])).is_ok_and(|output| output.status.success())
        };
        if has(self.python(), MODULES) {
            return Ok(None);
        }
        if !on_path("python3") {
            return Ok(Some("there is no python3 here".to_owned()));
        }
        if !has(command("python3", &self.folder), VERSION) {
            return Ok(Some("this python3 is older than 3.10".to_owned()));
        }
        if !may_install() {
            return Ok(Some("installing is not allowed".to_owned()));
        }
        if let Some(because) = venv::make(&self.venv)? {
            return Ok(Some(because.to_owned()));
        }
        let mut install = self.pip(&["install"]);
        install.args(PACKAGES);
        install.args(OF_SETUP.into_iter().filter_map(python_package));
        let good = within(venv::FETCH_LIMIT, &mut install)? && has(self.python(), MODULES);
        Ok((!good).then(|| "pip could not install what they need".to_owned()))
    }

    /// Builds the wheel, and returns it.
    fn wheel(&self) -> Result<Option<PathBuf>> {
        let wheels = self.target.join("wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels)
                .with_context(|| format!("cannot remove {}", wheels.display()))?;
        }
        let mut build = self.pip(&["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir"]);
        build.arg(&wheels).arg(".");
        if !show(&mut build)? {
            return Ok(None);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&wheels)? {
            files.push(entry?.path());
        }
        Ok(files.pop().filter(|_| files.is_empty()))
    }

    fn check_size(&self, wheel: &Path) -> Result<TestTally> {
        let size = fs::metadata(wheel)?.len();
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        println!("{name}: {size} bytes; the maximum is {LARGEST_WHEEL}");
        Ok(TestTally::check(size <= LARGEST_WHEEL))
    }

    /// Runs the tests with the installed wheel.
    fn test(&self) -> Result<TestTally> {
        let mut pytest = self.python();
        pytest.args(["-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider"]);
        let mut tally = TestTally::default();
        let good = read_lines(&mut pytest, &self.log, |line| {
            println!("{line}");
            read_result(line, &mut tally);
        })?;
        if !good && tally.failed == 0 {
            tally.add(TestTally::failed());
        }
        if tally.passed == 0 {
            println!("pytest has run no test");
            tally.add(TestTally::failed());
        }
        Ok(tally)
    }
}

/// Adds the result in a line of pytest: a skipped test with its reason, or the closing line, such
/// as `1 failed, 170 passed, 2 skipped in 3.10s`.
fn read_result(line: &str, tally: &mut TestTally) {
    if let Some(rest) = line.strip_prefix("SKIPPED [") {
        let (count, what) = rest.split_once("] ").unwrap_or(("1", rest));
        for _ in 0..count.parse().unwrap_or(1) {
            tally.skipped.push(format!("python: {what}"));
        }
        return;
    }
    let Some((counts, _)) = line.rsplit_once(" in ") else {
        return;
    };
    for part in counts.split(", ") {
        let Some((number, word)) = part.split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match word {
            "passed" => tally.passed += number,
            "failed" | "error" | "errors" => tally.failed += number,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_pytest_are_counted() {
        let mut tally = TestTally::default();
        for line in [
            "SKIPPED [2] tests/test_results.py:7: could not import 'pyarrow'",
            "FAILED tests/test_x.py::test_y - assert 1 in 2",
            "1 failed, 170 passed, 2 skipped in 3.10s",
        ] {
            read_result(line, &mut tally);
        }
        assert_eq!((tally.passed, tally.failed), (170, 1));
        assert_eq!(tally.skipped.len(), 2);
        assert!(tally.skipped[0].contains("could not import 'pyarrow'"));
    }

    #[test]
    fn packages_of_the_setup_have_their_versions() {
        for name in OF_SETUP {
            let requirement = python_package(name).unwrap();
            assert!(requirement.starts_with(&format!("{name}==")));
        }
        assert_eq!(python_package("can"), None);
    }
}
