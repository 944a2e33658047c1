//! A tree of unpacked packages: a root folder in which no program runs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The folders of a Debian tree's shared libraries.
pub(crate) const LIBRARIES: [&str; 5] = [
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib64",
    "lib64",
    "usr/lib",
];

/// A tree of unpacked packages.
#[derive(Clone, Debug)]
pub(crate) struct PackageTree {
    root: PathBuf,
}

impl PackageTree {
    /// Returns the tree in this folder.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Returns the tree's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file or folder that a path refers to inside the tree: links are followed as if
    /// the tree were the root, so that an absolute one stays inside.
    pub(crate) fn find(&self, path: &str) -> Option<PathBuf> {
        let mut todo: Vec<std::ffi::OsString> = parts(Path::new(path));
        let mut at = PathBuf::new();
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(&part);
            let real = self.root.join(&at);
            let meta = fs::symlink_metadata(&real).ok()?;
            if meta.is_symlink() {
                links += 1;
                if links > 40 {
                    return None;
                }
                let target = fs::read_link(&real).ok()?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::new();
                }
                todo.extend(parts(&target));
            }
        }
        Some(self.root.join(at))
    }

    /// Returns a program of the tree, by its name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        ["usr/bin", "usr/sbin", "bin", "sbin"]
            .iter()
            .find_map(|folder| self.find(&format!("{folder}/{name}")))
    }

    /// Returns a shared library of the tree, by its name.
    pub(crate) fn library(&self, name: &str) -> Option<PathBuf> {
        LIBRARIES
            .iter()
            .find_map(|folder| self.find(&format!("{folder}/{name}")))
    }

    /// Returns a command that runs a program of the tree on the host, with the tree's own loader
    /// and libraries.
    pub(crate) fn command(&self, name: &str) -> Option<Command> {
        let loader = self.library("ld-linux-x86-64.so.2")?;
        let program = self.program(name)?;
        let folders: Vec<PathBuf> = LIBRARIES
            .iter()
            .filter_map(|folder| self.find(folder))
            .collect();
        let folders: Vec<&OsStr> = folders.iter().map(|f| f.as_os_str()).collect();
        let mut command = Command::new(loader);
        command
            .arg("--library-path")
            .arg(folders.join(OsStr::new(":")))
            // Some programs are one file with many names.
            .args(["--argv0", name])
            .arg(program);
        Some(command)
    }
}

/// Returns the parts of a path, last first.
fn parts(path: &Path) -> Vec<std::ffi::OsString> {
    path.components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("usr/lib/deep")).unwrap();
        fs::write(root.join("usr/lib/deep/real"), "x").unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        symlink("/lib/deep/real", root.join("usr/lib/absolute")).unwrap();
        symlink("../../../../../usr/lib/deep/real", root.join("usr/lib/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        let tree = PackageTree::new(root.to_path_buf());
        let real = root.join("usr/lib/deep/real");
        assert_eq!(tree.find("lib/absolute"), Some(real.clone()));
        assert_eq!(tree.find("/lib/up"), Some(real));
        assert_eq!(tree.find("loop"), None);
        assert_eq!(tree.find("out/passwd"), None);
        assert_eq!(tree.find("lib/none"), None);
    }
}
