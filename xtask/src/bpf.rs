//! The BPF object of `crates/offload`: it is committed, so that users need no compiler for it. This
//! step rebuilds it and compares the bytes with the committed ones.

use crate::command::on_path;
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::{Command, Stdio};

/// The compiler's version: another version generates other bytes. `cangate --version --verbose`
/// prints it.
const VERSION: &str = include_str!("../../crates/offload/bpf/clang-version").trim_ascii();
pub(crate) const COMPILER: &str = "clang-14";
pub(crate) const STRIP: &str = "llvm-strip-14";

/// Builds the object; with `update` it replaces the committed one, else both must be equal.
pub(crate) fn run(workspace: &Workspace, update: bool) -> Result<TestTally> {
    for program in [COMPILER, STRIP] {
        if !on_path(program) {
            return Ok(TestTally::skipped(format!(
                "bpf because {program} is missing (Debian 12: apt-get install clang-14 llvm-14)"
            )));
        }
    }
    let text = output(Command::new(COMPILER).arg("--version"))?;
    if !String::from_utf8_lossy(&text).contains(VERSION) {
        return Ok(TestTally::skipped(format!(
            "bpf because {COMPILER} is not version {VERSION}"
        )));
    }
    let folder = workspace.root.join("crates/offload/bpf");
    let made = workspace.target.join("xtask").join("gateway.bpf.o");
    if let Some(parent) = made.parent() {
        fs::create_dir_all(parent)?;
    }
    // Debug information becomes the type information that maps with locks and functions need (BTF);
    // the rest of it, with this machine's paths, is stripped.
    output(
        Command::new(COMPILER)
            .args([
                "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
            ])
            .args(["-fdebug-compilation-dir=.", "-c", "gateway.bpf.c", "-o"])
            .arg(&made)
            .current_dir(&folder),
    )?;
    output(Command::new(STRIP).arg("-g").arg(&made))?;
    let new = fs::read(&made)?;
    let committed = folder.join("gateway.bpf.o");
    if update {
        fs::write(&committed, &new)?;
        println!("{} has {} bytes", committed.display(), new.len());
        return Ok(TestTally::passed());
    }
    let old = fs::read(&committed).context("crates/offload/bpf/gateway.bpf.o cannot be read")?;
    if old != new {
        bail!(
            "crates/offload/bpf/gateway.bpf.o is not what its sources make: run `cargo xtask bpf \
             --update`"
        );
    }
    Ok(TestTally::passed())
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{command:?} cannot be run"))?;
    if !output.status.success() {
        bail!("{command:?} failed");
    }
    Ok(output.stdout)
}
