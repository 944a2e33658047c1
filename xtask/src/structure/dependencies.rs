//! Dependencies between crates: those in a crate's `Cargo.toml` are those in ARCHITECTURE.md's
//! table, and in its picture of layers each leads to a lower layer. Dependencies of tests alone
//! (dev-dependencies) are not restricted.

use super::judge;
use crate::report::TestTally;
use crate::workspace::{Package, Workspace};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The programs, which may depend on all crates below them.
const TOPS: [&str; 2] = ["cangate", "cangate-lab"];

/// The folders of crates: those of the product, and those of the laboratory.
const FOLDERS: [&str; 2] = ["crates", "lab"];

/// The crates outside of [`FOLDERS`]: a program of its own, and a workspace of its own.
const ALONE: [&str; 4] = ["baremetal", "fleet", "python", "secure"];

/// Crate → crates that it depends on, by the names of their folders.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let path = workspace.root.join("ARCHITECTURE.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let documented = documented(&text)?;
    let actual = actual(workspace.all_packages());
    let mut problems = differences(&documented, &actual);
    problems.extend(toward_the_lab(&workspace.packages));
    problems.extend(upwards(&layers(&text), &actual));
    Ok(judge(2 * actual.len(), &problems))
}

/// The layer of each crate in the first picture, counted from the top.
fn layers(text: &str) -> BTreeMap<&str, usize> {
    let picture = text.split("```text\n").nth(1).unwrap_or_default();
    let picture = picture.split("```").next().unwrap_or_default();
    let layers = picture.lines().enumerate();
    layers
        .flat_map(|(layer, line)| line.split_whitespace().map(move |name| (name, layer)))
        .collect()
}

/// Dependencies that do not lead to a lower layer, and crates that the picture lacks.
fn upwards(layers: &BTreeMap<&str, usize>, actual: &Dependencies) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, used) in actual {
        let Some(layer) = layers.get(name.as_str()) else {
            problems.push(format!("{name} is not in ARCHITECTURE.md's picture"));
            continue;
        };
        for known in used {
            if layers
                .get(known.as_str())
                .is_none_or(|below| below <= layer)
            {
                problems.push(format!(
                    "ARCHITECTURE.md's picture: {name} depends on {known}, which is not in a lower layer"
                ));
            }
        }
    }
    for name in layers.keys().filter(|name| !actual.contains_key(**name)) {
        problems.push(format!(
            "ARCHITECTURE.md's picture has {name}, which is not a crate"
        ));
    }
    problems
}

/// Crates of the product that depend on a crate of the laboratory.
fn toward_the_lab(packages: &[Package]) -> Vec<String> {
    let lab: BTreeSet<&str> = packages
        .iter()
        .filter(|package| is_in(package, "lab"))
        .filter_map(|package| package.folder.file_name()?.to_str())
        .collect();
    let product = packages.iter().filter(|package| is_in(package, "crates"));
    let known = product.flat_map(|package| package.crates.iter().map(move |name| (package, name)));
    known
        .filter(|(_, name)| lab.contains(name.as_str()))
        .map(|(package, name)| {
            format!(
                "{} depends on lab/{name}: the product must not need the laboratory",
                package.name
            )
        })
        .collect()
}

fn is_in(package: &Package, folder: &str) -> bool {
    let up = package.folder.parent();
    up.is_some_and(|up| up.ends_with(folder))
}

/// The dependencies in the `Cargo.toml` files of the packages in [`FOLDERS`] and [`ALONE`].
fn actual<'p>(packages: impl Iterator<Item = &'p Package>) -> Dependencies {
    let name = |package: &Package| package.folder.file_name()?.to_str().map(str::to_owned);
    packages
        .filter(|package| {
            FOLDERS.iter().any(|folder| is_in(package, folder))
                || ALONE.iter().any(|name| package.folder.ends_with(name))
        })
        .filter_map(|package| Some((name(package)?, package.crates.iter().cloned().collect())))
        .collect()
}

/// Rows of the table whose first cell is `` `crates/NAME` `` or `` `lab/NAME` ``; the last cell
/// names the crates that it depends on, each in backquotes, or is "none" or "all".
fn documented(text: &str) -> Result<Dependencies> {
    let mut dependencies = Dependencies::new();
    let alone = ALONE.map(|name| format!("| `{name}`"));
    let is_row = |line: &&str| {
        line.starts_with("| `crates/")
            || line.starts_with("| `lab/")
            || alone.iter().any(|start| line.starts_with(start))
    };
    for line in text.lines().filter(is_row) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        let path = first.trim_matches('`');
        let name = path.rsplit('/').next().unwrap_or(path);
        let known: BTreeSet<String> = last
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        if known.is_empty() && *last != "none" && *last != "all" {
            bail!(
                "ARCHITECTURE.md: the last cell of {name} has neither crates nor \"none\" nor \"all\": {last}"
            );
        }
        if dependencies.insert(name.to_owned(), known).is_some() {
            bail!("ARCHITECTURE.md has two rows for {name}");
        }
    }
    if dependencies.is_empty() {
        bail!("ARCHITECTURE.md has no table with rows that start with `crates/…`");
    }
    Ok(dependencies)
}

fn differences(documented: &Dependencies, actual: &Dependencies) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, used) in actual {
        let Some(allowed) = documented.get(name) else {
            problems.push(format!(
                "crates/{name} has no row in ARCHITECTURE.md's table"
            ));
            continue;
        };
        if TOPS.contains(&name.as_str()) {
            continue;
        }
        let names = |set: Vec<&String>| {
            set.iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let more = names(used.difference(allowed).collect());
        let less = names(allowed.difference(used).collect());
        if !more.is_empty() {
            problems.push(format!(
                "crates/{name} depends on {more}, and ARCHITECTURE.md does not allow it: remove the \
                 dependency, or decide on it and add it to the table"
            ));
        }
        if !less.is_empty() {
            problems.push(format!(
                "crates/{name} depends on {less} in ARCHITECTURE.md, but not in its Cargo.toml: \
                 correct the table"
            ));
        }
    }
    for name in documented.keys().filter(|name| !actual.contains_key(*name)) {
        problems.push(format!(
            "ARCHITECTURE.md has a row for crates/{name}, which does not exist"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| crate | purpose | depends on |
|---|---|---|
| `crates/frame` | frames | none |
| `crates/route` | routes | `frame`, `config` |
| `crates/cangate` | the command line | all |
| `kmod/bitcan` | a module | none |
";

    fn dependencies(of: &[(&str, &[&str])]) -> Dependencies {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        of.iter()
            .map(|(name, used)| ((*name).to_owned(), owned(used)))
            .collect()
    }

    #[test]
    fn the_table_is_parsed() {
        let expected = dependencies(&[
            ("cangate", &[]),
            ("frame", &[]),
            ("route", &["config", "frame"]),
        ]);
        assert_eq!(documented(TABLE).unwrap(), expected);
        assert!(documented("no table").is_err());
        assert!(documented("| `crates/a` | x | any |").is_err());
    }

    #[test]
    fn a_dependency_must_lead_to_a_lower_layer() {
        let actual = dependencies(&[
            ("frame", &[]),
            ("route", &["frame"]),
            ("cangate", &["route"]),
        ]);
        let text = "# x\n```text\n  cangate\n  route\n  frame\n```\nmore";
        assert!(upwards(&layers(text), &actual).is_empty());
        let beside = "```text\n  cangate\n  route frame\n```";
        assert!(upwards(&layers(beside), &actual)[0].contains("route depends on frame"));
        let stranger = "```text\n cangate\n route\n frame attic\n```";
        assert!(upwards(&layers(stranger), &actual)[0].contains("attic"));
        assert!(upwards(&layers("no picture"), &actual)[0].contains("cangate is not in"));
    }

    #[test]
    fn a_dependency_too_many_or_too_few_is_a_difference() {
        let documented = documented(TABLE).unwrap();
        let right = [
            ("frame", &[][..]),
            ("route", &["frame", "config"]),
            ("cangate", &["frame", "route"]),
        ];
        assert!(differences(&documented, &dependencies(&right)).is_empty());
        let mut back = right;
        back[0].1 = &["route"];
        assert!(
            differences(&documented, &dependencies(&back))[0].contains("frame depends on route")
        );
        let mut fewer = right;
        fewer[1].1 = &["frame"];
        assert!(
            differences(&documented, &dependencies(&fewer))[0].contains("not in its Cargo.toml")
        );
        let added = [&right[..], &[("new", &[][..])]].concat();
        assert!(
            differences(&documented, &dependencies(&added))[0].contains("crates/new has no row")
        );
        assert!(differences(&documented, &dependencies(&right[1..]))[0].contains("crates/frame"));
    }
}
