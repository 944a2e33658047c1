//! The root folder of a small Debian system: for tests that need its init, its package manager and
//! its users.

use crate::architecture::Architecture;
use crate::error::{Error, tail};
use crate::fetch::{self, PackageTree, TreeRecipe};
use crate::kernels::DebianRelease;
use crate::lab::Lab;
use crate::own;
use crate::progress::ProgressReport;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The base packages that make a folder a system: the folders, users and groups that all packages
/// depend on, and dpkg.
const BASE: [&str; 10] = [
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    // Without ldconfig and diff, dpkg installs nothing.
    "diffutils",
    "dpkg",
    "grep",
    "libc-bin",
    "sed",
];

impl Lab {
    /// Returns the root folder of a Debian 12 system with these packages and all that they depend
    /// on. They are unpacked, not configured; dpkg counts them as installed, so that it installs
    /// further packages into the folder if their dependencies are met.
    ///
    /// # Errors
    ///
    /// A tool is missing, a package does not exist, a download fails.
    pub fn debian(
        &self,
        packages: &[&str],
        progress: &dyn ProgressReport,
    ) -> Result<PathBuf, Error> {
        let tree = self.system(Architecture::Amd64, packages, progress)?;
        Ok(tree.root().to_path_buf())
    }

    /// As [`Self::debian`], for one of several architectures.
    pub(crate) fn system(
        &self,
        architecture: Architecture,
        packages: &[&str],
        progress: &dyn ProgressReport,
    ) -> Result<PackageTree, Error> {
        let names = with_base(packages);
        let name = debian_name(architecture, &names);
        let recipe = TreeRecipe {
            name: &name,
            what: &format!("a Debian system ({})", architecture.debian()),
            release: DebianRelease::Bookworm,
            architecture,
            packages: names,
            wanted: |_| true,
        };
        let debs = self.cache.path("debs").join(&name);
        let mirror = self.mirror.as_deref();
        fetch::tree(&self.cache, mirror, progress, &recipe, |tree| {
            complete(tree.root(), &debs)
        })
    }

    /// Returns whether a system with these packages exists, so that nothing has to be fetched.
    pub(crate) fn has_system(&self, architecture: Architecture, packages: &[&str]) -> bool {
        let name = debian_name(architecture, &with_base(packages));
        self.cache.finished(&name).is_some()
    }
}

fn with_base(packages: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = BASE.iter().chain(packages).map(|&p| p.to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn debian_name(architecture: Architecture, packages: &[String]) -> String {
    let hash = own::hash(&[packages.join(" ").as_bytes()]);
    match architecture {
        Architecture::Amd64 => format!("debian-bookworm-{hash}-1"),
        Architecture::Arm64 => format!("debian-bookworm-arm64-{hash}-1"),
    }
}

/// Writes the files that an installation would have made: dpkg's list of packages, users and
/// groups.
fn complete(root: &Path, debs: &Path) -> Result<(), Error> {
    let mut files: Vec<PathBuf> = fs::read_dir(debs)
        .map_err(Error::file("read", debs))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    files.sort();
    let folder = root.join("var/lib/dpkg");
    for part in ["info", "updates", "triggers"] {
        let path = folder.join(part);
        fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
    }
    let write =
        |path: PathBuf, text: &str| fs::write(&path, text).map_err(Error::file("write", &path));
    let mut status = String::new();
    for file in &files {
        let fields = control(file)?;
        // The list of a package's files stays empty, because nothing reads it; without a list, dpkg
        // warns about each package.
        write(folder.join("info").join(list_name(&fields)), "")?;
        status.push_str(&fields);
        status.push_str("Status: install ok installed\n\n");
    }
    write(folder.join("status"), &status)?;
    write(folder.join("available"), "")?;
    for (name, master) in [("passwd", "passwd.master"), ("group", "group.master")] {
        let from = root.join("usr/share/base-passwd").join(master);
        let to = root.join("etc").join(name);
        fs::copy(&from, &to).map_err(Error::file("copy", &from))?;
    }
    write(root.join("etc/machine-id"), "")?;
    write(root.join("etc/hostname"), "lab\n")?;
    Ok(())
}

/// Returns dpkg's name for the list of a package's files.
fn list_name(fields: &str) -> String {
    let field = |name: &str| {
        let value = fields.lines().find_map(|line| line.strip_prefix(name));
        value.unwrap_or_default().trim()
    };
    let name = field("Package:");
    match field("Multi-Arch:") {
        "same" => format!("{name}:{}.list", field("Architecture:")),
        _ => format!("{name}.list"),
    }
}

/// Returns the control fields of a package.
fn control(file: &Path) -> Result<String, Error> {
    let output = Command::new("dpkg-deb")
        .arg("--field")
        .arg(file)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::file("run dpkg-deb on", file))?;
    if !output.status.success() {
        return Err(Error::Command {
            what: format!("reading the fields of {}", file.display()),
            advice: "",
            tail: tail(&output.stderr, 5, 1000),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_several_architectures_have_theirs_in_the_name() {
        let fields = "Package: libc6\nArchitecture: amd64\nMulti-Arch: same\n";
        assert_eq!(list_name(fields), "libc6:amd64.list");
        let fields = "Package: bash\nArchitecture: amd64\nMulti-Arch: foreign\n";
        assert_eq!(list_name(fields), "bash.list");
    }

    #[test]
    fn other_packages_are_another_system() {
        let names = |all: &[&str]| all.iter().map(|&p| p.to_owned()).collect::<Vec<_>>();
        let amd64 = |all: &[&str]| debian_name(Architecture::Amd64, &names(all));
        let one = amd64(&["a", "b"]);
        assert!(one.starts_with("debian-bookworm-"), "{one}");
        assert_ne!(one, amd64(&["a", "c"]));
        assert_ne!(one, debian_name(Architecture::Arm64, &names(&["a", "b"])));
    }
}
