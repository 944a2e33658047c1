//! The lab: the folder with the parts of guests, and the functions that set it up.

use crate::cache::CacheFolder;
use crate::error::Error;
use crate::fetch::{self, PackageTree};
use crate::inner::parts::{self, InnerFiles};
use crate::kernels::Kernel;
use crate::kmod;
use crate::machine::{BenchKind, GuestSpec};
use crate::own::GuestPrograms;
use crate::progress::ProgressReport;
use crate::qemu::Plugin;
use crate::trees::{self, BootableKernel, KernelTree};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The lab's folder, the mirror it fetches from, and the gateway under test.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    /// The cache folder; else `$CANGATE_LAB`, else `cangate/lab` in `$XDG_CACHE_HOME` or
    /// `~/.cache`.
    pub cache: Option<PathBuf>,
    /// The Debian mirror; else `$CANGATE_MIRROR`, else that of the host's own apt.
    pub mirror: Option<String>,
    /// The gateway under test: a program `cangate`; else the one in the folder of the program that
    /// runs, else the one in PATH.
    pub cangate: Option<PathBuf>,
}

/// The lab. Guests can be run from several threads at once.
#[derive(Debug)]
pub struct Lab {
    pub(crate) cache: CacheFolder,
    pub(crate) mirror: Option<String>,
    pub(crate) stopped: AtomicBool,
    gateway: Option<PathBuf>,
    programs: OnceLock<GuestPrograms>,
}

impl Lab {
    /// Opens the lab's folder; nothing is fetched yet.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, the environment does not specify one, the gateway that was named
    /// is not a file, or the host cannot run guests.
    pub fn open(locations: &Locations) -> Result<Self, Error> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err(Error::Host);
        }
        if let Some(path) = &locations.cangate
            && !path.is_file()
        {
            return Err(Error::NotTheGateway(path.clone()));
        }
        let mirror = locations.mirror.clone().or_else(|| {
            std::env::var("CANGATE_MIRROR")
                .ok()
                .filter(|uri| !uri.is_empty())
        });
        Ok(Self {
            cache: CacheFolder::open(locations.cache.as_deref())?,
            mirror,
            stopped: AtomicBool::new(false),
            gateway: locations.cangate.clone(),
            programs: OnceLock::new(),
        })
    }

    /// Ends all guests that run; afterwards, no guest is started.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Returns the cache folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.cache.path("")
    }

    /// Returns whether guests with this kernel can run without fetching anything.
    #[must_use]
    pub fn is_set_up(&self, kernel: Kernel) -> bool {
        trees::names(kernel)
            .iter()
            .all(|name| self.cache.finished(name).is_some())
    }

    /// Fetches what guests with these kernels need, unless it is there already.
    ///
    /// # Errors
    ///
    /// A tool is missing, a download fails, the disk is full; the next call goes on from there.
    pub fn setup(&self, kernels: &[Kernel], progress: &dyn ProgressReport) -> Result<(), Error> {
        self.qemu(progress)?;
        self.guest(progress)?;
        for kernel in kernels {
            self.kernel(*kernel, progress)?;
            self.halt(*kernel, progress)?;
        }
        Ok(())
    }

    /// Returns the programs that guests get; they are searched for and read once.
    pub(crate) fn programs(&self) -> Result<&GuestPrograms, Error> {
        if let Some(programs) = self.programs.get() {
            return Ok(programs);
        }
        let programs = GuestPrograms::find(self.gateway.as_deref())?;
        Ok(self.programs.get_or_init(|| programs))
    }

    pub(crate) fn qemu(&self, progress: &dyn ProgressReport) -> Result<PackageTree, Error> {
        trees::qemu(&self.cache, self.mirror.as_deref(), progress)
    }

    /// Returns the plugin that makes guests in virtual time reproducible on a busy host.
    pub(crate) fn halt(
        &self,
        kernel: Kernel,
        progress: &dyn ProgressReport,
    ) -> Result<PathBuf, Error> {
        self.plugin(Plugin::Halt, kernel, progress)
    }

    /// Returns one of QEMU's plugins, built with this kernel's compiler.
    pub(crate) fn plugin(
        &self,
        plugin: Plugin,
        kernel: Kernel,
        progress: &dyn ProgressReport,
    ) -> Result<PathBuf, Error> {
        plugin.made(&self.cache, self.mirror.as_deref(), progress, kernel)
    }

    pub(crate) fn qemu_arm(&self, progress: &dyn ProgressReport) -> Result<PackageTree, Error> {
        trees::qemu_arm(&self.cache, self.mirror.as_deref(), progress)
    }

    pub(crate) fn guest(&self, progress: &dyn ProgressReport) -> Result<PackageTree, Error> {
        trees::guest(&self.cache, self.mirror.as_deref(), progress)
    }

    pub(crate) fn kernel(
        &self,
        kernel: Kernel,
        progress: &dyn ProgressReport,
    ) -> Result<BootableKernel, Error> {
        trees::bootable(&self.cache, self.mirror.as_deref(), progress, kernel)
    }

    /// Returns the project's own kernel modules that a bench needs.
    pub(crate) fn modules(
        &self,
        kernel: Kernel,
        tree: &KernelTree,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
    ) -> Result<Vec<PathBuf>, Error> {
        let mirror = self.mirror.as_deref();
        let place = kmod::ModulePlace {
            cache: &self.cache,
            mirror,
            progress,
            kernel,
            target: tree,
        };
        let mut modules = match spec.bench {
            BenchKind::Timed => kmod::Module::Bitcan.made(&place)?,
            BenchKind::Vm => {
                let mut all = kmod::Module::Bitcan.made(&place)?;
                all.extend(kmod::Module::BitcanMdev.made(&place)?);
                all.extend(kmod::Module::Nesting.made(&place)?);
                all
            }
            BenchKind::Ctucan | BenchKind::Kvaser | BenchKind::Vcan | BenchKind::None => Vec::new(),
        };
        let has_fd_link = spec.linked.as_ref().is_some_and(|it| it.cards().fd > 0);
        if spec.bench == BenchKind::Ctucan || has_fd_link {
            modules.extend(kmod::ctucanfd(&place)?);
        }
        if !spec.virtio.is_empty() {
            modules.extend(kmod::virtio_can(&place)?);
        }
        if !spec.shm.is_empty() {
            modules.extend(kmod::Module::Shmcan.made(&place)?);
        }
        Ok(modules)
    }

    /// Returns the parts of inner machines.
    pub(crate) fn inner(
        &self,
        qemu: &PackageTree,
        guest: &PackageTree,
        progress: &dyn ProgressReport,
    ) -> Result<InnerFiles, Error> {
        let kernel = parts::KERNEL;
        let BootableKernel { tree, file } = self.kernel(kernel, progress)?;
        let place = kmod::ModulePlace {
            cache: &self.cache,
            mirror: self.mirror.as_deref(),
            progress,
            kernel,
            target: &tree,
        };
        let mut modules = kmod::virtio_can(&place)?;
        modules.extend(kmod::Module::Shmcan.made(&place)?);
        modules.extend(kmod::Module::Vfcan.made(&place)?);
        let from = parts::InnerSources {
            cache: &self.cache,
            programs: self.programs()?,
            progress,
            qemu,
            guest,
            kernel: &tree,
            vmlinux: &file,
            modules: &modules,
        };
        parts::inner(&from)
    }

    /// Returns a module of `kmod` for this kernel: the files, in the order in which they must be
    /// loaded.
    ///
    /// # Errors
    ///
    /// As [`Self::setup`], which is called if something is missing; or the module does not compile.
    pub fn module(
        &self,
        module: kmod::Module,
        kernel: Kernel,
        progress: &dyn ProgressReport,
    ) -> Result<Vec<PathBuf>, Error> {
        let tree = self.kernel(kernel, progress)?.tree;
        module.made(&kmod::ModulePlace {
            cache: &self.cache,
            mirror: self.mirror.as_deref(),
            progress,
            kernel,
            target: &tree,
        })
    }

    /// Returns the versions of the parts of a guest with this kernel, as the first entries of
    /// [`crate::GuestOutcome::versions`]: package by package, and as `agent` and `gateway` the
    /// hashes of the laboratory's program and of the gateway under test. Guests with the same
    /// versions give the same results.
    ///
    /// # Errors
    ///
    /// As [`Self::setup`], which is called if something is missing.
    pub fn versions(
        &self,
        kernel: Kernel,
        progress: &dyn ProgressReport,
    ) -> Result<Vec<(String, String)>, Error> {
        let qemu = self.qemu(progress)?;
        let guest = self.guest(progress)?;
        let kernel = self.kernel(kernel, progress)?;
        versions(self.programs()?, &qemu, &guest, &kernel.tree)
    }
}

/// Returns the versions of the parts of a guest that is made of these trees.
pub(crate) fn versions(
    programs: &GuestPrograms,
    qemu: &PackageTree,
    guest: &PackageTree,
    kernel: &KernelTree,
) -> Result<Vec<(String, String)>, Error> {
    let mut all = vec![
        ("agent".to_owned(), programs.agent.hash.clone()),
        ("gateway".to_owned(), programs.gateway.hash.clone()),
    ];
    let wanted = [
        (qemu, "qemu-system-x86"),
        (qemu, "seabios"),
        (guest, "can-utils"),
        (guest, "iproute2"),
        (guest, "rt-tests"),
        (guest, "libc6"),
    ];
    for (tree, name) in wanted {
        if let Some(package) = fetch::packages(tree)?.into_iter().find(|p| p.name == name) {
            all.push((package.name, package.version));
        }
    }
    for package in fetch::packages(&kernel.tree)? {
        all.push((package.name, package.version));
    }
    Ok(all)
}
