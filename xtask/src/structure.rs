//! The structure of the workspace, as ARCHITECTURE.md describes it: dependencies between crates,
//! features that both programs share, where `unsafe` is allowed, licences of the parts for the
//! kernel, the width of comments, the files that they name, imports in one direction, and no build
//! output among the committed files.

mod circles;
mod comments;
mod dependencies;
mod features;
mod licences;
mod named_files;
mod tracked;
mod unsafety;

use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs all of these checks.
pub(crate) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = dependencies::check(workspace)?;
    tally.add(features::check(workspace)?);
    tally.add(unsafety::check(workspace)?);
    tally.add(licences::check(workspace)?);
    tally.add(tracked::check(workspace)?);
    tally.add(comments::check(workspace)?);
    tally.add(named_files::check(workspace)?);
    tally.add(circles::check(workspace)?);
    Ok(tally)
}

/// Returns one check for each item that was examined: the problems are printed and count as failed.
fn judge(looked_at: usize, problems: &[String]) -> TestTally {
    for problem in problems {
        println!("{problem}");
    }
    TestTally {
        passed: looked_at.saturating_sub(problems.len()) as u64,
        failed: problems.len() as u64,
        skipped: Vec::new(),
    }
}

/// Returns the files below `folder` for which `wanted` is true, without folders named `target`;
/// sorted.
fn files(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target") {
                    folders.push(path);
                }
            } else if wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the path for messages: relative to the root of the checkout.
fn shown<'p>(workspace: &Workspace, path: &'p Path) -> std::path::Display<'p> {
    path.strip_prefix(&workspace.root).unwrap_or(path).display()
}
