//! The modules of `kmod`.

use super::sources::SOURCES;
use super::{Where, build, compiler, sources};
use crate::error::Error;
use crate::own;
use std::path::PathBuf;

/// A folder of `kmod`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Module {
    /// `bitcan`: the buses of the timed bench.
    Bitcan,
    /// `canchar`: the driver of CAN cards as character devices.
    Canchar,
    /// `nesting`: what KVM needs on the processor that QEMU emulates.
    Nesting,
    /// `shmcan`: the drivers of memory that machines share.
    Shmcan,
}

impl Module {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bitcan, Self::Canchar, Self::Nesting, Self::Shmcan];

    /// The folder's name.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Bitcan => "bitcan",
            Self::Canchar => "canchar",
            Self::Nesting => "nesting",
            Self::Shmcan => "shmcan",
        }
    }

    /// What is built, in the order in which it is to be loaded.
    const fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Bitcan => &["bitcan.ko"],
            Self::Canchar => &["canchar.ko"],
            Self::Nesting => &["nesting.ko"],
            Self::Shmcan => &["shmcan.ko", "shmcan_uio.ko"],
        }
    }

    /// Its sources, and those of other folders that it has in it.
    fn sources(self) -> impl Iterator<Item = &'static (&'static str, &'static [u8])> {
        SOURCES.iter().filter(move |(name, _)| {
            let folder = name.split_once('/').map(|(folder, _)| folder);
            let with_canchar = self == Self::Bitcan && folder == Some("canchar");
            folder == Some(self.folder()) || with_canchar
        })
    }

    /// The modules for this kernel; what is missing is fetched and built.
    pub(crate) fn made(self, place: &Where<'_>) -> Result<Vec<PathBuf>, Error> {
        let Where {
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
            sources::write(part, self.sources())?;
            build(
                &tree,
                (part, folder),
                &target.version,
                &format!("kmod/{folder}"),
                self.modules(),
            )
        })?;
        let path = |module: &&str| made.join(folder).join(module);
        Ok(self.modules().iter().map(path).collect())
    }
}
