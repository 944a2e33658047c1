//! No build output among the committed files.

use super::judge;
use crate::command::{command, on_path, output};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Result, bail};

/// Committed on purpose, with a check of its own (`cargo xtask bpf`).
const ON_PURPOSE: [&str; 1] = ["crates/offload/bpf/gateway.bpf.o"];

/// Endings of files that compilers and tools write.
const BUILT: [&str; 10] = [
    ".o", ".ko", ".a", ".so", ".rlib", ".rmeta", ".d", ".profraw", ".mod.c", ".cmd",
];

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    if !on_path("git") || !workspace.root.join(".git").exists() {
        return Ok(TestTally::skipped(
            "structure: committed build output because this is not a git checkout",
        ));
    }
    let list = |arguments: &[&str]| -> Result<Vec<String>> {
        let output = output(command("git", &workspace.root).args(arguments))?;
        if !output.status.success() {
            bail!("git {} failed", arguments.join(" "));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    };
    let all = list(&["ls-files", "-z"])?;
    let mut problems: Vec<String> = list(&["ls-files", "-z", "-ci", "--exclude-standard"])?
        .iter()
        .map(|name| format!("{name} is committed, although .gitignore names it: git rm --cached"))
        .collect();
    problems.extend(
        all.iter()
            .filter(|name| is_built(name))
            .map(|name| format!("{name} is build output and committed: git rm --cached")),
    );
    Ok(judge(all.len(), &problems))
}

fn is_built(name: &str) -> bool {
    let in_target = name
        .split('/')
        .rev()
        .skip(1)
        .any(|folder| folder == "target");
    let built = in_target || BUILT.iter().any(|ending| name.ends_with(ending));
    built && !ON_PURPOSE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_is_known_by_folder_and_ending() {
        assert!(is_built(
            "crates/bus/target/criterion/flood/base/sample.json"
        ));
        assert!(is_built("kmod/bitcan/bitcan.ko"));
        assert!(!is_built("crates/offload/bpf/gateway.bpf.o"));
        assert!(!is_built("crates/x/src/target.rs"));
        assert!(!is_built("docs/target"));
    }
}
