//! Files that comments name: each path from the root of the checkout leads to a file or a folder,
//! so that a reader who follows it arrives.

use super::{files, judge, shown};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Folders with sources, which are also the first parts of the paths that are looked for.
const FOLDERS: [&str; 13] = [
    "crates",
    "lab",
    "kmod",
    "baremetal",
    "benches",
    "fuzz",
    "python",
    "fleet",
    "secure",
    "xtask",
    "examples",
    "packaging",
    "docs",
];

/// Endings of sources, and what a line with a comment begins with in them.
const COMMENTS: [(&str, &[&str]); 6] = [
    ("rs", &["//"]),
    ("c", &["//", "/*", "*"]),
    ("h", &["//", "/*", "*"]),
    ("py", &["#"]),
    ("sh", &["#"]),
    ("toml", &["#"]),
];

/// Endings of files that a comment names by their path. Others are built or only made up.
const NAMED: [&str; 8] = ["rs", "c", "h", "py", "sh", "toml", "md", "dbc"];

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    for folder in FOLDERS {
        let is_source = |path: &Path| begins_of(path).is_some();
        for file in files(&workspace.root.join(folder), &is_source)? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            for (line, path) in named(&text, begins_of(&file).unwrap_or(&[])) {
                looked_at += 1;
                if !workspace.root.join(path).exists() {
                    problems.push(format!(
                        "{}:{line}: there is no {path}",
                        shown(workspace, &file)
                    ));
                }
            }
        }
    }
    Ok(judge(looked_at, &problems))
}

/// Returns what comments of this file begin with; `None` for a file that is not a source.
fn begins_of(file: &Path) -> Option<&'static [&'static str]> {
    let ending = file.extension()?.to_str()?;
    let (_, begins) = COMMENTS.iter().find(|(known, _)| *known == ending)?;
    Some(begins)
}

/// Returns the paths in comments, each with the number of its line.
fn named<'t>(text: &'t str, begins: &[&str]) -> Vec<(usize, &'t str)> {
    let is_comment = |line: &str| {
        begins
            .iter()
            .any(|begin| line.trim_start().starts_with(begin))
    };
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| is_comment(line))
        .flat_map(|(index, line)| {
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c)));
            words.filter_map(move |word| {
                let path = word.trim_end_matches('.');
                is_path(path).then_some((index + 1, path))
            })
        })
        .collect()
}

fn is_path(word: &str) -> bool {
    let Some((folder, _)) = word.split_once('/') else {
        return false;
    };
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    FOLDERS.contains(&folder) && ending.is_some_and(|ending| NAMED.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_comments_are_found() {
        let text = "// see crates/bus/src/lib.rs.\nlet x = \"crates/x.rs\"; // lab/y.c\n    /// (`kmod/a/b.h`), crates/bus/src, target/z.rs\n";
        assert_eq!(
            named(text, &["//"]),
            [(1, "crates/bus/src/lib.rs"), (3, "kmod/a/b.h")]
        );
    }
}
