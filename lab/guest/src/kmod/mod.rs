//! Modules for a guest's kernel that Debian does not build: each is built once for each version of
//! its sources and of the kernel, in a tree with that kernel's compiler and headers. Nothing of it
//! is installed.

mod left_out;
mod ours;
pub(crate) mod sources;

pub(crate) use left_out::{ctucanfd, has_ctucanfd, virtio_can};
pub use ours::Module;

use crate::architecture::Architecture;
use crate::cache::CacheFolder;
use crate::error::{Error, tail};
use crate::fetch::{self, PackageTree, TreeRecipe};
use crate::kernels::Kernel;
use crate::progress::ProgressReport;
use crate::trees::KernelTree;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment for building a module.
pub(crate) struct ModulePlace<'a> {
    pub(crate) cache: &'a CacheFolder,
    pub(crate) mirror: Option<&'a str>,
    pub(crate) progress: &'a dyn ProgressReport,
    pub(crate) kernel: Kernel,
    pub(crate) target: &'a KernelTree,
}

/// The build script. It runs as root, or as a user who is root in a namespace. The compiler needs
/// /proc and /dev/null; both are mounted in a mount namespace that ends with the build.
const BUILD: &str = r#"
set -e
tree=$1 work=$2
shift 2
mount --rbind /dev "$tree/dev"
mount -t proc proc "$tree/proc"
mount --bind "$work" "$tree/mnt"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
exec chroot "$tree" "$@"
"#;

/// Builds the targets of the Kbuild file in a folder of `work`; `modules` are the files that must
/// exist afterwards.
fn build(
    tree: &PackageTree,
    (work, folder): (&Path, &str),
    version: &str,
    what: &str,
    modules: &[&str],
) -> Result<(), Error> {
    let headers = tree.root().join(format!("usr/src/linux-headers-{version}"));
    if !headers.is_dir() {
        return Err(Error::Headers {
            version: version.to_owned(),
            folder: tree.root().to_path_buf(),
        });
    }
    let sources = match folder {
        "" => "M=/mnt".to_owned(),
        folder => format!("M=/mnt/{folder}"),
    };
    let line = [
        "make",
        "-C",
        &format!("/usr/src/linux-headers-{version}"),
        &sources,
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
        "modules",
    ];
    let made: Vec<_> = modules
        .iter()
        .map(|module| work.join(folder).join(module))
        .collect();
    run_in(
        tree,
        work,
        &line,
        &format!("building {what} for {version}"),
        &made,
    )
}

/// Runs a command in a tree; `work` is its folder /mnt. `made` are the files that must exist
/// afterwards.
pub(crate) fn run_in(
    tree: &PackageTree,
    work: &Path,
    line: &[&str],
    what: &str,
    made: &[PathBuf],
) -> Result<(), Error> {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let output = command
        .args(["--mount", "--pid", "--fork", "sh", "-c", BUILD, "sh"])
        .arg(tree.root())
        .arg(work)
        .args(line)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::file("run", Path::new("unshare")))?;
    if output.status.success() && made.iter().all(|file| file.is_file()) {
        return Ok(());
    }
    let mut text = output.stdout;
    text.extend_from_slice(&output.stderr);
    let advice = if text.starts_with(b"unshare:") {
        ": this host does not let an ordinary user create namespaces; run the same command once as root"
    } else {
        ""
    };
    Err(Error::Command {
        what: what.to_owned(),
        advice,
        tail: tail(&text, 30, 4000),
    })
}

/// Returns a tree with the compiler and the headers of a release's kernels, both flavours.
pub(crate) fn compiler(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    kernel: Kernel,
) -> Result<PackageTree, Error> {
    let release = kernel.release();
    let packages = [
        "linux-headers-amd64",
        "linux-headers-rt-amd64",
        "gcc",
        "make",
        "mawk",
        "dash",
        "bash",
        "coreutils",
        "sed",
        "grep",
        "findutils",
        "diffutils",
        "debianutils",
    ];
    let recipe = TreeRecipe {
        name: &format!("build-{}-1", release.target()),
        what: &format!("compiler and headers for kernel {}", kernel.series()),
        release,
        architecture: Architecture::Amd64,
        packages: packages.map(str::to_owned).to_vec(),
        // Headers of some kernels depend on the kernel.
        wanted: |name| !name.starts_with("linux-image-") && !name.starts_with("linux-modules-"),
    };
    fetch::tree(cache, mirror, progress, &recipe, |tree| {
        // Links that the installation of the packages would have made.
        for (link, to) in [
            ("usr/bin/awk", "mawk"),
            ("usr/bin/sh", "dash"),
            ("bin/sh", "dash"),
        ] {
            if tree.find(link).is_none() {
                let path = tree.root().join(link);
                std::os::unix::fs::symlink(to, &path).map_err(Error::file("create", &path))?;
            }
        }
        for folder in ["dev", "proc", "mnt", "tmp"] {
            let path = tree.root().join(folder);
            fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
        }
        Ok(())
    })
}
