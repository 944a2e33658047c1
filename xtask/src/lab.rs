//! What needs a real kernel with CAN, in guests of the lab.

use crate::command::{command, on_path, show};
use crate::libtest;
use crate::report::Tally;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the lab's own set-up cannot do without.
const NEEDS: [&str; 2] = ["apt-get", "dpkg-deb"];

/// The program under test, built for release.
fn cangate(workspace: &Workspace) -> Result<Command> {
    let mut build = workspace.cargo("build");
    build.args(["--release", "-p", "cangate"]);
    if !show(&mut build)? {
        bail!("cangate does not build");
    }
    Ok(built(workspace))
}

/// The program under test, where it is built.
fn built(workspace: &Workspace) -> Command {
    let program = workspace.target.join("release").join("cangate");
    command(program, &workspace.root)
}

/// What is tested against the kernel itself, on more kernels than the tests' usual one: programs
/// by their names.
const ON_MANY: [&str; 3] = ["cangw_kernel", "data_paths", "bpf_life"];
/// A real-time one, and the newest.
const MORE: [&str; 2] = ["6.12-rt", "7.3"];

/// The kernels on which a test program runs: `None` is the usual one.
fn kernels(program: &str) -> Vec<Option<&'static str>> {
    let name = program.rsplit('/').next().unwrap_or_default();
    // cargo appends a hash.
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    let mut kernels = vec![None];
    if ON_MANY.contains(&name) {
        kernels.extend(MORE.map(Some));
    }
    kernels
}

/// Why there can be no lab here.
fn missing() -> Option<String> {
    let missing: Vec<&str> = NEEDS.into_iter().filter(|name| !on_path(name)).collect();
    (!missing.is_empty()).then(|| format!("{} is missing", missing.join(" and ")))
}

/// `cangate lab setup`: everything that the following steps boot.
pub(crate) fn setup(workspace: &Workspace) -> Result<Tally> {
    if let Some(why) = missing() {
        return Ok(Tally::skipped(format!("lab because {why}")));
    }
    let mut setup = cangate(workspace)?;
    Ok(Tally::check(show(setup.args(["lab", "setup"]))?))
}

/// Runs test programs in a guest that has virtual CAN interfaces. What skips itself there too is
/// skipped.
pub(crate) fn guests(
    workspace: &Workspace,
    programs: &BTreeMap<String, Vec<String>>,
) -> Result<Tally> {
    let mut tally = Tally::default();
    if programs.is_empty() {
        println!("no test waits for a kernel with CAN");
        return Ok(tally);
    }
    if let Some(why) = missing() {
        for test in programs.values().flatten() {
            tally.add(Tally::skipped(format!("{test}, and no guest: {why}")));
        }
        return Ok(tally);
    }
    // Built once, before any of them runs.
    cangate(workspace)?;
    let runs: Vec<InGuest<'_>> = programs
        .iter()
        .flat_map(|(program, tests)| {
            let on = kernels(program).into_iter();
            on.map(move |kernel| InGuest {
                program,
                tests: tests.len() as u64,
                kernel,
            })
        })
        .collect();
    // A guest seldom uses more than one processor.
    let guests = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Tally> {
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(number) else {
                return Ok(tally);
            };
            tally.add(run.tally(workspace, number)?);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..guests).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(more) => tally.add(more?),
                Err(_) => bail!("a thread that runs guests panicked"),
            }
        }
        Ok(())
    })?;
    Ok(tally)
}

/// A test program to run in a guest.
struct InGuest<'p> {
    program: &'p str,
    /// How many of its tests wait for a guest.
    tests: u64,
    kernel: Option<&'static str>,
}

impl InGuest<'_> {
    fn tally(&self, workspace: &Workspace, number: usize) -> Result<Tally> {
        let mut exec = built(workspace);
        exec.args(["lab", "exec", "--fast", "--bench", "vcan"]);
        let name = self.program.rsplit('/').next().unwrap_or_default();
        let mut name = name
            .rsplit_once('-')
            .map_or(name, |(name, _)| name)
            .to_owned();
        if let Some(kernel) = self.kernel {
            exec.args(["--kernel", kernel]);
            name = format!("{name} on {kernel}");
        }
        let file = workspace.root.join(self.program);
        exec.arg("--file")
            .arg(format!("{}=under-test", file.display()))
            .args(["--", "under-test", "--show-output"]);
        // What was built with optimization is the heavy tests' program.
        if self.program.split('/').any(|part| part == "release") {
            exec.arg("--ignored");
        }
        let log = workspace.log(&format!("guest-{number}"));
        let run = libtest::run_beside(&mut exec, &log, &format!("{name}: "))?;
        let mut tally = run.tally;
        let ran = tally.passed + tally.failed + tally.skipped.len() as u64;
        if ran < self.tests {
            println!("{name}: {} tests were to run, {ran} did", self.tests);
            tally.add(Tally::failed());
        }
        Ok(tally)
    }
}

/// `cangate lab reproduce --quick`: every claim gets a verdict, and the page is written.
pub(crate) fn reproduce(workspace: &Workspace) -> Result<Tally> {
    if let Some(why) = missing() {
        return Ok(Tally::skipped(format!("reproduce because {why}")));
    }
    let out = workspace.target.join("xtask").join("reproduction");
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    let mut reproduce = cangate(workspace)?;
    reproduce
        .args(["lab", "reproduce", "--quick", "--out"])
        .arg(&out);
    Ok(Tally::check(show(&mut reproduce)?))
}

#[cfg(test)]
mod tests {
    use super::kernels;

    #[test]
    fn what_is_tested_against_kernels_runs_on_several() {
        let usual = kernels("target/debug/deps/socketcan_vcan-0123abc");
        assert_eq!(usual, [None]);
        let many = kernels("target/debug/deps/bpf_life-0123abc");
        assert_eq!(many, [None, Some("6.12-rt"), Some("7.3")]);
    }
}
