//! The plugin that makes guests in virtual time reproducible even on a busy host.

use crate::cache::CacheFolder;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::kmod;
use crate::own;
use crate::progress::ProgressReport;
use std::fs;
use std::path::PathBuf;

/// The plugin's source, which describes its purpose.
const SOURCE: &str = include_str!("../../plugin/halt.c");

/// Returns the plugin, built once with the compiler of the tree that builds modules for this
/// kernel.
pub(crate) fn plugin(
    cache: &CacheFolder,
    mirror: Option<&str>,
    progress: &dyn ProgressReport,
    kernel: Kernel,
) -> Result<PathBuf, Error> {
    let name = format!("plugin-halt-{}", own::hash(&[SOURCE.as_bytes()]));
    let made = cache.stage(&name, progress, |part| {
        let tree = kmod::compiler(cache, mirror, progress, kernel)?;
        progress.stage("building the plugin for halts");
        let source = part.join("halt.c");
        fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
        let line = [
            "gcc",
            "-O2",
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-o",
            "/mnt/halt.so",
            "/mnt/halt.c",
        ];
        let made = [part.join("halt.so")];
        kmod::run_in(&tree, part, &line, "building the plugin for halts", &made)
    })?;
    Ok(made.join("halt.so"))
}
