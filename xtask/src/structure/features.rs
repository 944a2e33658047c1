//! Features of crates: with each of the two programs alone, they are the same as with both
//! together.
//!
//! cargo compiles a crate once for each set of features. If the sets differ, all crates that depend
//! on it are compiled twice, and the laboratory measures another build of them than users have.

use super::judge;
use crate::command::output;
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::collections::BTreeSet;

/// A crate with its version and its features, as `cargo tree` prints them.
type Builds = BTreeSet<String>;

/// The packages of the two programs.
const PROGRAMS: [&str; 2] = ["cangate", "cangate-lab"];

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let together = builds(workspace, &PROGRAMS)?;
    let mut problems = Vec::new();
    for program in PROGRAMS {
        let alone = builds(workspace, &[program])?;
        problems.extend(differences(program, &alone, &together));
    }
    Ok(judge(together.len(), &problems))
}

fn builds(workspace: &Workspace, packages: &[&str]) -> Result<Builds> {
    let mut tree = workspace.cargo("tree");
    tree.args(["--format", "{p} {f}", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--edges", "normal,build"]);
    for package in packages {
        tree.args(["--package", package]);
    }
    let output = output(&mut tree)?;
    if !output.status.success() {
        bail!(
            "cargo tree failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

fn differences(program: &str, alone: &Builds, together: &Builds) -> Vec<String> {
    let lost = alone.difference(together);
    lost.map(|build| {
        format!(
            "features: `{build}` is in {program} alone, beside the other program it has others: name the features \
             where both see them (Cargo.toml of the workspace, `default` of crates/cangate, or the dependencies of \
             lab/cangate-lab)"
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_only_one_program_asks_for_is_named() {
        let builds = |lines: &[&str]| -> Builds { lines.iter().map(|&l| l.to_owned()).collect() };
        let alone = builds(&["frame v0.1.0 ", "rustix v1.1.6 fs"]);
        let more = builds(&["frame v0.1.0 ", "rustix v1.1.6 fs", "kvm v0.1.0 "]);
        assert!(differences("cangate", &alone, &more).is_empty());
        let other = builds(&["frame v0.1.0 ", "rustix v1.1.6 fs,pty"]);
        let problems = differences("cangate", &alone, &other);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("rustix v1.1.6 fs"), "{problems:?}");
    }
}
