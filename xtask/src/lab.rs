//! Tests that need a real kernel with CAN, in guests of the lab.

use crate::command::{command, on_path, read_lines, show};
use crate::libtest;
use crate::parallel;
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

/// Programs that the lab's own set-up needs.
const NEEDS: [&str; 2] = ["apt-get", "dpkg-deb"];

/// The packages of both programs.
pub(crate) const PROGRAMS: [&str; 2] = ["cangate", "cangate-lab"];

/// Builds both programs for release (the gateway for the laboratory's guests), and returns their
/// folder.
pub(crate) fn programs(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = workspace.release_cargo("build");
    build.arg("--release");
    build.args(PROGRAMS.iter().flat_map(|package| ["-p", package]));
    if !show(&mut build)? {
        bail!("cangate and cangate-lab do not build");
    }
    Ok(workspace.target.join("release"))
}

/// Returns the laboratory's program, after building it for release.
fn cangate_lab(workspace: &Workspace) -> Result<Command> {
    programs(workspace)?;
    Ok(built(workspace))
}

/// Returns the same program, which must be built already.
fn built(workspace: &Workspace) -> Command {
    let mut lab = Command::new(workspace.target.join("release").join("cangate-lab"));
    lab.current_dir(&workspace.root)
        .stdin(std::process::Stdio::null());
    lab
}

/// Test programs, by their names, that test the kernel itself. In a long run, they run on more
/// kernels than the usual one.
const ON_MANY: [&str; 3] = ["cangw_kernel", "data_paths", "bpf_life"];
/// The one of them that runs on two kernels in any run, because the gateway uses them differently.
const ON_TWO: &str = "bpf_life";
/// The newest kernel. Its BPF programs are attached by tcx, those of the usual kernel by clsact.
const NEWEST: &str = "7.3";
/// A real-time kernel, added with `--long`.
const REAL_TIME: &str = "6.12-rt";

/// Test programs that need a newer kernel than the usual one: XL frames have socket options there.
const ON_NEW: [&str; 1] = ["socketcan_xl"];

/// Returns the kernels on which a test program runs: `None` is the usual one.
fn kernels(program: &str, long: bool) -> Vec<Option<&'static str>> {
    if ON_NEW.contains(&plain_name(program)) {
        return vec![Some(NEWEST)];
    }
    let mut kernels = vec![None];
    if is_on_many(program) && (long || plain_name(program) == ON_TWO) {
        kernels.push(Some(NEWEST));
    }
    if is_on_many(program) && long {
        kernels.push(Some(REAL_TIME));
    }
    kernels
}

/// Returns the number of processors of the guest. A program that runs on two kernels meets one
/// processor on the usual kernel, which takes less of the host's time, and two on the other.
fn processors(program: &str, kernel: Option<&str>) -> u32 {
    match kernel {
        None if plain_name(program) == ON_TWO => 1,
        _ => 2,
    }
}

/// Returns whether the program is in [`ON_MANY`].
fn is_on_many(program: &str) -> bool {
    ON_MANY.contains(&plain_name(program))
}

/// Returns the names of tests that skipped themselves, each given with its reason; `None` if one
/// skipped itself in a thread of its own, so that the name of its test is unknown.
fn names<'a>(skipped: &'a [String]) -> Option<Vec<&'a str>> {
    let name = |skipped: &'a String| {
        let (name, _) = skipped.split_once(' ')?;
        (!skipped.starts_with(libtest::NAMELESS)).then_some(name)
    };
    skipped.iter().map(name).collect()
}

/// Returns a test program's name without the hash that cargo appends.
fn plain_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('-').map_or(name, |(name, _)| name)
}

/// Returns the reason why the lab cannot run here, if there is one.
fn missing() -> Option<String> {
    let missing: Vec<&str> = NEEDS.into_iter().filter(|name| !on_path(name)).collect();
    (!missing.is_empty()).then(|| format!("{} is missing", missing.join(" and ")))
}

/// Runs `cangate lab setup`, which fetches everything that the following steps boot.
pub(crate) fn setup(workspace: &Workspace) -> Result<TestTally> {
    if let Some(why) = missing() {
        return Ok(TestTally::skipped(format!("lab because {why}")));
    }
    thread::scope(|scope| {
        let early = scope.spawn(|| early_setup(workspace));
        let lab = cangate_lab(workspace);
        match early.join() {
            Ok(early) => early?,
            Err(panic) => resume_unwind(panic),
        }
        Ok(TestTally::check(show(lab?.arg("setup"))?))
    })
}

/// Kernels for which tests of the steps that follow need modules.
const EARLY_KERNELS: &str = "6.1,5.10,7.3";

/// Fetches what guests need by the program for debugging, if the step `build` has made it: fetching
/// mostly waits for other machines, and building does not. If it fails, the program for release
/// tries again and reports why.
fn early_setup(workspace: &Workspace) -> Result<()> {
    let program = workspace.target.join("debug/cangate-lab");
    if program.is_file() {
        let mut setup = command(&program, &workspace.root);
        setup.args(["setup", "--kernels", EARLY_KERNELS]);
        read_lines(&mut setup, &workspace.log("early-setup"), |_| {})?;
    }
    Ok(())
}

/// Returns the number of guests that run at a time: one more than there are processors, because a
/// guest that starts, waits or ends leaves its processor idle.
fn guests_at_a_time() -> usize {
    parallel::processors() + 1
}

/// Runs test programs in guests that have virtual CAN interfaces, several at a time. Tests that
/// also skip themselves there are skipped.
pub(crate) fn guests(
    workspace: &Workspace,
    programs: &BTreeMap<String, Vec<String>>,
    long: bool,
) -> Result<TestTally> {
    let mut tally = TestTally::default();
    if programs.is_empty() {
        println!("no test waits for a kernel with CAN");
        return Ok(tally);
    }
    if let Some(why) = missing() {
        for test in programs.values().flatten() {
            tally.add(TestTally::skipped(format!("{test}, and no guest: {why}")));
        }
        return Ok(tally);
    }
    let runs = programs.iter().flat_map(|(program, tests)| {
        let on = kernels(program, long).into_iter();
        on.map(move |kernel| GuestRun {
            program,
            tests,
            kernel,
        })
    });
    // Built once, before several guests run at a time.
    cangate_lab(workspace)?;
    let run = |number, run: GuestRun<'_>| run.run(workspace, number);
    for its in parallel::with_workers(guests_at_a_time(), runs, run)? {
        tally.add(its);
    }
    Ok(tally)
}

/// A test program in a guest.
struct GuestRun<'a> {
    /// Its path in the workspace.
    program: &'a str,
    /// The tests that need a guest, each with the reason.
    tests: &'a [String],
    kernel: Option<&'static str>,
}

impl GuestRun<'_> {
    fn run(&self, workspace: &Workspace, number: usize) -> Result<TestTally> {
        let Self {
            program,
            tests,
            kernel,
        } = *self;
        let name = match kernel {
            Some(kernel) => format!("{} on {kernel}", plain_name(program)),
            None => plain_name(program).to_owned(),
        };
        let file = workspace.root.join(program);
        let mut exec = built(workspace);
        exec.args(["exec", "--fast", "--bench", "vcan"]);
        exec.args(["--cpus", &processors(program, kernel).to_string()]);
        if let Some(kernel) = kernel {
            exec.args(["--kernel", kernel]);
        }
        exec.arg("--file")
            .arg(format!("{}=under-test", file.display()))
            .args(["--", "under-test", "--show-output"]);
        // A program that was built with optimization is that of the heavy tests.
        if program.split('/').any(|part| part == "release") {
            exec.arg("--ignored");
        }
        match names(tests) {
            // The program's other tests have run on the host, and do not depend on the kernel.
            Some(names) if !is_on_many(program) => exec.arg("--exact").args(names),
            _ => &mut exec,
        };
        let log = workspace.log(&format!("guest-{number}"));
        let mut tally = libtest::run_as(&name, &mut exec, &log)?.tally;
        let ran = tally.passed + tally.failed + tally.skipped.len() as u64;
        if ran < tests.len() as u64 {
            println!("{name}: {} tests were expected, {ran} ran", tests.len());
            tally.add(TestTally::failed());
        }
        Ok(tally)
    }
}

/// The claims of [`ClaimSet::Short`]: at least one of each gateway (can-gw, BPF, a process over
/// sockets, over character devices, with controllers of its own, without an operating system), task
/// and bench, on the usual kernel.
const SHORT_CLAIMS: &str = "G1,G5/bpf,G6,G10/user,G12,D1,S1,S6,O1,O9,O15";

/// The claims that are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimSet {
    /// [`SHORT_CLAIMS`]; all results are made anew.
    Short,
    /// All claims; results of an earlier run are used, unless the program has changed since.
    All,
}

/// Runs `cangate lab reproduce --quick`: every claim gets a verdict, and the page is written.
pub(crate) fn reproduce(workspace: &Workspace, claims: ClaimSet) -> Result<TestTally> {
    if let Some(why) = missing() {
        return Ok(TestTally::skipped(format!("the claims because {why}")));
    }
    let out = workspace.target.join("xtask").join("reproduction");
    let mut reproduce = cangate_lab(workspace)?;
    reproduce.args(["reproduce", "--quick", "--out"]).arg(&out);
    reproduce.arg("--jobs").arg(guests_at_a_time().to_string());
    if claims == ClaimSet::Short {
        if out.exists() {
            std::fs::remove_dir_all(&out)?;
        }
        reproduce.args(["--claims", SHORT_CLAIMS]);
    }
    Ok(TestTally::check(show(&mut reproduce)?))
}

#[cfg(test)]
mod tests {
    use super::{kernels, names, processors};
    use crate::libtest;

    #[test]
    fn tests_against_the_kernel_run_on_several() {
        let usual = "target/debug/deps/socketcan_vcan-0123abc";
        let many = "target/debug/deps/bpf_life-0123abc";
        let rules = "target/debug/deps/cangw_kernel-0123abc";
        let new = "target/debug/deps/socketcan_xl-0123abc";
        for long in [false, true] {
            assert_eq!(kernels(usual, long), [None]);
            assert_eq!(kernels(new, long), [Some("7.3")]);
        }
        assert_eq!(kernels(many, false), [None, Some("7.3")]);
        assert_eq!(kernels(rules, false), [None]);
        for program in [many, rules] {
            assert_eq!(kernels(program, true), [None, Some("7.3"), Some("6.12-rt")]);
        }
        // Each program meets two processors on one kernel at least.
        assert_eq!((processors(usual, None), processors(rules, None)), (2, 2));
        assert_eq!(
            kernels(many, false)
                .into_iter()
                .map(|kernel| processors(many, kernel))
                .collect::<Vec<_>>(),
            [1, 2]
        );
    }

    #[test]
    fn only_what_skipped_itself_runs_in_a_guest() {
        let known = "life::it because this kernel has no AF_CAN".to_owned();
        let nameless = format!("{} because …", libtest::NAMELESS);
        assert_eq!(names(std::slice::from_ref(&known)), Some(vec!["life::it"]));
        assert_eq!(names(&[known, nameless]), None);
    }
}
