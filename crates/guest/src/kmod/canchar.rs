//! `kmod/canchar`, the driver of CAN cards as character devices.

use super::sources::SOURCES;
use crate::cache::Cache;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::own;
use crate::progress::Progress;
use crate::trees::KernelTree;
use std::path::PathBuf;

/// The module for this kernel; what is missing is fetched and built.
pub(crate) fn canchar(
    cache: &Cache,
    mirror: Option<&str>,
    progress: &dyn Progress,
    kernel: Kernel,
    target: &KernelTree,
) -> Result<PathBuf, Error> {
    let own = || {
        SOURCES
            .iter()
            .filter(|(name, _)| name.starts_with("canchar/"))
    };
    let mut parts: Vec<&[u8]> = vec![target.version.as_bytes()];
    for (name, bytes) in own() {
        parts.push(name.as_bytes());
        parts.push(bytes);
    }
    let name = format!("kmod/canchar-{kernel}-{}", own::hash(&parts));
    let made = cache.stage(&name, progress, |part| {
        let tree = super::compiler(cache, mirror, progress, kernel)?;
        progress.stage(&format!("building kmod/canchar for kernel {kernel}"));
        super::sources::write(part, own())?;
        super::build(
            &tree,
            (part, "canchar"),
            &target.version,
            "kmod/canchar",
            &["canchar.ko"],
        )
    })?;
    Ok(made.join("canchar/canchar.ko"))
}
