//! `kmod/bitcan`, whose sources this program contains.

use crate::cache::Cache;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::own;
use crate::progress::Progress;
use crate::trees::KernelTree;
use std::fs;
use std::path::PathBuf;

/// The sources, by their names below `kmod`.
///
/// `bitcan` compiles the core of `canchar` into itself.
const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bitcan.rs"));

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
        for (name, bytes) in SOURCES {
            let path = part.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(Error::file("create the folder", folder))?;
            }
            fs::write(&path, bytes).map_err(Error::file("write", &path))?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_whole() {
        let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        for name in ["bitcan/Kbuild", "bitcan/bitcan.h", "bitcan/main.c"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        // Every object that Kbuild names has its source here.
        let kbuild = SOURCES
            .iter()
            .find(|(name, _)| *name == "bitcan/Kbuild")
            .unwrap()
            .1;
        let kbuild = String::from_utf8(kbuild.to_vec()).unwrap();
        let objects = kbuild
            .split_whitespace()
            .filter_map(|word| word.strip_suffix(".o"))
            .filter(|object| *object != "bitcan");
        for object in objects {
            let source = format!("bitcan/{object}.c");
            assert!(names.contains(&source.as_str()), "{source} in {names:?}");
        }
    }
}
