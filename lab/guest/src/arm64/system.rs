//! The system that the guest boots: Debian's kernel for arm64 and a root folder of packages.

use crate::architecture::Architecture;
use crate::error::Error;
use crate::fetch::{self, PackageTree, TreeRecipe};
use crate::kernels::DebianRelease;
use crate::lab::Lab;
use crate::progress::ProgressReport;
use crate::trees;
use std::fs;
use std::path::PathBuf;

/// The kernel's stage in the cache. If the recipe changes, the name must change too.
const KERNEL: &str = "kernel-6.1-arm64-1";

/// The system's packages in addition to dpkg and its dependencies.
const PACKAGES: [&str; 4] = ["busybox-static", "can-utils", "iproute2", "kmod"];

/// A kernel and a root folder.
#[derive(Debug)]
pub(super) struct RootSystem {
    /// The root folder, without the kernel's modules.
    pub(super) root: PackageTree,
    kernel: PackageTree,
    /// The kernel's own version: `6.1.0-50-arm64`.
    pub(super) version: String,
}

/// Returns whether the whole system is in the cache, and QEMU too.
pub(super) fn is_there(lab: &Lab) -> bool {
    lab.has_system(Architecture::Arm64, &PACKAGES)
        && lab.cache.finished(KERNEL).is_some()
        && lab.cache.finished(trees::QEMU_ARM).is_some()
}

impl RootSystem {
    /// Fetches the parts that are missing.
    pub(super) fn get(lab: &Lab, progress: &dyn ProgressReport) -> Result<Self, Error> {
        let root = lab.system(Architecture::Arm64, &PACKAGES, progress)?;
        let kernel = kernel(lab, progress)?;
        let version = version(&kernel)?;
        Ok(Self {
            root,
            kernel,
            version,
        })
    }

    /// Returns the kernel's image for QEMU.
    pub(super) fn vmlinuz(&self) -> PathBuf {
        let name = format!("vmlinuz-{}", self.version);
        self.kernel.root().join("boot").join(name)
    }

    /// Returns the folder of the kernel's modules.
    pub(super) fn modules(&self) -> PathBuf {
        trees::modules_folder(&self.kernel, &self.version)
    }
}

fn kernel(lab: &Lab, progress: &dyn ProgressReport) -> Result<PackageTree, Error> {
    let recipe = TreeRecipe {
        name: KERNEL,
        what: "kernel 6.1 for arm64",
        release: DebianRelease::Bookworm,
        architecture: Architecture::Arm64,
        packages: vec!["linux-image-arm64".to_owned()],
        // The dependencies are needed for installation only.
        wanted: |name| name.starts_with("linux-image-"),
    };
    let mirror = lab.mirror.as_deref();
    fetch::tree(&lab.cache, mirror, progress, &recipe, |tree| {
        let version = version(tree)?;
        progress.stage("choosing modules of the arm64 kernel");
        trees::choose_modules(&lab.guest(progress)?, tree, &version)
    })
}

/// Returns the version of the kernel in a tree that has one.
fn version(tree: &PackageTree) -> Result<String, Error> {
    let incomplete = || Error::Incomplete {
        what: "one kernel",
        folder: tree.root().to_path_buf(),
    };
    let folder = tree.find("lib/modules").ok_or_else(incomplete)?;
    let entries = fs::read_dir(&folder).map_err(Error::file("read", &folder))?;
    let mut versions = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    match (versions.next(), versions.next()) {
        (Some(version), None) if version.ends_with("-arm64") => Ok(version),
        _ => Err(incomplete()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_one_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let tree = PackageTree::new(dir.path().to_path_buf());
        assert!(version(&tree).is_err());
        let folder = dir.path().join("lib/modules");
        fs::create_dir_all(folder.join("6.1.0-1-arm64")).unwrap();
        assert_eq!(version(&tree).unwrap(), "6.1.0-1-arm64");
        fs::create_dir(folder.join("6.1.0-2-arm64")).unwrap();
        assert!(version(&tree).is_err());
    }
}
