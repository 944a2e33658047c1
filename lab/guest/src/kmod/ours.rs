//! The modules of `kmod`.

use super::sources::SOURCES;
use super::{ModulePlace, build, compiler, sources};
use crate::error::Error;
use crate::own;
use std::path::PathBuf;

/// A folder of `kmod`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Module {
    /// `bitcan`: the buses of the timed bench.
    Bitcan,
    /// `bitcan_mdev`, which is built together with `bitcan`: its virtual functions as mediated
    /// devices. Not on 5.10 and 7.3-rt.
    BitcanMdev,
    /// `canchar`: the driver of CAN cards as character devices.
    Canchar,
    /// `nesting`: an addition that KVM needs on the processor that QEMU emulates. Only on the
    /// kernels of the bench vm: 5.10 has other tracepoints.
    Nesting,
    /// `shmcan`: the drivers of memory that machines share.
    Shmcan,
    /// `vfcan`: the driver of virtual functions of a controller that shares itself.
    Vfcan,
}

impl Module {
    /// All modules that exist for every kernel of the lab.
    pub const ALL: [Self; 4] = [Self::Bitcan, Self::Canchar, Self::Shmcan, Self::Vfcan];

    /// Returns the folder's name.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Bitcan | Self::BitcanMdev => "bitcan",
            Self::Canchar => "canchar",
            Self::Nesting => "nesting",
            Self::Shmcan => "shmcan",
            Self::Vfcan => "vfcan",
        }
    }

    /// Returns the files that are built, in the order in which they must be loaded.
    const fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Bitcan => &["bitcan.ko"],
            Self::BitcanMdev => &["bitcan_mdev.ko"],
            Self::Canchar => &["canchar.ko"],
            Self::Nesting => &["nesting.ko"],
            Self::Shmcan => &["shmcan.ko", "shmcan_uio.ko"],
            Self::Vfcan => &["vfcan.ko"],
        }
    }

    /// Returns the module's sources, and those of other folders that it includes.
    fn sources(self) -> impl Iterator<Item = &'static (&'static str, &'static [u8])> {
        SOURCES.iter().filter(move |(name, _)| {
            let folder = name.split_once('/').map(|(folder, _)| folder);
            let others = ["canchar", "vfcan"].map(Some);
            let is_bitcan = self.folder() == Self::Bitcan.folder();
            folder == Some(self.folder()) || (is_bitcan && others.contains(&folder))
        })
    }

    /// Returns the modules for this kernel; fetches and builds those that are missing.
    pub(crate) fn made(self, place: &ModulePlace<'_>) -> Result<Vec<PathBuf>, Error> {
        let ModulePlace {
            cache,
            mirror,
            progress,
            kernel,
            target,
        } = *place;
        let mut parts: Vec<&[u8]> = vec![target.version.as_bytes()];
        for (name, bytes) in self.sources() {
            parts.push(name.as_bytes());
            parts.push(bytes);
        }
        let folder = self.folder();
        let name = format!("kmod/{folder}-{kernel}-{}", own::hash(&parts));
        let made = cache.stage(&name, progress, |part| {
            let tree = compiler(cache, mirror, progress, kernel)?;
            progress.stage(&format!("building kmod/{folder} for kernel {kernel}"));
            sources::write(part, self.sources().map(|(name, bytes)| (*name, *bytes)))?;
            build(
                &tree,
                (part, folder),
                &target.version,
                &format!("kmod/{folder}"),
                self.modules(),
            )
        })?;
        let path = |module: &&str| made.join(folder).join(module);
        let paths: Vec<PathBuf> = self.modules().iter().map(path).collect();
        // Some kernels lack features that bitcan_mdev needs.
        if paths.iter().all(|path| path.is_file()) {
            return Ok(paths);
        }
        Err(Error::NoDriver {
            kernel,
            driver: self.modules().first().copied().unwrap_or(folder),
        })
    }
}
