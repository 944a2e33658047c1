//! `cargo xtask size`: packages, sizes and memory of the gateway, with all features and with few.

use crate::command::{command, line, output, show};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The profile of Cargo.toml for small programs: all crates are optimized together.
const PROFILE: &str = "dist";

/// cargo's arguments for a gateway with few features.
pub(crate) const SMALL_FEATURES: [&str; 3] =
    ["--no-default-features", "--features", "socketcan,bus,log"];

/// A build of the gateway, and its limits.
struct BuildVariant {
    name: &'static str,
    /// cargo's arguments, in addition to `-p cangate`.
    features: &'static [&'static str],
    /// The most packages in `cargo tree`, including those of the workspace.
    packages: usize,
    /// The most bytes of the program, linked statically and stripped.
    bytes: u64,
}

/// Limits from issue 27: what a gateway on a small device may need.
const VARIANTS: [BuildVariant; 2] = [
    BuildVariant {
        name: "all features",
        features: &[],
        packages: 165,
        bytes: 11_000_000,
    },
    BuildVariant {
        name: "socketcan,bus,log",
        features: &SMALL_FEATURES,
        packages: 80,
        bytes: 5_000_000,
    },
];

/// The most memory of an idle gateway with two ports and `lock_memory`, KiB.
const MOST_MEMORY: u64 = 12_000;

/// Time in which a gateway must start, and time for which it idles before its memory is read.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE: Duration = Duration::from_secs(2);

const GATEWAY: &str = "[gateway]\nrealtime = false\ncontrol = \"control.sock\"\n\
                       [ports.a]\nkind = \"bus\"\n[ports.b]\nkind = \"bus\"\n\
                       [[routes]]\nfrom = \"a\"\nto = \"b\"\n";

/// Prints a table, and fails if a limit is exceeded.
pub(crate) fn run(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = TestTally::default();
    let mut rows = Vec::new();
    for variant in &VARIANTS {
        let packages = packages(workspace, variant)?;
        let program = build(workspace, variant)?;
        let bytes = fs::metadata(&program)?.len();
        let memory = memory(workspace, &program)?;
        tally.add(TestTally::check(packages <= variant.packages));
        tally.add(TestTally::check(bytes <= variant.bytes));
        tally.add(TestTally::check(memory.resident <= MOST_MEMORY));
        rows.push(format!(
            "| {} | {packages} (at most {}) | {bytes} (at most {}) | {} (at most {MOST_MEMORY}) | {} |",
            variant.name, variant.packages, variant.bytes, memory.resident, memory.locked,
        ));
    }
    println!("\n| features | packages | bytes, static and stripped | idle, KiB | of it locked |");
    println!("|---|---|---|---|---|");
    for row in rows {
        println!("{row}");
    }
    Ok(tally)
}

/// Returns the number of packages of a build.
fn packages(workspace: &Workspace, variant: &BuildVariant) -> Result<usize> {
    let mut tree = workspace.cargo("tree");
    tree.args(["-p", "cangate", "-e", "normal", "--prefix", "none"]);
    let output = output(tree.args(variant.features))?;
    if !output.status.success() {
        bail!("{} failed", line(&tree));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // A package that was listed already has a mark.
    let names: BTreeSet<&str> = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    Ok(names.len())
}

/// Returns the program, linked statically and stripped, in a target folder of its own, because the
/// features differ.
fn build(workspace: &Workspace, variant: &BuildVariant) -> Result<PathBuf> {
    let target = workspace.target.join("size").join(variant.name);
    let mut build = workspace.cargo("rustc");
    build.args(["--profile", PROFILE, "-p", "cangate", "--bin", "cangate"]);
    build
        .args(variant.features)
        .arg("--target-dir")
        .arg(&target);
    build.args(["--", "-C", "target-feature=+crt-static"]);
    if !show(&mut build)? {
        bail!("cangate does not build with {}", variant.name);
    }
    Ok(target.join(PROFILE).join("cangate"))
}

/// Memory of a process, KiB.
struct ProcessMemory {
    resident: u64,
    locked: u64,
}

/// A running gateway that is ended even if reading fails.
struct RunningProcess(Child);

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the memory of an idle gateway with two ports of the embedded bus, with the default
/// `lock_memory`.
fn memory(workspace: &Workspace, program: &Path) -> Result<ProcessMemory> {
    let folder = workspace.logs.join("size");
    fs::create_dir_all(&folder)?;
    let socket = folder.join("cangate/control.sock");
    let _ = fs::remove_file(&socket);
    fs::write(folder.join("gateway.toml"), GATEWAY)?;
    let mut run: Command = command(program, &folder);
    // The control socket is in its folder `cangate`.
    run.args(["run", "-q", "gateway.toml"])
        .env("XDG_RUNTIME_DIR", &folder)
        .stdout(Stdio::null());
    println!("$ {}", line(&run));
    let running = RunningProcess(run.spawn().context("the gateway does not start")?);
    let began = Instant::now();
    while !socket.exists() {
        if began.elapsed() > START_TIMEOUT {
            bail!("the gateway has no control socket after {START_TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(IDLE);
    // `VmLck` of status would also count addresses that are reserved and not used.
    let rollup = format!("/proc/{}/smaps_rollup", running.0.id());
    let rollup = fs::read_to_string(rollup)?;
    let value = |key: &str| {
        let line = rollup.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
            .with_context(|| format!("/proc/PID/smaps_rollup has no {key}"))
    };
    Ok(ProcessMemory {
        resident: value("Rss:")?,
        locked: value("Locked:")?,
    })
}
