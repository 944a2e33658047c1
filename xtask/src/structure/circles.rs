//! Imports between the files of a crate lead in one direction.
//!
//! The check reads the `use` declarations at the beginning of lines, those of tests left out, and
//! follows re-exports to the file that has the item. What a file imports from the files of its own
//! folder (`a.rs` from `a/b.rs`, `lib.rs` from all) is not counted: that is how a folder shows its
//! parts, and its parts use what they have in common.

use super::{files, judge};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Circles that exist: the folder of the crate, and a file of the circle. This list must only get
/// shorter.
const KNOWN: [(&str, &str); 15] = [
    ("baremetal", "machine::bench"),
    ("crates/cangate", "round_trips::party"),
    ("crates/config", "table"),
    ("crates/engine", "definition"),
    ("crates/gateway", "metrics::families"),
    ("crates/linux", "pci::card"),
    ("crates/offload", "kernel_path"),
    ("crates/port", "kind"),
    ("lab/cangate-lab", "commands::guests"),
    ("lab/experiment", "measure::beside"),
    ("lab/experiment", "under_test::files"),
    ("lab/guest", "inner::machine"),
    ("lab/tester", "end"),
    ("lab/tester", "syscalls::rings"),
    ("xtask", "package"),
];

/// The folders with crates.
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

/// A module, by its path from the root of its crate.
type ModulePath = Vec<String>;

/// The imports of a file.
#[derive(Default)]
struct FileImports {
    /// The path of each import, and the name that it has here.
    imports: Vec<(ModulePath, String)>,
}

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    let mut known: BTreeSet<_> = KNOWN.into_iter().collect();
    for folder in FOLDERS {
        let is_root = |path: &Path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        let roots = files(&workspace.root.join(folder), &is_root)?;
        let sources: BTreeSet<_> = roots.iter().filter_map(|root| root.parent()).collect();
        for source in sources {
            let modules = read(source)?;
            looked_at += modules.len();
            let shown = source.strip_prefix(&workspace.root).unwrap_or(source);
            let shown = shown.parent().unwrap_or(shown).display().to_string();
            for circle in circles(&modules) {
                let names: Vec<String> = circle.iter().map(|path| path.join("::")).collect();
                let is_known = |&(of, file): &(&str, &str)| {
                    of == shown && names.iter().any(|name| name == file)
                };
                match known.iter().copied().find(is_known) {
                    Some(found) => _ = known.remove(&found),
                    None => problems.push(format!(
                        "{shown}: files import each other in a circle: {}",
                        names.join(", ")
                    )),
                }
            }
        }
    }
    problems.extend(known.iter().map(|(of, file)| {
        format!("{of}: {file} is in no circle any more: remove it from the list in circles.rs")
    }));
    Ok(judge(looked_at, &problems))
}

/// Reads the files of a crate.
fn read(source: &Path) -> Result<BTreeMap<ModulePath, FileImports>> {
    let is_wanted = |path: &Path| path.extension().is_some_and(|e| e == "rs");
    let mut modules = BTreeMap::new();
    for file in files(source, &is_wanted)? {
        let inside = file
            .strip_prefix(source)
            .unwrap_or(&file)
            .with_extension("");
        let mut path: ModulePath = inside
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if path.iter().any(|part| part == "tests") {
            continue;
        }
        if path.last().is_some_and(|last| last == "mod")
            || path.len() == 1 && matches!(path[0].as_str(), "lib" | "main")
        {
            path.pop();
        }
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let entry: &mut FileImports = modules.entry(path).or_default();
        entry.imports.extend(imports(&text));
    }
    Ok(modules)
}

/// Returns the imports of a file.
fn imports(text: &str) -> Vec<(ModulePath, String)> {
    let mut all = Vec::new();
    let mut is_test = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((_, tree)) = line
            .split_once("use ")
            .filter(|(before, _)| before.is_empty() || before.starts_with("pub"))
        else {
            is_test = line == "#[cfg(test)]";
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.ends_with(';') {
            match lines.next() {
                Some(more) => tree.push_str(more.trim_start()),
                None => break,
            }
        }
        if !std::mem::take(&mut is_test) {
            expand(tree.trim_end_matches(';'), &[], &mut all);
        }
    }
    all
}

/// Expands a tree of imports: `a::{b, c as d}` is `a::b` and `a::c`, the latter with the name `d`.
fn expand(tree: &str, before: &[String], all: &mut Vec<(ModulePath, String)>) {
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => (path, Some(group.strip_suffix('}').unwrap_or(group))),
        None => (tree, None),
    };
    let (path, name) = match path.split_once(" as ") {
        Some((path, name)) => (path, Some(name)),
        None => (path, None),
    };
    let mut full = before.to_vec();
    let parts = path.split("::").map(str::trim);
    let is_first = before.is_empty();
    full.extend(
        parts
            .enumerate()
            .filter(|(at, part)| !part.is_empty() && (*part != "self" || is_first && *at == 0))
            .map(|(_, part)| part.to_owned()),
    );
    let Some(group) = group else {
        let name = name.or(full.last().map(String::as_str));
        let name = name.unwrap_or_default().trim().to_owned();
        all.push((full, name));
        return;
    };
    let mut depth = 0;
    let in_group = |letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    };
    for part in group.split(in_group).filter(|part| !part.trim().is_empty()) {
        expand(part.trim(), &full, all);
    }
}

/// Returns the file that has the item of an import of `here`; `None` for one of another crate.
fn resolve(
    modules: &BTreeMap<ModulePath, FileImports>,
    here: &[String],
    path: &[String],
    depth: usize,
) -> Option<ModulePath> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let (mut module, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), path.get(1..)?),
        "self" => (here.to_vec(), path.get(1..)?),
        "super" => (
            here.get(..here.len().checked_sub(supers)?)?.to_vec(),
            path.get(supers..)?,
        ),
        first => {
            let child = [here, &[first.to_owned()]].concat();
            if !modules.contains_key(&child) {
                return None;
            }
            (here.to_vec(), path)
        }
    };
    while let Some((first, more)) = rest.split_first() {
        let child = [module.as_slice(), std::slice::from_ref(first)].concat();
        if !modules.contains_key(&child) {
            break;
        }
        (module, rest) = (child, more);
    }
    // A name that the file itself imports is an item of another file.
    let Some((name, more)) = rest.split_first().filter(|_| depth < 10) else {
        return Some(module);
    };
    let imported = &modules.get(&module)?.imports;
    match imported.iter().find(|(_, as_name)| as_name == name) {
        Some((path, _)) => {
            let path = [path.as_slice(), more].concat();
            resolve(modules, &module, &path, depth + 1)
        }
        None => Some(module),
    }
}

/// Returns the sets of files that import each other.
fn circles(modules: &BTreeMap<ModulePath, FileImports>) -> BTreeSet<BTreeSet<&ModulePath>> {
    let needs: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = modules
        .iter()
        .map(|(here, file)| {
            let each = file.imports.iter();
            let found = each.filter_map(|(path, _)| resolve(modules, here, path, 0));
            (here, found.filter(|to| !to.starts_with(here)).collect())
        })
        .collect();
    let reached = |from: &ModulePath| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for to in needs.get(next).into_iter().flatten() {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        modules.keys().map(|path| (path, reached(path))).collect();
    let reaches = |from: &ModulePath, to: &ModulePath| reach[from].contains(to);
    let each = modules.keys().filter(|path| reaches(path, path));
    each.map(|path| {
        let members = modules.keys();
        members
            .filter(|other| reaches(path, other) && reaches(other, path))
            .collect()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ModulePath {
        text.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn trees_are_expanded() {
        let text = "use a::{\n    b,\n    c::{self, d as e},\n};\npub(super) use f::*;\n#[cfg(test)]\nuse g::h;\n    use i::j;\n";
        let expected = [
            ("a::b", "b"),
            ("a::c", "c"),
            ("a::c::d", "e"),
            ("f::*", "*"),
        ];
        let expected = expected.map(|(full, name)| (path(full), name.to_owned()));
        assert_eq!(imports(text), expected);
    }

    #[test]
    fn circles_lead_through_the_face_of_a_folder() {
        let crate_of = |files: &[(&str, &str)]| -> BTreeMap<_, _> {
            let module = |(name, text): &(&str, &str)| {
                let imports = imports(text);
                (path(name), FileImports { imports })
            };
            files.iter().map(module).collect()
        };
        let face = ("", "pub use a::One;\npub use b::{Two, c::Three};\n");
        let straight = crate_of(&[
            face,
            ("a", "use crate::Two;\n"),
            ("b", "mod c;\npub use c::Three;\n"),
            ("b::c", "use super::Two;\nuse std::fmt;\n"),
        ]);
        assert!(circles(&straight).is_empty());
        let round = crate_of(&[
            face,
            ("a", "use crate::Three;\n"),
            ("b", ""),
            ("b::c", "use super::super::One as Other;\n"),
        ]);
        let names: Vec<Vec<String>> = circles(&round)
            .into_iter()
            .map(|circle| circle.into_iter().map(|path| path.join("::")).collect())
            .collect();
        assert_eq!(names, [["a", "b::c"]]);
    }
}
