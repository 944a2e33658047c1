//! `unsafe` only where the rules allow it.

use super::{files, judge, shown};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The only places where shipped code may be unsafe: all unsafe code for Linux, the BPF loader's
/// maps, the image without an operating system, and the memory of the laboratory's virtual
/// machines.
const ALLOWED: [&str; 4] = [
    "crates/linux/src/",
    "crates/offload/src/bpf/",
    "baremetal/",
    "lab/kvm/src/",
];

/// The attribute in the root of every crate without such a place. The compiler then enforces the
/// rule; in a crate with such a place, this check reads the other files.
const FORBIDDEN: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    for package in workspace.packages.iter().chain(&workspace.alone) {
        let sources = package.folder.join("src");
        let may = ALLOWED.iter().any(|place| {
            let place = workspace.root.join(place);
            place.starts_with(&sources) || sources.starts_with(&place)
        });
        for file in files(&sources, &|path| {
            path.extension().is_some_and(|e| e == "rs")
        })? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            looked_at += 1;
            let here = shown(workspace, &file).to_string();
            if may {
                if !ALLOWED.iter().any(|place| here.starts_with(place)) {
                    problems.extend(unsafe_lines(&text).iter().map(|number| {
                        format!(
                            "{here}:{number}: `unsafe` outside {}: move it to the room `linux`",
                            ALLOWED.join(", ")
                        )
                    }));
                }
            } else if is_root(&sources, &file) && !text.lines().any(|line| line.trim() == FORBIDDEN)
            {
                problems.push(format!("{here}: the root of a crate without `{FORBIDDEN}`"));
            }
        }
    }
    // PyO3's macros make unsafe code, which a crate that forbids it does not compile.
    for package in &workspace.python {
        for file in files(&package.folder.join("src"), &|path| {
            path.extension().is_some_and(|e| e == "rs")
        })? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            looked_at += 1;
            let here = shown(workspace, &file);
            let lines = unsafe_lines(&text);
            problems.extend(lines.iter().map(|number| {
                format!("{here}:{number}: `unsafe` in the Python package: only PyO3's macros may")
            }));
        }
    }
    Ok(judge(looked_at, &problems))
}

/// Returns whether a file is `src/lib.rs`, `src/main.rs` or `src/bin/NAME.rs`.
fn is_root(sources: &Path, file: &Path) -> bool {
    file == sources.join("lib.rs")
        || file == sources.join("main.rs")
        || file.parent() == Some(&sources.join("bin"))
}

/// Returns the numbers of the lines with the keyword, or with an attribute that would allow it,
/// outside comments and plain string literals.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |code: &str| {
        code.split(|c| !is_word(c)).any(|word| word == "unsafe")
            || code.contains("allow(unsafe_code")
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| has(&code_of(line)))
        .map(|(i, _)| i + 1)
        .collect()
}

/// Returns a line without its comment and without the text between quotes.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => drop(chars.next()),
            '"' => quoted = !quoted,
            '/' if !quoted && chars.peek() == Some(&'/') => break,
            c if !quoted => code.push(c),
            _ => {}
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_is_found_and_words_about_it_are_not() {
        let text = "\
// unsafe is not used here
let x = \"unsafe\";
#![forbid(unsafe_code)]
let y = unsafe { z() };
#![allow(unsafe_code)]
/// What is unsafe
unsafe impl Send for X {}
";
        assert_eq!(unsafe_lines(text), [4, 5, 7]);
    }

    #[test]
    fn roots_are_known() {
        let src = Path::new("/x/src");
        assert!(is_root(src, Path::new("/x/src/lib.rs")));
        assert!(is_root(src, Path::new("/x/src/bin/a.rs")));
        assert!(!is_root(src, Path::new("/x/src/a/lib.rs")));
    }
}
