//! Fuzzing: the search for inputs that break a promise.
//!
//! Each target is a plain function in `fuzz/`. Two programs run it: the smoke runner, which needs
//! only stable Rust and mutates seeds at random, and libFuzzer, which is guided by coverage and
//! needs a nightly toolchain and cargo-fuzz.

use crate::command::{command, on_path, output, read_lines, show};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct FuzzOptions {
    /// Only this target
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Guided by coverage; needs a nightly toolchain and cargo-fuzz
    #[arg(long)]
    coverage: bool,
    /// Only run this file once, to examine an input that was found
    #[arg(long, requires = "target", conflicts_with = "coverage")]
    input: Option<PathBuf>,
    /// Start of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Build as tests are built: nothing is compiled again, and an input takes longer
    #[arg(long, conflicts_with = "coverage")]
    debug: bool,
}

impl FuzzOptions {
    /// Returns the options for a second per target, as a part of `test`.
    pub(crate) fn smoke() -> Self {
        Self {
            target: None,
            seconds: 1,
            coverage: false,
            input: None,
            seed: 1,
            debug: true,
        }
    }
}

/// Returns the names of the fuzz targets, from their files.
pub(crate) fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(workspace.root.join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Runs targets.
pub(crate) fn run(workspace: &Workspace, options: &FuzzOptions) -> Result<TestTally> {
    let known = targets(workspace)?;
    if let Some(target) = &options.target
        && !known.contains(target)
    {
        bail!("there is no fuzz target {target}; there are: {known:?}");
    }
    if options.coverage {
        return coverage(workspace, options, &known);
    }
    let mut tally = TestTally::default();
    let mut smoke = runner(workspace, options.debug)?;
    smoke.arg("--seconds").arg(options.seconds.to_string());
    smoke.arg("--seed").arg(options.seed.to_string());
    if let Some(input) = &options.input {
        // The runner works in the root folder; the user's current folder may be another one.
        smoke.arg("--input").arg(std::path::absolute(input)?);
    }
    smoke.args(&options.target);
    let good = read_lines(&mut smoke, &workspace.log("fuzz"), |line| {
        println!("{line}");
        if line.starts_with("fuzz ") {
            tally.add(TestTally::check(line.contains(" ... ok")));
        }
    })?;
    if !good && tally.failed == 0 {
        tally.add(TestTally::failed());
    }
    Ok(tally)
}

/// Returns the smoke runner, after building it.
fn runner(workspace: &Workspace, debug: bool) -> Result<Command> {
    let (profile, folder) = if debug {
        ("dev", "debug")
    } else {
        ("smoke", "smoke")
    };
    let mut build = workspace.guest_cargo("build");
    // With the whole workspace, so that every crate has the same features as in its tests.
    build.args(["--workspace", "--bin", "smoke", "--profile", profile]);
    build.args(["--features", "cangate-fuzz/xml"]);
    if !show(&mut build)? {
        bail!("the fuzz targets do not build");
    }
    Ok(command(
        workspace.target.join(folder).join("smoke"),
        &workspace.root,
    ))
}

/// Runs targets with libFuzzer, guided by coverage.
fn coverage(workspace: &Workspace, options: &FuzzOptions, known: &[String]) -> Result<TestTally> {
    let because = if !on_path("rustup") || !has_nightly(workspace)? {
        Some("there is no nightly toolchain; to have it: rustup toolchain install nightly")
    } else if !on_path("cargo-fuzz") {
        Some("cargo-fuzz is missing; to have it: cargo install cargo-fuzz --locked")
    } else {
        None
    };
    if let Some(because) = because {
        return Ok(TestTally::skipped(format!(
            "fuzzing led by coverage because {because}"
        )));
    }
    let mut tally = TestTally::default();
    for target in known {
        if options.target.as_ref().is_some_and(|only| only != target) {
            continue;
        }
        let corpus = workspace.root.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)?;
        // The toolchain's name needs rustup's cargo, not the one that runs this program.
        let mut fuzz = command("rustup", &workspace.root);
        fuzz.env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN")
            .args(["run", "nightly", "cargo", "fuzz", "run"])
            .args(["--features", "libfuzzer", target])
            .arg(corpus)
            .arg(workspace.root.join("fuzz/seeds").join(target))
            .arg("--")
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-seed={}", options.seed.max(1)))
            .args(["-timeout=10", "-rss_limit_mb=2048"]);
        tally.add(TestTally::check(show(&mut fuzz)?));
    }
    Ok(tally)
}

fn has_nightly(workspace: &Workspace) -> Result<bool> {
    let mut list = command("rustup", &workspace.root);
    let output = output(list.args(["toolchain", "list"]))?;
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .any(|line| line.starts_with("nightly")))
}
