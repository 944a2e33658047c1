//! The sources of `kmod`'s modules, which this program contains.

use crate::error::Error;
use std::fs;
use std::path::Path;

/// The sources, by their names below `kmod`: `bitcan` compiles the core of `canchar` into itself,
/// and includes the registers of `vfcan`.
pub(crate) const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/kmod.rs"));

/// Writes some of them below a folder.
pub(crate) fn write<'a>(
    into: &Path,
    some: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), Error> {
    for (name, bytes) in some {
        let path = into.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file("create the folder", folder))?;
        }
        fs::write(&path, bytes).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_whole() {
        let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        for module in ["bitcan", "canchar", "nesting", "shmcan", "vfcan"] {
            for file in ["Kbuild", "main.c", &format!("{module}.h")] {
                let name = format!("{module}/{file}");
                assert!(names.contains(&name.as_str()), "{name} in {names:?}");
            }
            // Every object that Kbuild names has its source here.
            let kbuild = SOURCES
                .iter()
                .find(|(name, _)| *name == format!("{module}/Kbuild"))
                .unwrap()
                .1;
            let kbuild = String::from_utf8(kbuild.to_vec()).unwrap();
            let objects = kbuild
                .split_whitespace()
                .filter_map(|word| word.strip_suffix(".o"))
                // Modules that are linked from other objects.
                .filter(|object| *object != module && *object != "bitcan_mdev");
            for object in objects {
                let source = format!("{module}/{object}.c");
                assert!(names.contains(&source.as_str()), "{source} in {names:?}");
            }
        }
    }
}
