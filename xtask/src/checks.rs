//! Checks that are one run of a tool, and those of the documents.

use crate::command::{line, on_path, read_lines, show};
use crate::libtest;
use crate::report::TestTally;
use crate::size::SMALL_FEATURES;
use crate::workspace::{Workspace, users_of_dependencies};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The commands that README promises.
const README_COMMANDS: [&str; 2] = ["cargo run --release -- demo", "cargo xtask test"];

/// Folders with files that a macro declares: one for each operation on frames, one for each kind of
/// port.
const DECLARED_BY_MACRO: [&str; 2] = ["crates/route/src/operations", "crates/port/src"];

/// The package whose features are the kinds of port.
const PORT: &str = "cangate-port";
/// The program of the gateway.
const PROGRAM: &str = "cangate";

/// Runs `cargo fmt --check`.
pub(crate) fn format(workspace: &Workspace) -> Result<TestTally> {
    if !on_path("cargo-fmt") {
        return Ok(TestTally::skipped("format because rustfmt is missing"));
    }
    let mut format = crate::command::command(crate::workspace::cargo(), &workspace.root);
    let mut tally = TestTally::check(show(format.args(["fmt", "--all", "--check"]))?);
    // `cargo fmt` does not find files that a macro declares.
    let mut format = crate::command::command("rustfmt", &workspace.root);
    format.args(["--check", "--edition", "2024"]);
    for folder in DECLARED_BY_MACRO {
        format.args(sources(&workspace.root.join(folder))?);
    }
    tally.add(TestTally::check(show(&mut format)?));
    Ok(tally)
}

/// Returns all Rust files of a folder and its subfolders.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs clippy on all targets, with warnings as errors.
pub(crate) fn clippy(workspace: &Workspace) -> Result<TestTally> {
    if !on_path("cargo-clippy") {
        return Ok(TestTally::skipped("clippy because it is missing"));
    }
    lint(workspace, &["--workspace", "--all-targets"])
}

/// Runs clippy with these arguments, with warnings as errors.
fn lint(workspace: &Workspace, arguments: &[&str]) -> Result<TestTally> {
    let mut clippy = workspace.cargo("clippy");
    clippy.args(arguments).args(["--", "-D", "warnings"]);
    Ok(TestTally::check(show(&mut clippy)?))
}

/// Checks that the gateway builds without any kind of port, and the program for small devices; runs
/// the tests of readers of databases that no default build has.
pub(crate) fn small(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = check(workspace, &["-p", "cangate-gateway", "--lib"])?;
    // The gateway for small devices, of which `cargo xtask size` measures the size.
    let program = [&["-p", PROGRAM], &SMALL_FEATURES[..]].concat();
    tally.add(lint(workspace, &program)?);
    // Readers of databases that no default build has.
    let mut test = workspace.cargo("test");
    test.args(["-p", "cangate-signals", "--features", "kcd,arxml"]);
    test.args(["--no-fail-fast", "--", "--show-output"]);
    tally.add(libtest::run(&mut test, &workspace.log("small"))?.tally);
    Ok(tally)
}

/// Checks that packages build without warnings: as [`lint`], without clippy's time.
fn check(workspace: &Workspace, arguments: &[&str]) -> Result<TestTally> {
    let mut check = workspace.cargo("check");
    let mut has_warnings = false;
    let log = workspace.log("check");
    let good = read_lines(check.args(arguments), &log, |line| {
        println!("{line}");
        has_warnings |= line.starts_with("warning");
    })?;
    Ok(TestTally::check(good && !has_warnings))
}

/// Checks that each kind of port builds without the others, that the programs build without what
/// other packages of the workspace enable, and that the gateway builds without any of its features,
/// and with each of them alone: all without warnings.
pub(crate) fn features(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = TestTally::default();
    for kind in features_of(workspace, PORT)? {
        let alone = ["-p", PORT, "--lib", "--no-default-features", "--features"];
        let alone = [&alone[..], &[kind.as_str()]].concat();
        tally.add(check(workspace, &alone)?);
    }
    // Alone, each program has the features of both (`cargo xtask structure`).
    tally.add(lint(workspace, &["-p", PROGRAM, "-p", "cangate-lab"])?);
    let features = features_of(workspace, PROGRAM)?;
    for feature in std::iter::once("").chain(features.iter().map(String::as_str)) {
        let alone = ["-p", PROGRAM, "--no-default-features", "--features"];
        let alone = [&alone[..], &[feature]].concat();
        tally.add(lint(workspace, &alone)?);
    }
    Ok(tally)
}

/// Returns the features of a package.
fn features_of<'a>(workspace: &'a Workspace, name: &str) -> Result<&'a [String]> {
    let mut packages = workspace.packages.iter();
    let package = packages.find(|package| package.name == name);
    Ok(&package
        .with_context(|| format!("there is no {name}"))?
        .features)
}

/// Builds the API's documentation; warnings are errors.
pub(crate) fn doc(workspace: &Workspace) -> Result<TestTally> {
    let mut doc = workspace.cargo("doc");
    doc.args(["--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings");
    Ok(TestTally::check(show(&mut doc)?))
}

/// Runs each part of every benchmark once. Nothing is measured.
pub(crate) fn benches(workspace: &Workspace) -> Result<TestTally> {
    let mut test = workspace.guest_cargo("test");
    // Unoptimized, and with the whole workspace: the step `build` has already built all crates that
    // the benchmarks use.
    test.args(["--no-fail-fast", "--workspace"]);
    let mut names = 0;
    for bench in workspace
        .packages
        .iter()
        .flat_map(|package| &package.benches)
    {
        test.args(["--bench", bench]);
        names += 1;
    }
    if names == 0 {
        return Ok(TestTally::default());
    }
    let log = workspace.log("benches");
    let good = read_lines(&mut test, &log, |line| {
        if !line.starts_with("Testing ") && line != "Success" && !line.is_empty() {
            println!("{line}");
        }
    })?;
    let mut tally = TestTally::check(good);
    if good {
        tally.passed = names;
    }
    Ok(tally)
}

/// Runs benchmarks and measures.
pub(crate) fn bench(workspace: &Workspace, name: Option<&str>, rest: &[String]) -> Result<bool> {
    let mut bench = workspace.cargo("bench");
    bench.arg("--workspace");
    let known: Vec<&String> = workspace
        .packages
        .iter()
        .flat_map(|package| &package.benches)
        .collect();
    match name {
        Some(name) if !known.iter().any(|known| *known == name) => {
            anyhow::bail!("there is no benchmark {name}; there are: {known:?}");
        }
        Some(name) => drop(bench.args(["--bench", name])),
        None => {
            for name in known {
                bench.args(["--bench", name]);
            }
        }
    }
    if !rest.is_empty() {
        bench.arg("--").args(rest);
    }
    show(&mut bench)
}

/// Checks that README names its two commands, and that the first works as described.
pub(crate) fn readme(workspace: &Workspace) -> Result<TestTally> {
    let readme =
        fs::read_to_string(workspace.root.join("README.md")).context("there is no README.md")?;
    let mut tally = TestTally::default();
    for command in README_COMMANDS {
        let named = readme.lines().any(|line| line.trim().starts_with(command));
        if !named {
            println!("README.md does not give the command `{command}`");
        }
        tally.add(TestTally::check(named));
    }
    let mut demo = workspace.release_cargo("run");
    demo.args(["--release", "--", "demo"]);
    println!(
        "README's first command, with the options of other steps: {}",
        line(&demo)
    );
    tally.add(TestTally::check(show(&mut demo)?));
    Ok(tally)
}

/// Checks that each third-party package that a Cargo.toml names has its reason in
/// docs/dependencies.md, and that no reason is left there for a package that is gone.
pub(crate) fn dependencies(workspace: &Workspace) -> Result<TestTally> {
    let path = workspace.root.join("docs/dependencies.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let reasons = reasons(&text);
    let users = users_of_dependencies(workspace.all_packages());
    let mut tally = TestTally::default();
    for (dependency, names) in &users {
        let known = reasons.contains(&dependency.as_str());
        if !known {
            println!(
                "{dependency}, used by {}, has no entry `- **{dependency}**: …` in \
                 docs/dependencies.md",
                names.join(", ")
            );
        }
        tally.add(TestTally::check(known));
    }
    for reason in reasons {
        if !users.contains_key(reason) {
            println!("docs/dependencies.md has an entry for {reason}, which no crate uses");
            tally.add(TestTally::failed());
        }
    }
    Ok(tally)
}

/// Returns the names at the start of entries `- **name**…`.
fn reasons(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("- **")?.split("**").next())
        .collect()
}

/// Checks that relative links of all Markdown files lead to files and headings that exist.
pub(crate) fn links(workspace: &Workspace) -> Result<TestTally> {
    let mut tally = TestTally::default();
    let mut files = Vec::new();
    markdown(&workspace.root, &workspace.target, &mut files)?;
    for file in files {
        let text = fs::read_to_string(&file)?;
        for link in relative_links(&text) {
            let problem = broken(&file, &text, link);
            if let Some(problem) = &problem {
                let shown = file.strip_prefix(&workspace.root).unwrap_or(&file);
                println!("{}: link to {link}: {problem}", shown.display());
            }
            tally.add(TestTally::check(problem.is_none()));
        }
    }
    Ok(tally)
}

/// Collects the Markdown files of the checkout, without hidden folders and build output.
fn markdown(folder: &Path, target: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" || path == target {
            continue;
        }
        if path.is_dir() {
            markdown(&path, target, files)?;
        } else if name.ends_with(".md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Returns the targets of links outside code, without those that lead to other hosts.
fn relative_links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            let link = rest[..end].split(' ').next().unwrap_or_default();
            if !link.contains("://") && !link.starts_with("mailto:") && !link.is_empty() {
                links.push(link);
            }
            rest = &rest[end..];
        }
    }
    links
}

/// Returns the error of a link in `file`, if there is one.
fn broken(file: &Path, text: &str, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let mut other = None;
    if !path.is_empty() {
        let to = file.parent()?.join(path);
        if !to.exists() {
            return Some("no such file".to_owned());
        }
        if anchor.is_empty() || !path.ends_with(".md") {
            return None;
        }
        other = fs::read_to_string(to).ok();
    }
    let text = other.as_deref().unwrap_or(text);
    (!anchor.is_empty() && !anchors(text).iter().any(|known| known == anchor))
        .then(|| "no such heading".to_owned())
}

/// Returns the anchors of headings: lower case, words joined by hyphens, punctuation left out.
fn anchors(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter_map(|c| match c {
                    ' ' => Some('-'),
                    '-' | '_' => Some(c),
                    c if c.is_alphanumeric() => Some(c),
                    _ => None,
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text =
            "See [a](a.md) and [b](b.md#c \"title\"), not [c](https://c).\n```\n[d](d)\n```\n";
        assert_eq!(relative_links(text), ["a.md", "b.md#c"]);
    }

    #[test]
    fn headings_are_anchors() {
        assert_eq!(anchors("# One: `two`, 3\ntext\n"), ["one-two-3"]);
    }

    #[test]
    fn broken_links_are_named() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("x.md");
        assert_eq!(broken(&file, "", "Cargo.toml"), None);
        assert!(broken(&file, "", "no-such-file.md").is_some());
        assert_eq!(broken(&file, "# One two", "#one-two"), None);
        assert!(broken(&file, "# One two", "#three").is_some());
    }

    #[test]
    fn reasons_are_entries() {
        assert_eq!(reasons("# x\n- **clap**: why\n  more\n- no\n"), ["clap"]);
    }
}
