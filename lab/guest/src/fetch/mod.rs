//! Downloads: trees of unpacked Debian packages, each a stage of the cache.

mod apt;
mod sources;
mod tree;

pub(crate) use apt::DebianPackage;
pub(crate) use tree::PackageTree;

use crate::architecture::Architecture;
use crate::cache::{self, CacheFolder};
use crate::error::{Error, tail};
use crate::kernels::DebianRelease;
use crate::progress::ProgressReport;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file in a tree that lists its packages.
pub(crate) const RECORD: &str = "packages.json";

/// The recipe of a tree.
pub(crate) struct TreeRecipe<'a> {
    /// The stage's name; changed when the recipe changes.
    pub(crate) name: &'a str,
    /// The description for progress messages.
    pub(crate) what: &'a str,
    /// The release that the packages are from.
    pub(crate) release: DebianRelease,
    /// The processor architecture.
    pub(crate) architecture: Architecture,
    /// Packages, fetched with all that they depend on.
    pub(crate) packages: Vec<String>,
    /// A filter for the packages that are wanted among those.
    pub(crate) wanted: fn(&str) -> bool,
}

/// Fetches and unpacks a tree, unless it is there. `finish` completes it before it counts as done.
pub(crate) fn tree(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    recipe: &TreeRecipe<'_>,
    finish: impl FnOnce(&PackageTree) -> Result<(), Error>,
) -> Result<PackageTree, Error> {
    let path = cache.stage(recipe.name, progress, |part| {
        let apt = apt::AptClient::new(cache, mirror, recipe.architecture, progress)?;
        progress.stage(&format!("resolving {}", recipe.what));
        let mut packages = apt.resolve(recipe.release, &recipe.packages)?;
        packages.retain(|package| (recipe.wanted)(&package.name));
        let debs = cache.path("debs").join(recipe.name.replace('/', "."));
        let size = packages.iter().fold(0, |sum, package| sum + package.size);
        let (count, megabytes) = (packages.len(), size as f64 / 1e6);
        progress.stage(&format!(
            "fetching {}: {count} packages, {megabytes:.0} MB",
            recipe.what
        ));
        let files = apt.download(recipe.release, &packages, &debs)?;
        progress.stage(&format!(
            "unpacking {}: {count} packages, {megabytes:.0} MB",
            recipe.what
        ));
        unpack(&files, part, progress)?;
        let record = part.join(RECORD);
        let json = serde_json::to_vec_pretty(&packages).unwrap_or_default();
        fs::write(&record, json).map_err(Error::file("write", &record))?;
        finish(&PackageTree::new(part.to_path_buf()))?;
        cache::remove(&debs)
    })?;
    Ok(PackageTree::new(path))
}

/// Returns the packages that a tree is made of.
pub(crate) fn packages(tree: &PackageTree) -> Result<Vec<DebianPackage>, Error> {
    let path = tree.root().join(RECORD);
    let text = fs::read(&path).map_err(Error::file("read", &path))?;
    serde_json::from_slice(&text).map_err(|error| Error::file("read", &path)(error.into()))
}

fn unpack(files: &[PathBuf], into: &Path, progress: &dyn ProgressReport) -> Result<(), Error> {
    // Debian 13's packages have everything in /usr and depend on these links, which are in its
    // base-files; but that package may be unpacked later. Older packages replace the links by
    // folders, which works too.
    for folder in ["bin", "sbin", "lib", "lib64"] {
        let usr = into.join("usr").join(folder);
        fs::create_dir_all(&usr).map_err(Error::file("create the folder", &usr))?;
        let link = into.join(folder);
        std::os::unix::fs::symlink(format!("usr/{folder}"), &link)
            .map_err(Error::file("create", &link))?;
    }
    for (done, file) in files.iter().enumerate() {
        progress.part(done as f64 / files.len() as f64);
        let output = Command::new("dpkg-deb")
            .arg("--extract")
            .arg(file)
            .arg(into)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| {
                apt::missing(
                    "dpkg-deb",
                    "to unpack packages",
                    "this needs a Debian or Ubuntu host, or a container of one",
                    source,
                )
            })?;
        if !output.status.success() {
            return Err(Error::Command {
                what: format!("unpacking {}", file.display()),
                advice: "; check the free disk space and run the same command to resume",
                tail: tail(&output.stderr, 5, 1000),
            });
        }
    }
    Ok(())
}
