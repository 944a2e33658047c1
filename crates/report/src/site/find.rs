//! The search for files of experiments in a folder.

use std::io;
use std::path::{Path, PathBuf};

/// A file about an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExperimentFile {
    /// Its path below the folder, with `/`, without its ending.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// Returns all files below `dir` whose names have this ending, in the order of their names. `leave`
/// (the folder of the site) is not searched, nor are links to folders, which could form cycles.
pub(super) fn find(
    dir: &Path,
    leave: &Path,
    ending: &str,
) -> Result<Vec<ExperimentFile>, (PathBuf, io::Error)> {
    let leave = leave.canonicalize().ok();
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let at = |source| (folder.clone(), source);
        for entry in std::fs::read_dir(&folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let path = entry.path();
            if entry.file_type().map_err(at)?.is_dir() {
                if leave.is_none() || path.canonicalize().ok() != leave {
                    folders.push(path);
                }
            } else if let Some(name) = name(dir, &path, ending)
                && path.is_file()
            {
                found.push(ExperimentFile { name, path });
            }
        }
    }
    found.sort();
    Ok(found)
}

fn name(dir: &Path, path: &Path, ending: &str) -> Option<String> {
    let below = path.strip_prefix(dir).unwrap_or(path);
    let parts: Vec<_> = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("/").strip_suffix(ending).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_in_order_and_without_the_site() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["b/deep", "site", "folder.parquet"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "z.parquet",
            "b/deep/x.y.parquet",
            "a.parquet",
            "site/old.parquet",
            "n.txt",
        ] {
            std::fs::write(at(file), "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), at("circle")).unwrap();
        let names = |leave: &str| -> Vec<String> {
            let found = find(dir.path(), &at(leave), ".parquet").unwrap();
            found.into_iter().map(|f| f.name).collect()
        };
        assert_eq!(names("site"), ["a", "b/deep/x.y", "z"]);
        assert_eq!(names("elsewhere"), ["a", "b/deep/x.y", "site/old", "z"]);
        assert!(find(&at("missing"), &at("site"), ".parquet").is_err());
    }
}
