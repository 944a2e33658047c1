//! QEMU's plugins: they are built once, with the compiler of the tree that builds modules.

use crate::cache::CacheFolder;
use crate::error::Error;
use crate::kernels::Kernel;
use crate::kmod::{self, sources};
use crate::own;
use crate::progress::ProgressReport;
use std::path::PathBuf;

/// The sources in the folder `plugin`, by their names.
const PLUGINS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/plugin.rs"));

/// The place of these sources in the folder of a build, which is as in the project, because they
/// include files of `kmod`.
const PLACE: &str = "lab/guest/";

/// A plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plugin {
    /// Accounts for instructions before halts, which makes guests in virtual time reproducible even
    /// on a busy host: see `plugin/halt.c`.
    Halt,
    /// The same, and makes the machine one of several in one virtual time: see
    /// `plugin/lockstep/main.c`.
    Lockstep,
}

impl Plugin {
    const fn name(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Lockstep => "lockstep",
        }
    }

    /// Returns whether a file is one of the plugin's sources, or is included by them.
    fn needs(self, name: &str) -> bool {
        let is_lockstep = self == Self::Lockstep;
        match name.strip_prefix("plugin/") {
            Some("alone.c") => !is_lockstep,
            Some(file) if file.starts_with("lockstep/") => is_lockstep,
            Some(_) => true,
            None => is_lockstep && name.starts_with("bitcan/core/"),
        }
    }

    /// Returns the sources, by their names in the folder of the build.
    fn sources(self) -> Vec<(String, &'static [u8])> {
        let own = PLUGINS.iter().map(|file| (PLACE, file));
        let core = sources::SOURCES.iter().map(|file| ("kmod/", file));
        own.chain(core)
            .filter(|(_, (name, _))| self.needs(name))
            .map(|(place, (name, bytes))| (format!("{place}{name}"), *bytes))
            .collect()
    }

    /// Returns the plugin; fetches the compiler and builds it if necessary.
    pub(crate) fn made(
        self,
        cache: &CacheFolder,
        mirror: Option<&str>,
        progress: &dyn ProgressReport,
        kernel: Kernel,
    ) -> Result<PathBuf, Error> {
        let sources = self.sources();
        let mut parts: Vec<&[u8]> = Vec::new();
        for (name, bytes) in &sources {
            parts.push(name.as_bytes());
            parts.push(bytes);
        }
        let what = format!("building QEMU's plugin {}", self.name());
        let object = format!("{}.so", self.name());
        let name = format!("plugin-{}-{}", self.name(), own::hash(&parts));
        let made = cache.stage(&name, progress, |part| {
            let tree = kmod::compiler(cache, mirror, progress, kernel)?;
            progress.stage(&what);
            let all = sources.iter().map(|(name, bytes)| (name.as_str(), *bytes));
            sources::write(part, all)?;
            // Hidden: a function of a plugin must not be taken for one of QEMU's of the same name.
            let options =
                "gcc -O2 -Wall -shared -fPIC -ffreestanding -fvisibility=hidden -nostdlib";
            let mut line: Vec<String> = options.split(' ').map(str::to_owned).collect();
            line.push(format!("-I/mnt/{PLACE}plugin/include"));
            line.extend(["-o".to_owned(), format!("/mnt/{object}")]);
            let files = sources.iter().filter(|(name, _)| name.ends_with(".c"));
            line.extend(files.map(|(name, _)| format!("/mnt/{name}")));
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            kmod::run_in(&tree, part, &line, &what, &[part.join(&object)])
        })?;
        Ok(made.join(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of a `#define`, without its remark and the suffix of its type.
    fn value(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| {
            line.strip_prefix("#define ")?
                .strip_prefix(name)?
                .strip_prefix(' ')
        })?;
        let word = line.split_whitespace().next()?.trim_end_matches('U');
        match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        }
    }

    #[test]
    fn the_numbers_of_can_are_linux_own() {
        let Ok(linux) = std::fs::read_to_string("/usr/include/linux/can.h") else {
            eprintln!("SKIPPED because this host has no headers of Linux");
            return;
        };
        let own = include_str!("../../plugin/include/linux/can.h");
        let names = own
            .lines()
            .filter_map(|line| line.strip_prefix("#define CAN"));
        let names: Vec<String> = names
            .filter_map(|rest| Some(format!("CAN{}", rest.split_once(' ')?.0)))
            .collect();
        assert_eq!(names.len(), 8, "{names:?}");
        for name in names {
            assert_eq!(value(own, &name), value(&linux, &name), "{name}");
            assert!(value(own, &name).is_some(), "{name}");
        }
    }

    #[test]
    fn each_plugin_has_its_own_entry_and_shares_the_accounting() {
        let names = |plugin: Plugin| -> Vec<String> {
            let all = plugin.sources().into_iter().map(|(name, _)| name);
            all.filter(|name| name.ends_with(".c")).collect()
        };
        assert_eq!(
            names(Plugin::Halt),
            ["lab/guest/plugin/alone.c", "lab/guest/plugin/halt.c"]
        );
        let lockstep = names(Plugin::Lockstep);
        for file in [
            "lab/guest/plugin/halt.c",
            "lab/guest/plugin/lockstep/main.c",
            "kmod/bitcan/core/core.c",
        ] {
            assert!(lockstep.contains(&file.to_owned()), "{lockstep:?}");
        }
        assert!(!lockstep.contains(&"lab/guest/plugin/alone.c".to_owned()));
    }
}
