//! `kmod/bitcan`, the buses of the timed bench.

use super::sources::SOURCES;
use crate::cache::Cache;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::own;
use crate::progress::Progress;
use crate::trees::KernelTree;
use std::path::PathBuf;

/// The module for this kernel; what is missing is fetched and built.
pub(crate) fn bitcan(
    cache: &Cache,
    mirror: Option<&str>,
    progress: &dyn Progress,
    kernel: Kernel,
    target: &KernelTree,
) -> Result<PathBuf, Error> {
    let mut parts: Vec<&[u8]> = vec![target.version.as_bytes()];
    for (name, bytes) in SOURCES {
        parts.push(name.as_bytes());
        parts.push(bytes);
    }
    let name = format!("kmod/{kernel}-{}", own::hash(&parts));
    let made = cache.stage(&name, progress, |part| {
        let tree = super::compiler(cache, mirror, progress, kernel)?;
        progress.stage(&format!(
            "building kmod/bitcan for kernel {kernel}: {} source files",
            SOURCES.len()
        ));
        super::sources::write(part, SOURCES.iter())?;
        super::build(
            &tree,
            (part, "bitcan"),
            &target.version,
            "kmod/bitcan",
            &["bitcan.ko"],
        )
    })?;
    Ok(made.join("bitcan/bitcan.ko"))
}
