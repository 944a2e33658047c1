//! Comments of Rust sources end at the column at which rustfmt ends code.

use super::{files, judge, shown};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;

/// rustfmt's `max_width`. It does not wrap comments.
const MAX_COLUMNS: usize = 100;

/// Folders with sources.
const FOLDERS: [&str; 9] = [
    "crates",
    "lab",
    "baremetal",
    "benches",
    "fuzz",
    "python",
    "fleet",
    "secure",
    "xtask",
];

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    for folder in FOLDERS {
        let is_source = |path: &std::path::Path| path.extension().is_some_and(|e| e == "rs");
        for file in files(&workspace.root.join(folder), &is_source)? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            looked_at += 1;
            for line in wide(&text) {
                problems.push(format!(
                    "{}:{line}: a comment of more than {MAX_COLUMNS} columns",
                    shown(workspace, &file)
                ));
            }
        }
    }
    Ok(judge(looked_at, &problems))
}

/// Numbers of the lines that are comments and too wide.
fn wide(text: &str) -> Vec<usize> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| {
            line.trim_start().starts_with("//") && line.chars().count() > MAX_COLUMNS
        })
        .map(|(index, _)| index + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_are_found() {
        let fits = format!("// {}", "ä".repeat(97));
        let wide_line = format!("    /// {}", "x".repeat(93));
        let code = format!("let x = \"{}\";", "x".repeat(100));
        let text = format!("{fits}\n{wide_line}\n{code}\n");
        assert_eq!(wide(&text), [2]);
    }
}
