//! Dependencies between crates: those that a `Cargo.toml` names are exactly those in
//! ARCHITECTURE.md's table, and in its picture of layers every dependency leads downwards.
//! Dependencies of tests only (dev-dependencies) are not restricted.

use super::judge;
use crate::report::Tally;
use crate::workspace::{Package, Workspace};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The programs, which may depend on all crates below them.
const TOPS: [&str; 2] = ["cangate", "cangate-lab"];

/// The folders of crates: those of the product, and those of the laboratory.
const FOLDERS: [&str; 2] = ["crates", "lab"];

/// The crate that is not in `crates`, because it is a program of its own.
const BARE: &str = "baremetal";

/// Crate → crates that it depends on, by the names of their folders.
type Arrows = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(workspace: &Workspace) -> Result<Tally> {
    let path = workspace.root.join("ARCHITECTURE.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let promised = promised(&text)?;
    let drawn = drawn(&workspace.packages);
    let mut problems = differences(&promised, &drawn);
    problems.extend(toward_the_lab(&workspace.packages));
    problems.extend(upwards(&floors(&text), &drawn));
    Ok(judge(2 * drawn.len(), &problems))
}

/// Returns the layer of each crate in the first picture, counted from the top.
fn floors(text: &str) -> BTreeMap<&str, usize> {
    let picture = text.split("```text\n").nth(1).unwrap_or_default();
    let picture = picture.split("```").next().unwrap_or_default();
    let floors = picture.lines().enumerate();
    floors
        .flat_map(|(floor, line)| line.split_whitespace().map(move |room| (room, floor)))
        .collect()
}

/// Returns the dependencies that do not lead to a lower layer, and crates that the picture lacks.
fn upwards(floors: &BTreeMap<&str, usize>, drawn: &Arrows) -> Vec<String> {
    let mut problems = Vec::new();
    for (room, knows) in drawn {
        let Some(floor) = floors.get(room.as_str()) else {
            problems.push(format!("{room} is not in ARCHITECTURE.md's picture"));
            continue;
        };
        for known in knows {
            if floors
                .get(known.as_str())
                .is_none_or(|below| below <= floor)
            {
                problems.push(format!(
                    "ARCHITECTURE.md's picture: the arrow from {room} to {known} does not lead down"
                ));
            }
        }
    }
    for room in floors.keys().filter(|room| !drawn.contains_key(**room)) {
        problems.push(format!(
            "ARCHITECTURE.md's picture has {room}, which is no room"
        ));
    }
    problems
}

/// Returns the crates of the product that depend on a crate of the laboratory.
fn toward_the_lab(packages: &[Package]) -> Vec<String> {
    let lab: BTreeSet<&str> = packages
        .iter()
        .filter(|package| is_in(package, "lab"))
        .filter_map(|package| package.folder.file_name()?.to_str())
        .collect();
    let product = packages.iter().filter(|package| is_in(package, "crates"));
    let known = product.flat_map(|package| package.rooms.iter().map(move |room| (package, room)));
    known
        .filter(|(_, room)| lab.contains(room.as_str()))
        .map(|(package, room)| {
            format!(
                "{} depends on lab/{room}: the product must not need the laboratory",
                package.name
            )
        })
        .collect()
}

fn is_in(package: &Package, folder: &str) -> bool {
    let up = package.folder.parent();
    up.is_some_and(|up| up.ends_with(folder))
}

/// Returns the dependencies in the `Cargo.toml` files, for the packages in [`FOLDERS`].
fn drawn(packages: &[Package]) -> Arrows {
    let room = |package: &Package| package.folder.file_name()?.to_str().map(str::to_owned);
    packages
        .iter()
        .filter(|package| {
            FOLDERS.iter().any(|folder| is_in(package, folder)) || package.folder.ends_with(BARE)
        })
        .filter_map(|package| Some((room(package)?, package.rooms.iter().cloned().collect())))
        .collect()
}

/// Parses rows of the table whose first cell is `` `crates/NAME` `` or `` `lab/NAME` ``; the last
/// cell names the crates that it depends on, each in backquotes, or has the word for none or for
/// all.
fn promised(text: &str) -> Result<Arrows> {
    let mut arrows = Arrows::new();
    let bare = format!("| `{BARE}`");
    let is_row = |line: &&str| {
        line.starts_with("| `crates/") || line.starts_with("| `lab/") || line.starts_with(&bare)
    };
    for line in text.lines().filter(is_row) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        let path = first.trim_matches('`');
        let room = path.rsplit('/').next().unwrap_or(path);
        let known: BTreeSet<String> = last
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        if known.is_empty() && *last != "nobody" && *last != "all" {
            bail!("ARCHITECTURE.md: {room} knows neither rooms nor \"nobody\" nor \"all\": {last}");
        }
        if arrows.insert(room.to_owned(), known).is_some() {
            bail!("ARCHITECTURE.md has two rows for {room}");
        }
    }
    if arrows.is_empty() {
        bail!("ARCHITECTURE.md has no table with rows that start with `crates/…`");
    }
    Ok(arrows)
}

fn differences(promised: &Arrows, drawn: &Arrows) -> Vec<String> {
    let mut problems = Vec::new();
    for (room, knows) in drawn {
        let Some(allowed) = promised.get(room) else {
            problems.push(format!(
                "crates/{room} has no row in ARCHITECTURE.md's table"
            ));
            continue;
        };
        if TOPS.contains(&room.as_str()) {
            continue;
        }
        let names = |set: Vec<&String>| {
            set.iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let more = names(knows.difference(allowed).collect());
        let less = names(allowed.difference(knows).collect());
        if !more.is_empty() {
            problems.push(format!(
                "crates/{room} knows {more}, and ARCHITECTURE.md does not allow it: remove the \
                 dependency, or decide on the arrow and add it to the table"
            ));
        }
        if !less.is_empty() {
            problems.push(format!(
                "crates/{room} knows {less} in ARCHITECTURE.md, but not in its Cargo.toml: correct \
                 the table"
            ));
        }
    }
    for room in promised.keys().filter(|room| !drawn.contains_key(*room)) {
        problems.push(format!(
            "ARCHITECTURE.md has a row for crates/{room}, which is not there"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| room | what it is for | knows |
|---|---|---|
| `crates/frame` | frames | nobody |
| `crates/route` | routes | `frame`, `config` |
| `crates/cangate` | the command line | all |
| `kmod/bitcan` | a module | nobody |
";

    fn arrows(of: &[(&str, &[&str])]) -> Arrows {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        of.iter()
            .map(|(room, knows)| ((*room).to_owned(), owned(knows)))
            .collect()
    }

    #[test]
    fn the_table_is_read() {
        let expected = arrows(&[
            ("cangate", &[]),
            ("frame", &[]),
            ("route", &["config", "frame"]),
        ]);
        assert_eq!(promised(TABLE).unwrap(), expected);
        assert!(promised("no table").is_err());
        assert!(promised("| `crates/a` | x | somebody |").is_err());
    }

    #[test]
    fn an_arrow_must_lead_down() {
        let drawn = arrows(&[
            ("frame", &[]),
            ("route", &["frame"]),
            ("cangate", &["route"]),
        ]);
        let text = "# x\n```text\n  cangate\n  route\n  frame\n```\nmore";
        assert!(upwards(&floors(text), &drawn).is_empty());
        let beside = "```text\n  cangate\n  route frame\n```";
        assert!(upwards(&floors(beside), &drawn)[0].contains("from route to frame"));
        let stranger = "```text\n cangate\n route\n frame attic\n```";
        assert!(upwards(&floors(stranger), &drawn)[0].contains("attic"));
        assert!(upwards(&floors("no picture"), &drawn)[0].contains("cangate is not in"));
    }

    #[test]
    fn an_arrow_too_many_or_too_few_is_a_difference() {
        let promised = promised(TABLE).unwrap();
        let right = [
            ("frame", &[][..]),
            ("route", &["frame", "config"]),
            ("cangate", &["frame", "route"]),
        ];
        assert!(differences(&promised, &arrows(&right)).is_empty());
        let mut back = right;
        back[0].1 = &["route"];
        assert!(differences(&promised, &arrows(&back))[0].contains("frame knows route"));
        let mut fewer = right;
        fewer[1].1 = &["frame"];
        assert!(differences(&promised, &arrows(&fewer))[0].contains("not in its Cargo.toml"));
        let added = [&right[..], &[("new", &[][..])]].concat();
        assert!(differences(&promised, &arrows(&added))[0].contains("crates/new has no row"));
        assert!(differences(&promised, &arrows(&right[1..]))[0].contains("crates/frame"));
    }
}
