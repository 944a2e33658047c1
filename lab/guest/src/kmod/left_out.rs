//! The kernel's own drivers that Debian's kernels leave out: built from the sources of Debian's
//! package of the same kernel.

use super::ModulePlace;
use crate::architecture::Architecture;
use crate::error::{Error, tail};
use crate::fetch::{self, PackageTree, TreeRecipe};
use crate::kernels::Kernel;
use crate::own;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A driver.
struct DriverSource {
    name: &'static str,
    /// Its folder, or its file, in the kernel's sources.
    sources: &'static str,
    /// The modules that are built, in the order in which they must be loaded.
    modules: &'static [&'static str],
    /// The Kbuild file, instead of the driver's own Makefile, which depends on options of the
    /// kernel's configuration.
    kbuild: &'static str,
    /// Kernels of the lab that are too old for the driver.
    too_old: &'static [&'static str],
}

/// The controller CTU CAN FD, since 5.19.
const CTUCANFD: DriverSource = DriverSource {
    name: "ctucanfd",
    sources: "drivers/net/can/ctucanfd",
    modules: &["ctucanfd.ko", "ctucanfd_pci.ko"],
    kbuild: "obj-m := ctucanfd.o ctucanfd_pci.o\nctucanfd-y := ctucanfd_base.o\n",
    too_old: &["5.10"],
};

/// The virtio CAN device, since 7.2.
const VIRTIO_CAN: DriverSource = DriverSource {
    name: "virtio_can",
    sources: "drivers/net/can/virtio_can.c",
    modules: &["virtio_can.ko"],
    kbuild: "obj-m := virtio_can.o\n",
    too_old: &["5.10", "6.1", "6.12"],
};

/// Returns the modules of the driver of CTU CAN FD, in the order in which they must be loaded;
/// fetches and builds those that are missing.
pub(crate) fn ctucanfd(place: &ModulePlace<'_>) -> Result<Vec<PathBuf>, Error> {
    CTUCANFD.modules(place)
}

/// Returns whether the kernel can have the driver of CTU CAN FD.
pub(crate) fn has_ctucanfd(kernel: Kernel) -> bool {
    CTUCANFD.is_for(kernel)
}

/// Returns the module of the driver of the virtio CAN device.
pub(crate) fn virtio_can(place: &ModulePlace<'_>) -> Result<Vec<PathBuf>, Error> {
    VIRTIO_CAN.modules(place)
}

impl DriverSource {
    fn is_for(&self, kernel: Kernel) -> bool {
        !self.too_old.contains(&kernel.series())
    }

    fn modules(&self, place: &ModulePlace<'_>) -> Result<Vec<PathBuf>, Error> {
        let ModulePlace {
            cache,
            mirror,
            progress,
            kernel,
            target,
        } = *place;
        if !self.is_for(kernel) {
            return Err(Error::NoDriver {
                kernel,
                driver: self.name,
            });
        }
        let name = own::hash(&[target.version.as_bytes(), self.kbuild.as_bytes()]);
        let name = format!("kmod/{}-{kernel}-{name}", self.name);
        let made = cache.stage(&name, progress, |part| {
            let sources = self.sources(place)?;
            let tree = super::compiler(cache, mirror, progress, kernel)?;
            progress.stage(&format!("building {} for kernel {kernel}", self.name));
            let from = sources.root().join(self.name);
            for entry in fs::read_dir(&from).map_err(Error::file("read", &from))? {
                let path = entry.map_err(Error::file("read", &from))?.path();
                let kept = path.extension().is_some_and(|e| e == "c" || e == "h");
                if let (true, Some(name)) = (kept, path.file_name()) {
                    fs::copy(&path, part.join(name)).map_err(Error::file("copy", &path))?;
                }
            }
            let kbuild = part.join("Kbuild");
            fs::write(&kbuild, self.kbuild).map_err(Error::file("write", &kbuild))?;
            super::build(&tree, (part, ""), &target.version, self.name, self.modules)
        })?;
        Ok(self
            .modules
            .iter()
            .map(|module| made.join(module))
            .collect())
    }

    /// Returns the driver's sources, from the package with those of the kernel; the rest is not
    /// kept.
    fn sources(&self, place: &ModulePlace<'_>) -> Result<PackageTree, Error> {
        let ModulePlace {
            cache,
            mirror,
            progress,
            kernel,
            ..
        } = *place;
        let package = format!("linux-source-{}", kernel.series());
        let recipe = TreeRecipe {
            name: &format!("{}-{}-1", self.name, kernel.series()),
            what: &format!("the sources of kernel {}", kernel.series()),
            release: kernel.release(),
            architecture: Architecture::Amd64,
            packages: vec![package.clone()],
            // The dependencies are needed for building a kernel only.
            wanted: |name| name.starts_with("linux-source-"),
        };
        fetch::tree(cache, mirror, progress, &recipe, |tree| {
            progress.stage("choosing the driver's sources");
            let archive = tree.root().join(format!("usr/src/{package}.tar.xz"));
            unpack(
                &archive,
                &format!("{package}/{}", self.sources),
                tree.root(),
            )?;
            let from = tree.root().join(&package).join(self.sources);
            let to = tree.root().join(self.name);
            if from.is_dir() {
                fs::rename(&from, &to).map_err(Error::file("move", &from))?;
            } else {
                fs::create_dir(&to).map_err(Error::file("create the folder", &to))?;
                let to = to.join(format!("{}.c", self.name));
                fs::rename(&from, &to).map_err(Error::file("move", &from))?;
            }
            fs::remove_file(&archive).map_err(Error::file("remove", &archive))
        })
    }
}

/// Extracts one file or folder from an archive.
fn unpack(archive: &Path, what: &str, into: &Path) -> Result<(), Error> {
    let output = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(into)
        .arg(what)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::file("run", Path::new("tar")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Command {
        what: format!("unpacking {}", archive.display()),
        advice: "; tar, xz (package xz-utils) and some disk space are needed",
        tail: tail(&output.stderr, 5, 1000),
    })
}
