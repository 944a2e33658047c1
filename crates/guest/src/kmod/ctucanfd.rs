//! The kernel's own driver of the CTU CAN FD controller (`drivers/net/can/ctucanfd`), which Debian's
//! kernels leave out: built from the sources of Debian's package of the same kernel.

use crate::cache::Cache;
use crate::error::{Error, tail};
use crate::fetch::{self, Recipe, Tree};
use crate::kernels::Kernel;
use crate::own;
use crate::progress::Progress;
use crate::trees::KernelTree;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The driver's folder in the kernel's sources.
const FOLDER: &str = "drivers/net/can/ctucanfd";
/// What is built, in the order in which it is to be loaded.
const MODULES: [&str; 2] = ["ctucanfd.ko", "ctucanfd_pci.ko"];
/// In place of the driver's own Makefile, which asks for options of the kernel's configuration.
const KBUILD: &str = "obj-m := ctucanfd.o ctucanfd_pci.o\nctucanfd-y := ctucanfd_base.o\n";

/// The driver's modules for this kernel, in the order in which they are to be loaded; what is missing
/// is fetched and built.
pub(crate) fn ctucanfd(
    cache: &Cache,
    mirror: Option<&str>,
    progress: &dyn Progress,
    kernel: Kernel,
    target: &KernelTree,
) -> Result<Vec<PathBuf>, Error> {
    // The driver came with 5.19.
    if kernel.series() == "5.10" {
        return Err(Error::NoDriver {
            kernel,
            driver: "ctucanfd",
        });
    }
    let name = own::hash(&[target.version.as_bytes(), KBUILD.as_bytes()]);
    let name = format!("kmod/ctucanfd-{kernel}-{name}");
    let made = cache.stage(&name, progress, |part| {
        let sources = sources(cache, mirror, progress, kernel)?;
        let tree = super::compiler(cache, mirror, progress, kernel)?;
        progress.stage(&format!("building ctucanfd for kernel {kernel}"));
        let from = sources.root().join("ctucanfd");
        for entry in fs::read_dir(&from).map_err(Error::file("read", &from))? {
            let path = entry.map_err(Error::file("read", &from))?.path();
            let kept = path.extension().is_some_and(|e| e == "c" || e == "h");
            if let (true, Some(name)) = (kept, path.file_name()) {
                fs::copy(&path, part.join(name)).map_err(Error::file("copy", &path))?;
            }
        }
        let kbuild = part.join("Kbuild");
        fs::write(&kbuild, KBUILD).map_err(Error::file("write", &kbuild))?;
        super::build(&tree, (part, ""), &target.version, "ctucanfd", &MODULES)
    })?;
    Ok(MODULES.map(|module| made.join(module)).to_vec())
}

/// The driver's sources, from the package with those of the kernel; the rest is not kept.
fn sources(
    cache: &Cache,
    mirror: Option<&str>,
    progress: &dyn Progress,
    kernel: Kernel,
) -> Result<Tree, Error> {
    let package = format!("linux-source-{}", kernel.series());
    let recipe = Recipe {
        name: &format!("ctucanfd-{}-1", kernel.series()),
        what: &format!("the sources of kernel {}", kernel.series()),
        release: kernel.release(),
        packages: vec![package.clone()],
        // Its dependencies are for building a kernel.
        wanted: |name| name.starts_with("linux-source-"),
    };
    fetch::tree(cache, mirror, progress, &recipe, |tree| {
        progress.stage("choosing the driver's sources");
        let archive = tree.root().join(format!("usr/src/{package}.tar.xz"));
        unpack(&archive, &package, tree.root())?;
        let from = tree.root().join(&package).join(FOLDER);
        let to = tree.root().join("ctucanfd");
        fs::rename(&from, &to).map_err(Error::file("move", &from))?;
        fs::remove_file(&archive).map_err(Error::file("remove", &archive))
    })
}

/// Takes the driver's folder out of the archive.
fn unpack(archive: &Path, package: &str, into: &Path) -> Result<(), Error> {
    let output = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(into)
        .arg(format!("{package}/{FOLDER}"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::file("run", Path::new("tar")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Command {
        what: format!("unpacking {}", archive.display()),
        advice: "; tar and xz (package xz-utils) are needed, and some room",
        tail: tail(&output.stderr, 5, 1000),
    })
}
