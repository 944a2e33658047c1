//! Processors other than this machine's: the gateway is checked for each, its tests run for 64-bit
//! ARM in QEMU's user-mode emulation, and the arm64 package is made.

use crate::command::{command, on_path, output, show};
use crate::libtest;
use crate::package::{self, Architecture, PackageProfile};
use crate::parallel;
use crate::report::TestTally;
use crate::setup::has_target;
use crate::workspace::{TestBinary, Workspace, set_level};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The targets for which the gateway must compile: four processors, with two C libraries each. On
/// 32-bit processors, the kinds of port that need 64 bits are not compiled.
pub(crate) const TARGETS: [&str; 8] = [
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
    TARGET,
    "armv7-unknown-linux-gnueabihf",
    "armv7-unknown-linux-musleabihf",
    "riscv64gc-unknown-linux-gnu",
    "riscv64gc-unknown-linux-musl",
];

/// The target of the arm64 package. The Rust toolchain includes all parts that link a static
/// program for it: musl, the start objects of a program, and a linker. For
/// `aarch64-unknown-linux-gnu`, a cross compiler would have to be installed, with its glibc.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-musl";

/// Returns whether a target of [`TARGETS`] gets more than a check: the step `build` builds this
/// machine's, and the package of [`TARGET`] is made below.
fn is_built(target: &str) -> bool {
    let host = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    target == TARGET || host && target == "x86_64-unknown-linux-gnu"
}

/// Returns the targets that are checked: each processor for which nothing is built, with glibc.
/// With `--long`, all targets for which nothing is built.
fn checked(long: bool) -> impl Iterator<Item = &'static str> {
    let processor = |target: &str| target.split('-').next().map(str::to_owned);
    let is_covered = move |target: &str| {
        let built = TARGETS.into_iter().filter(|built| is_built(built));
        target.contains("musl") || built.map(processor).any(|built| built == processor(target))
    };
    let rest = TARGETS.into_iter().filter(|target| !is_built(target));
    rest.filter(move |target| long || !is_covered(target))
}

/// The linker of Rust's toolchain.
const LINKER: &str = "rust-lld";

/// The program of Rust's toolchain that removes symbols.
const STRIPPER: &str = "rust-objcopy";

/// The program that runs programs for 64-bit ARM on this machine.
pub(crate) const RUNNER: &str = "qemu-aarch64-static";

/// Packages that use no operating system, or only its files, and that place the fields of frames,
/// packets and registers in memory.
const PLACING: [&str; 4] = [
    "cangate-frame",
    "cangate-engine",
    "cangate-controller",
    "cangate-net",
];

/// Other packages that use no operating system, or only its files. Only `--long` runs their tests
/// under emulation: they compute, with the same result on any 64-bit little-endian processor.
pub(crate) const COMPUTING: [&str; 7] = [
    "cangate-config",
    "cangate-route",
    "cangate-bus",
    "cangate-analysis",
    "cangate-logs",
    "cangate-signals",
    "cangate-e2e",
];

/// Modules of the tests of the command line that only `--long` runs under emulation: they compute,
/// as [`COMPUTING`], in crates of these.
pub(crate) const COMPUTING_COMMANDS: [&str; 3] = ["bound", "decode", "signals"];

/// The time limit of the tests of the command line, which take about a minute, and with `--long`
/// five. In one of some hundred runs, QEMU 7.2 hangs when a signal arrives while a thread ends: its
/// main thread waits for ever for a mutex of QEMU's own. Such a run is repeated.
const EMULATED_TIMEOUT: Duration = Duration::from_secs(900);

/// The variable that names the program under test for the tests of the command line.
const PROGRAM: &str = "CANGATE_PROGRAM";

/// Runs all of these checks; those that lack a tool are skipped, and counted.
pub(crate) fn run(workspace: &Workspace, binaries: &[TestBinary], long: bool) -> Result<TestTally> {
    let mut tally = TestTally::default();
    tally.add(check(workspace, long)?);
    tally.add(pure_tests(workspace, binaries, long)?);
    tally.add(package::run(
        workspace,
        Architecture::Arm64,
        PackageProfile::Release,
    )?);
    tally.add(command_line(workspace, binaries, long)?);
    Ok(tally)
}

/// Crates that the profile `release` leaves without optimization, and that each start of the
/// program runs through.
const AT_EACH_START: [&str; 7] = [
    "cangate",
    "cangate-gateway",
    "cangate-offload",
    "clap_builder",
    "toml",
    "toml_parser",
    "winnow",
];

/// Returns a cargo command with the settings that it needs to link for [`TARGET`], and with more
/// optimization than on this machine: the tests of the command line start the program a thousand
/// times, and unoptimized code takes very long under emulation.
pub(crate) fn cargo(workspace: &Workspace, subcommand: &str) -> Command {
    let mut cargo = workspace.cargo(subcommand);
    cargo.env(variable("LINKER"), LINKER);
    for package in AT_EACH_START {
        set_level(&mut cargo, "release", package, "\"z\"");
    }
    cargo
}

/// Returns the variable for a setting of cargo for [`TARGET`].
fn variable(setting: &str) -> String {
    let target = TARGET.to_uppercase().replace('-', "_");
    format!("CARGO_TARGET_{target}_{setting}")
}

/// Returns the reason why nothing can be done for a target, if there is one.
pub(crate) fn missing(target: &str) -> Option<String> {
    (!has_target(target))
        .then(|| format!("the target {target} is missing; to have it: rustup target add {target}"))
}

/// Checks that the gateway compiles for other targets. It is not linked, so that no C library for
/// them is needed.
fn check(workspace: &Workspace, long: bool) -> Result<TestTally> {
    let mut tally = TestTally::default();
    let mut check = workspace.cargo("check");
    check.args(["-p", "cangate"]);
    let mut targets = 0;
    for target in checked(long) {
        if let Some(why) = missing(target) {
            tally.add(TestTally::skipped(format!("{target} because {why}")));
        } else {
            // With a single run for all targets, the processors of this machine stay busy while one
            // target waits for a crate.
            check.args(["--target", target]);
            targets += 1;
        }
    }
    if targets > 0 {
        let good = show(&mut check)?;
        for _ in 0..targets {
            tally.add(TestTally::check(good));
        }
    }
    Ok(tally)
}

/// Runs the tests of packages without an operating system, as programs for 64-bit ARM: of all of
/// them if `long`, otherwise of those that place fields in memory.
fn pure_tests(workspace: &Workspace, binaries: &[TestBinary], long: bool) -> Result<TestTally> {
    if !on_path(RUNNER) {
        return Ok(TestTally::skipped(format!(
            "the tests for 64-bit ARM because {RUNNER} is missing"
        )));
    }
    if let Some(why) = missing(TARGET) {
        return Ok(TestTally::skipped(format!(
            "the tests for 64-bit ARM because {why}"
        )));
    }
    let mut test = cargo(workspace, "test");
    test.env(variable("RUNNER"), RUNNER);
    // Optimized: unoptimized programs take ten times as long under emulation.
    test.args(["--release", "--no-fail-fast", "--target", TARGET]);
    let more = if long { &COMPUTING[..] } else { &[] };
    let packages: BTreeSet<&str> = PLACING.iter().chain(more).copied().collect();
    for package in &packages {
        test.args(["-p", package]);
    }
    // The program has no test among these. With it, all crates have the features that it enables,
    // so that its package needs no second build of them.
    test.args(["-p", "cangate"]);
    let emulated = binaries
        .iter()
        .filter(|binary| packages.contains(binary.package.as_str()));
    let selectors: BTreeSet<_> = emulated.map(|binary| &binary.selector).collect();
    for selector in selectors {
        test.args(selector);
    }
    test.args(["--", "--show-output"]);
    Ok(libtest::run(&mut test, &workspace.log("arm64"))?.tally)
}

/// Returns whether a test of the command line runs under emulation with `--long` only.
fn is_computing(test: &str) -> bool {
    let module = test.split("::").next().unwrap_or_default();
    let subject = module.split('_').next().unwrap_or_default();
    COMPUTING_COMMANDS.contains(&subject)
}

/// Runs the tests of the command line, which are programs of this machine, on a program for 64-bit
/// ARM: all of them if `long`, otherwise those that do more than compute.
fn command_line(workspace: &Workspace, binaries: &[TestBinary], long: bool) -> Result<TestTally> {
    let program = program(workspace, PackageProfile::Release);
    let why = if on_path(RUNNER) {
        // Without the target, there is no program.
        (!program.is_file()).then(|| format!("{} is missing", program.display()))
    } else {
        Some(format!("{RUNNER} is missing"))
    };
    if let Some(why) = why {
        return Ok(TestTally::skipped(format!(
            "the command line for 64-bit ARM because {why}"
        )));
    }
    let script = wrapper(workspace, &program)?;
    // The step `build` has built them for all packages together: for one package alone, they would
    // be built again.
    let cli = binaries
        .iter()
        .find(|binary| binary.package == "cangate" && binary.selector == ["--test", "cli"])
        .context("there are no tests of the command line")?;
    let mut skipped = Vec::new();
    if !long {
        skipped = cli.names()?;
        skipped.retain(|test| is_computing(test));
        println!(
            "{} tests of computing commands are left for --long",
            skipped.len()
        );
    }
    // Twice as many as there are processors: many tests mostly wait.
    let threads = format!("--test-threads={}", 2 * parallel::processors());
    let run = || -> Result<(TestTally, Duration)> {
        // It ends the programs under test, too, because they are in its process group.
        let mut test = command("timeout", &cli.folder);
        test.args(["--kill-after=5", &EMULATED_TIMEOUT.as_secs().to_string()]);
        test.arg(&cli.program)
            .env(PROGRAM, &script)
            .args(["--show-output", "--exact", &threads]);
        for name in &skipped {
            test.args(["--skip", name]);
        }
        let began = Instant::now();
        let tally = libtest::run(&mut test, &workspace.log("arm64-cli"))?.tally;
        Ok((tally, began.elapsed()))
    };
    let (tally, time) = run()?;
    if time < EMULATED_TIMEOUT {
        return Ok(tally);
    }
    println!("{RUNNER} hung; once more");
    Ok(run()?.0)
}

/// Builds the static program of the package.
pub(crate) fn build(workspace: &Workspace, profile: PackageProfile) -> Result<PathBuf> {
    let mut build = cargo(workspace, "build");
    build.args([
        "--profile",
        profile.name(),
        "-p",
        "cangate",
        "--bin",
        "cangate",
        "--target",
        TARGET,
    ]);
    if !show(&mut build)? {
        bail!("cangate does not build for {TARGET}");
    }
    let program = program(workspace, profile);
    strip(workspace, &program)?;
    Ok(program)
}

/// Removes the symbols of a program. The `strip` of this machine may know this machine's programs
/// only; that of Rust's toolchain knows all.
fn strip(workspace: &Workspace, program: &Path) -> Result<()> {
    let folder = |what| -> Result<PathBuf> {
        let mut rustc = command("rustc", &workspace.root);
        let printed = output(rustc.args(["--print", what]))?.stdout;
        let printed = String::from_utf8(printed).context("rustc prints a path")?;
        Ok(printed.trim().into())
    };
    let tool = folder("target-libdir")?
        .with_file_name("bin")
        .join(STRIPPER);
    let mut strip = command(&tool, &workspace.root);
    // It needs the compiler's libraries, which rustc finds by its own path.
    strip.env("LD_LIBRARY_PATH", folder("sysroot")?.join("lib"));
    if !show(strip.arg("--strip-all").arg(program))? {
        bail!("{} cannot strip {}", tool.display(), program.display());
    }
    Ok(())
}

/// Returns the path of the program that [`build`] builds.
fn program(workspace: &Workspace, profile: PackageProfile) -> PathBuf {
    let folder = workspace.target.join(TARGET).join(profile.name());
    folder.join("cangate")
}

/// Writes a program that runs another one by [`RUNNER`]: the kernel of this machine may not be able
/// to run it directly.
fn wrapper(workspace: &Workspace, program: &Path) -> Result<PathBuf> {
    let script = workspace.target.join("xtask/cangate-arm64");
    let text = format!("#!/bin/sh\nexec {RUNNER} '{}' \"$@\"\n", program.display());
    fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let mut version = command(&script, &workspace.root);
    if !show(version.arg("--version"))? {
        bail!("{} does not run by {RUNNER}", program.display());
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_is_built_for_or_checked() {
        let few: Vec<_> = checked(false).collect();
        let all: Vec<_> = checked(true).collect();
        assert!(few.iter().all(|target| all.contains(target)));
        let processor = |target: &str| target.split('-').next().map(str::to_owned);
        for target in TARGETS {
            assert!(is_built(target) || all.contains(&target), "{target}");
            let mut seen = TARGETS
                .into_iter()
                .filter(|t| is_built(t) || few.contains(t));
            assert!(seen.any(|t| processor(t) == processor(target)), "{target}");
        }
    }

    #[test]
    fn only_modules_of_computing_commands_are_left_out() {
        assert!(is_computing("bound::a_set_is_bounded"));
        assert!(is_computing("decode_parquet::a_log"));
        assert!(!is_computing("names::bound_takes_names"));
        assert!(!is_computing("run::it_decodes"));
    }

    #[test]
    fn the_packages_target_is_among_those_that_are_checked() {
        assert!(TARGETS.contains(&TARGET));
        assert_eq!(
            variable("LINKER"),
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER"
        );
    }
}
