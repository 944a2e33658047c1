//! Figures in documents: the version that they were measured with, and whether the code that they
//! depend on has changed since.

use crate::command::{command, output};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;

/// Documents whose figures must name their origin.
const DOCUMENTS: [&str; 3] = [
    "docs/performance.md",
    "docs/small-devices.md",
    "docs/ways.md",
];

/// The start of the line that names the origin: ``Figures of commit `1234567`, which depend on
/// `crates/frame`, `crates/bus`.``
const BEGIN: &str = "Figures of commit `";

/// The origin of figures.
#[derive(Debug, PartialEq, Eq)]
struct FigureOrigin<'t> {
    /// The line number, from 1.
    line: usize,
    commit: &'t str,
    paths: Vec<&'t str>,
}

/// Checks that each document names the version of its figures. Stale figures are a warning, not a
/// failure: measuring them again takes hours, and most changes do not affect them.
pub(crate) fn origins(workspace: &Workspace) -> Result<TestTally> {
    let git = |arguments: &[&str]| -> Option<String> {
        let ran = output(command("git", &workspace.root).args(arguments)).ok()?;
        let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
        ran.status.success().then_some(text)
    };
    let mut tally = TestTally::default();
    if git(&["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false") {
        return Ok(TestTally::skipped(
            "the versions of figures because there is no git history here",
        ));
    }
    for document in DOCUMENTS {
        let path = workspace.root.join(document);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
        let all = parse(&text);
        if all.is_empty() {
            println!(
                "{document} does not name the version that made its figures: add a line `{BEGIN}…`"
            );
        }
        tally.add(TestTally::check(!all.is_empty()));
        for FigureOrigin {
            line,
            commit,
            paths,
        } in all
        {
            let place = format!("{document}:{line}");
            let missing: Vec<&&str> = paths
                .iter()
                .filter(|path| !workspace.root.join(path).exists())
                .collect();
            let range = format!("{commit}..HEAD");
            let count = ["rev-list", "--count", &range, "--"];
            let arguments: Vec<&str> = count.into_iter().chain(paths.iter().copied()).collect();
            let changes = git(&arguments);
            match &changes {
                // A rewritten history has other commit names; the text next to the figures stays
                // true.
                None => println!("warning: {place}: this history has no commit {commit}"),
                Some(_) if paths.is_empty() || !missing.is_empty() => {
                    println!("{place}: the figures depend on paths that do not exist: {missing:?}");
                }
                Some(changes) if changes != "0" => println!(
                    "warning: {place}: stale: {changes} commits have changed {} since {commit}",
                    paths.join(", ")
                ),
                Some(_) => {}
            }
            let good = missing.is_empty() && !paths.is_empty();
            tally.add(TestTally::check(good));
        }
    }
    Ok(tally)
}

fn parse(text: &str) -> Vec<FigureOrigin<'_>> {
    let mut all = Vec::new();
    for (text, line) in text.lines().zip(1..) {
        let Some((_, rest)) = text.split_once(BEGIN) else {
            continue;
        };
        let mut quoted = rest.split('`');
        all.push(FigureOrigin {
            line,
            commit: quoted.next().unwrap_or_default(),
            paths: quoted.skip(1).step_by(2).collect(),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_and_paths_are_read() {
        let text =
            "# x\n\nFigures of commit `12ab34c`, which depend on `crates/a`, `crates/b`. More.\n";
        assert_eq!(
            parse(text),
            [FigureOrigin {
                line: 3,
                commit: "12ab34c",
                paths: vec!["crates/a", "crates/b"],
            }]
        );
        assert_eq!(parse("none `of` them"), []);
    }
}
