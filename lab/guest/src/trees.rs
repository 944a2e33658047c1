//! The trees that the lab works with: QEMU, the guest's programs, kernels.

use crate::architecture::Architecture;
use crate::cache::CacheFolder;
use crate::error::{Error, tail};
use crate::fetch::{self, PackageTree, TreeRecipe};
use crate::kernels::{DebianRelease, Kernel};
use crate::progress::ProgressReport;
use crate::vmlinux;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Kernel modules that guests use; they are kept together with their dependencies, others are not.
const MODULES: &[&str] = &[
    // CAN: the cards that QEMU emulates, virtual interfaces, protocols, the gateway.
    "kvaser_pci",
    "sja1000",
    "can-dev",
    "can",
    "can-raw",
    "can-bcm",
    "can-gw",
    "can-isotp",
    "can-j1939",
    "vcan",
    "vxcan",
    "slcan",
    // USB adapters, of which a program in the guest plays the part (USB/IP).
    "gs_usb",
    "vhci-hcd",
    // Ethernet load.
    "e1000",
    "veth",
    "dummy",
    "bridge",
    "af_packet_diag",
    // Networks that are not trusted; MACsec's cipher has modules of its own.
    "wireguard",
    "macsec",
    "gcm",
    "ghash-generic",
    "ctr",
    "seqiv",
    // tc and BPF on interfaces.
    "cls_bpf",
    "act_bpf",
    "act_mirred",
    "cls_u32",
    "cls_matchall",
    "cls_basic",
    "em_canid",
    "sch_ingress",
    "sch_prio",
    "sch_fq_codel",
    "sch_tbf",
    "act_gact",
    // Inner machines, and devices for them.
    "kvm-amd",
    "mdev",
    "vfio-pci",
    "vfio_iommu_type1",
    // A card's interrupts in user space.
    "uio",
    "uio_pci_generic",
    // Devices between the host and the guest.
    "virtio",
    "virtio_pci",
    "virtio_console",
    "qemu_fw_cfg",
];

/// The names of the stages. If a recipe changes, its name must change too.
const QEMU: &str = "qemu-11.1";
pub(crate) const QEMU_ARM: &str = "qemu-arm-11.1";
const GUEST: &str = "guest-3";

fn kernel_name(kernel: Kernel) -> String {
    format!("kernel-{kernel}-7")
}

/// Returns the stage with the unpacked kernel of that tree.
fn vmlinux_name(kernel: Kernel) -> String {
    format!("{}.vmlinux", kernel_name(kernel))
}

/// Returns the stages that a guest with this kernel needs.
pub(crate) fn names(kernel: Kernel) -> [String; 4] {
    [
        QEMU.to_owned(),
        GUEST.to_owned(),
        kernel_name(kernel),
        vmlinux_name(kernel),
    ]
}

/// A kernel, unpacked.
#[derive(Clone, Debug)]
pub(crate) struct KernelTree {
    /// The tree that it was unpacked to.
    pub(crate) tree: PackageTree,
    /// The kernel's own version: `6.1.0-50-rt-amd64`.
    pub(crate) version: String,
}

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub(crate) struct BootableKernel {
    /// The kernel's tree, with its modules.
    pub(crate) tree: KernelTree,
    /// The file that QEMU gets as the kernel.
    pub(crate) file: PathBuf,
}

impl KernelTree {
    fn open(tree: PackageTree, kernel: Kernel) -> Result<Self, Error> {
        let folder = tree
            .find("lib/modules")
            .unwrap_or_else(|| tree.root().join("lib/modules"));
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Error::file("read", &folder))? {
            let entry = entry.map_err(Error::file("read", &folder))?;
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
        let suffix = format!("-{}", kernel.flavour());
        match found.as_slice() {
            [version] if version.ends_with(&suffix) && version.starts_with(kernel.series()) => {
                Ok(Self {
                    version: version.clone(),
                    tree,
                })
            }
            _ => Err(Error::NoKernel {
                kernel,
                folder,
                found,
            }),
        }
    }

    /// Returns the kernel's image: since 7.x it is in the folder of the modules.
    fn vmlinuz(&self) -> PathBuf {
        let new = self.modules().join("vmlinuz");
        if new.is_file() {
            return new;
        }
        self.tree
            .root()
            .join(format!("boot/vmlinuz-{}", self.version))
    }

    /// Returns the file of a module that was kept, by the module's name.
    pub(crate) fn module(&self, name: &str) -> Option<PathBuf> {
        let folder = self.modules();
        let dep = fs::read_to_string(folder.join("modules.dep")).ok()?;
        let mut files = dep.lines().filter_map(|line| line.split_once(':'));
        let (file, _) = files.find(|(file, _)| same_module(file, name))?;
        Some(folder.join(file))
    }

    /// Returns the folder of the kernel's modules.
    pub(crate) fn modules(&self) -> PathBuf {
        modules_folder(&self.tree, &self.version)
    }
}

/// Returns the folder of the modules of a kernel of this version.
pub(crate) fn modules_folder(tree: &PackageTree, version: &str) -> PathBuf {
    let path = format!("lib/modules/{version}");
    tree.find(&path).unwrap_or_else(|| tree.root().join(path))
}

/// Returns QEMU, in the one version that the whole lab uses.
pub(crate) fn qemu(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
) -> Result<PackageTree, Error> {
    let packages = &["qemu-system-x86", "seabios"];
    qemu_with(cache, mirror, progress, (QEMU, "QEMU 11.1", packages))
}

/// Returns QEMU for microcontrollers.
pub(crate) fn qemu_arm(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
) -> Result<PackageTree, Error> {
    let packages = &["qemu-system-arm"];
    let name = "QEMU 11.1 for ARM";
    qemu_with(cache, mirror, progress, (QEMU_ARM, name, packages))
}

/// Fetches packages of QEMU; the first is that of the program.
fn qemu_with(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    (name, what, packages): (&'static str, &'static str, &[&str]),
) -> Result<PackageTree, Error> {
    let recipe = TreeRecipe {
        name,
        what,
        release: DebianRelease::TrixieBackports,
        architecture: Architecture::Amd64,
        packages: packages.iter().map(|&p| p.to_owned()).collect(),
        wanted: |_| true,
    };
    let program = packages.first().copied().unwrap_or_default();
    fetch::tree(cache, mirror, progress, &recipe, |tree| {
        let packages = fetch::packages(tree)?;
        let found = packages.iter().find(|p| p.name == program);
        match found {
            // Figures of virtual time differ between versions of QEMU.
            Some(package) if package.version.contains("11.1.") => Ok(()),
            _ => Err(Error::QemuVersion {
                wanted: "11.1",
                suite: recipe.release.target(),
                found: found.map_or("none", |p| p.version.as_str()).to_owned(),
            }),
        }
    })
}

/// Returns the programs of a guest.
pub(crate) fn guest(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
) -> Result<PackageTree, Error> {
    let packages = [
        "busybox-static",
        "bash",
        "can-utils",
        "ethtool",
        "iproute2",
        "iputils-ping",
        "kmod",
        "procps",
        "rt-tests",
        "tcpdump",
        "util-linux",
        "wireguard-tools",
    ];
    let recipe = TreeRecipe {
        name: GUEST,
        what: "the guest's programs",
        release: DebianRelease::Bookworm,
        architecture: Architecture::Amd64,
        packages: packages.map(str::to_owned).to_vec(),
        wanted: |_| true,
    };
    fetch::tree(cache, mirror, progress, &recipe, |_| Ok(()))
}

/// Returns a kernel with the modules that guests use.
pub(crate) fn kernel(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    kernel: Kernel,
) -> Result<KernelTree, Error> {
    let flavour = kernel.flavour();
    let recipe = TreeRecipe {
        name: &kernel_name(kernel),
        what: &format!("kernel {kernel}"),
        release: kernel.release(),
        architecture: Architecture::Amd64,
        packages: vec![format!("linux-image-{flavour}")],
        // The dependencies are needed for installation only.
        wanted: |name| {
            [
                "linux-image-",
                "linux-binary-",
                "linux-modules-",
                // The lists of built-in modules, since 7.x.
                "linux-base-",
            ]
            .iter()
            .any(|start| name.starts_with(start))
        },
    };
    let tree = fetch::tree(cache, mirror, progress, &recipe, |tree| {
        let made = KernelTree::open(tree.clone(), kernel)?;
        progress.stage(&format!("choosing modules of kernel {kernel}"));
        let programs = guest(cache, mirror, progress)?;
        choose_modules(&programs, tree, &made.version)
    })?;
    KernelTree::open(tree, kernel)
}

/// Returns a kernel that is ready to boot: unpacked once by the host, where that is possible.
pub(crate) fn bootable(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    wanted: Kernel,
) -> Result<BootableKernel, Error> {
    const NAME: &str = "vmlinux";
    let tree = kernel(cache, mirror, progress, wanted)?;
    let vmlinuz = tree.vmlinuz();
    let made = cache.stage(&vmlinux_name(wanted), progress, |part| {
        progress.stage(&format!("decompressing kernel {wanted}"));
        if let Err(why) = vmlinux::unpack(&vmlinuz, &part.join(NAME))? {
            progress.warning(&format!(
                "kernel {wanted} is not decompressed, and boots more slowly: {why}"
            ));
        }
        Ok(())
    })?;
    let file = Some(made.join(NAME)).filter(|file| file.is_file());
    Ok(BootableKernel {
        tree,
        file: file.unwrap_or(vmlinuz),
    })
}

/// Writes modules.dep and related files, as the installation of the package would.
fn depmod(programs: &PackageTree, tree: &PackageTree, version: &str) -> Result<(), Error> {
    let modules = modules_folder(tree, version);
    // depmod takes the folder above lib/modules/VERSION, which must not be a link.
    let base = modules
        .ancestors()
        .nth(3)
        .unwrap_or_else(|| tree.root())
        .to_path_buf();
    let mut command = programs
        .command("depmod")
        .ok_or_else(|| Error::Incomplete {
            what: "depmod",
            folder: programs.root().to_path_buf(),
        })?;
    let output = command
        .arg("-b")
        .arg(&base)
        .arg(version)
        .output()
        .map_err(Error::file("run depmod in", &base))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Command {
        what: format!("depmod in {}", base.display()),
        advice: "",
        tail: tail(&output.stderr, 10, 2000),
    })
}

/// Reduces a kernel's modules to those that guests use, and lists them as the installation of the
/// package would. depmod is one of the guest's `programs`, which run on the host; it reads modules
/// of any processor.
pub(crate) fn choose_modules(
    programs: &PackageTree,
    tree: &PackageTree,
    version: &str,
) -> Result<(), Error> {
    depmod(programs, tree, version)?;
    keep_modules(&modules_folder(tree, version))?;
    depmod(programs, tree, version)
}

/// Removes the modules that no guest needs: nine tenths of the package.
fn keep_modules(folder: &Path) -> Result<(), Error> {
    let dep = folder.join("modules.dep");
    let text = fs::read_to_string(&dep).map_err(Error::file("read", &dep))?;
    let keep = closure(&text, MODULES);
    prune(&folder.join("kernel"), folder, &keep)
}

/// Returns the files of these modules and of all their dependencies, from modules.dep, whose lines
/// name a module's file and then every file that it needs, directly or not.
fn closure(dep: &str, wanted: &[&str]) -> BTreeSet<PathBuf> {
    let mut keep = BTreeSet::new();
    for line in dep.lines() {
        let Some((file, needs)) = line.split_once(':') else {
            continue;
        };
        if wanted.iter().any(|name| same_module(file, name)) {
            keep.insert(PathBuf::from(file));
            keep.extend(needs.split_whitespace().map(PathBuf::from));
        }
    }
    keep
}

/// Returns whether a file is the module of this name; `-` and `_` are the same in names.
fn same_module(file: &str, name: &str) -> bool {
    let stem = file.rsplit('/').next().unwrap_or_default();
    let stem = stem.split(".ko").next().unwrap_or_default();
    stem.replace('-', "_") == name.replace('-', "_")
}

fn prune(folder: &Path, base: &Path, keep: &BTreeSet<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let path = entry.map_err(Error::file("read", folder))?.path();
        if path.is_dir() {
            prune(&path, base, keep)?;
            let _ = fs::remove_dir(&path); // only if it is empty
        } else if !path.strip_prefix(base).is_ok_and(|p| keep.contains(p)) {
            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_with_what_they_need() {
        let dep = "kernel/drivers/net/can/sja1000/kvaser_pci.ko: kernel/drivers/net/can/sja1000/sja1000.ko kernel/drivers/net/can/dev/can-dev.ko\n\
                   kernel/net/can/can-gw.ko.xz: kernel/net/can/can.ko.xz\n\
                   kernel/sound/x.ko:\n";
        let keep = closure(dep, &["kvaser-pci", "can_gw"]);
        let keep: Vec<&str> = keep.iter().filter_map(|p| p.to_str()).collect();
        assert_eq!(
            keep,
            [
                "kernel/drivers/net/can/dev/can-dev.ko",
                "kernel/drivers/net/can/sja1000/kvaser_pci.ko",
                "kernel/drivers/net/can/sja1000/sja1000.ko",
                "kernel/net/can/can-gw.ko.xz",
                "kernel/net/can/can.ko.xz",
            ]
        );
    }

    #[test]
    fn pruning_keeps_what_is_to_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["kernel/a/x.ko", "kernel/a/y.ko", "kernel/b/z.ko"] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let keep = BTreeSet::from([PathBuf::from("kernel/a/x.ko")]);
        prune(&dir.path().join("kernel"), dir.path(), &keep).unwrap();
        assert!(dir.path().join("kernel/a/x.ko").exists());
        assert!(!dir.path().join("kernel/a/y.ko").exists());
        assert!(!dir.path().join("kernel/b").exists());
    }
}
