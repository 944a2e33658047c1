//! The parts of a guest's image for inner machines: QEMU with its libraries, a kernel, and an image
//! for them.

use crate::cache::CacheFolder;
use crate::error::Error;
use crate::fetch::{PackageTree, RECORD};
use crate::image::{self, FileBytes, InTree, LAB};
use crate::kernels::Kernel;
use crate::own::{self, GuestPrograms};
use crate::progress::ProgressReport;
use crate::snapshot;
use crate::trees::KernelTree;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel of inner machines: the lab's first kernel with the driver of virtio CAN devices.
pub(crate) const KERNEL: Kernel = Kernel::V7_3;

/// The folder in the guest.
pub(super) const FOLDER: &str = "vm";
/// The program, in that folder; its libraries are in `lib` there.
pub(super) const QEMU: &str = "qemu-system-x86_64";
/// Its loader, among the libraries.
pub(super) const LOADER: &str = "ld-linux-x86-64.so.2";
/// The kernel of inner machines, and their image, in that folder.
pub(super) const VMLINUX: &str = "vmlinux";
pub(super) const IMAGE: &str = "image";

/// The list of modules in the image of inner machines, in the order in which they must be loaded.
pub(crate) const ORDER: &str = "lab/modules/order";

/// The files that QEMU loads for these machines: the firmware, and the code that starts a kernel by
/// its PVH entry.
const FIRMWARE: [&str; 4] = [
    "usr/share/seabios/bios-256k.bin",
    "usr/share/qemu/pvh.bin",
    "usr/share/qemu/linuxboot_dma.bin",
    "usr/share/qemu/kvmvapic.bin",
];

/// Programs of inner machines; busybox provides the rest.
const PROGRAMS: &[&str] = &["bash", "candump", "cangen", "cansend", "chrt", "ip", "kmod"];

/// Modules of the kernel that the project's modules need, in the order in which they must be
/// loaded.
const MODULES: [&str; 6] = ["can", "can-raw", "can-dev", "uio", "sja1000", "kvaser_pci"];

/// The sources of the parts of inner machines.
pub(crate) struct InnerSources<'a> {
    pub(crate) cache: &'a CacheFolder,
    pub(crate) programs: &'a GuestPrograms,
    pub(crate) progress: &'a dyn ProgressReport,
    pub(crate) qemu: &'a PackageTree,
    pub(crate) guest: &'a PackageTree,
    /// The kernel of the inner machines.
    pub(crate) kernel: &'a KernelTree,
    pub(crate) vmlinux: &'a Path,
    /// The project's modules for it, in the order in which they must be loaded.
    pub(crate) modules: &'a [PathBuf],
}

/// Additions to the guest's image for inner machines.
pub(crate) struct InnerFiles {
    /// A hash of all that they depend on.
    pub(crate) hash: String,
    /// The files, by their paths in the image.
    pub(crate) files: Vec<(String, FileBytes)>,
}

/// Puts the parts of inner machines together.
pub(crate) fn inner(from: &InnerSources<'_>) -> Result<InnerFiles, Error> {
    let trees = [from.guest, &from.kernel.tree];
    let own = snapshot::image_hash(from.programs, &trees, from.modules, &[], None)?;
    let record = from.qemu.root().join(RECORD);
    let record = fs::read(&record).map_err(Error::file("read", &record))?;
    let hash = own::hash(&[b"inner", own.as_bytes(), &record]);
    let image = snapshot::image(from.cache, &hash, from.progress, |path| image(from, path))?;

    let mut files = qemu(from.qemu)?;
    let mut put = |name: &str, path: &Path| {
        files.push((
            format!("{FOLDER}/{name}"),
            FileBytes::File(path.to_path_buf()),
        ));
    };
    put(VMLINUX, from.vmlinux);
    put(IMAGE, &image);
    Ok(InnerFiles { hash, files })
}

/// Returns QEMU, the libraries that it needs, and its firmware.
fn qemu(tree: &PackageTree) -> Result<Vec<(String, FileBytes)>, Error> {
    let missing = |what| Error::Incomplete {
        what,
        folder: tree.root().to_path_buf(),
    };
    let program = tree.program(QEMU).ok_or_else(|| missing(QEMU))?;
    let (mut libraries, mut loaders) = (BTreeMap::new(), BTreeMap::new());
    image::add_closure(&program, &InTree(tree), &mut libraries, &mut loaders)?;
    let loader = loaders.into_values().next();
    libraries.insert(LOADER.to_owned(), loader.ok_or_else(|| missing(LOADER))?);
    let mut files = vec![(format!("{FOLDER}/{QEMU}"), FileBytes::File(program))];
    for (name, path) in libraries {
        files.push((format!("{FOLDER}/lib/{name}"), FileBytes::File(path)));
    }
    for name in FIRMWARE {
        let path = tree.find(name).ok_or_else(|| missing(name))?;
        let base = name.rsplit('/').next().unwrap_or(name);
        files.push((format!("{FOLDER}/share/{base}"), FileBytes::File(path)));
    }
    Ok(files)
}

/// Writes the image that inner machines boot.
fn image(from: &InnerSources<'_>, path: &Path) -> Result<(), Error> {
    let mut others = Vec::new();
    let mut order = String::new();
    for name in MODULES {
        let missing = || Error::Incomplete {
            what: "a module of CAN",
            folder: from.kernel.modules(),
        };
        let path = from.kernel.module(name).ok_or_else(missing)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("{LAB}/modules/{file}");
        order.push_str(&format!("{file}\n"));
        others.push((place, FileBytes::File(path)));
    }
    for module in from.modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        order.push_str(&format!("{name}\n"));
    }
    others.push((ORDER.to_owned(), FileBytes::Here(order.into_bytes())));
    let parts = image::ImageParts {
        guest: from.guest,
        programs: PROGRAMS,
        kernel: None,
        modules: from.modules,
        own: from.programs,
        files: &[],
        others: &others,
    };
    image::write(&parts, path)
}
