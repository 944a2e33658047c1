//! `kmod/bitcan` for a guest's kernel: built once for each version of its sources and of the
//! kernel, in a tree with that kernel's compiler and headers, of which nothing is installed.

use crate::cache::Cache;
use crate::error::{Error, tail};
use crate::fetch::{self, Recipe, Tree};
use crate::kernels::Kernel;
use crate::own;
use crate::progress::Progress;
use crate::trees::KernelTree;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sources, by their names below `kmod/bitcan`.
const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bitcan.rs"));

/// Runs as root, or as a user who is root in a namespace. The compiler needs /proc and /dev/null;
/// both are mounted in a mount namespace that ends with the build.
const BUILD: &str = r#"
set -e
tree=$1 work=$2 headers=$3
mount --rbind /dev "$tree/dev"
mount -t proc proc "$tree/proc"
mount --bind "$work" "$tree/mnt"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
exec chroot "$tree" make -C "/usr/src/linux-headers-$headers" M=/mnt CONFIG_DEBUG_INFO_BTF_MODULES= modules
"#;

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
        let tree = compiler(cache, mirror, progress, kernel)?;
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
        build(&tree, part, &target.version)
    })?;
    Ok(made.join("bitcan.ko"))
}

fn build(tree: &Tree, work: &Path, version: &str) -> Result<(), Error> {
    let headers = tree.root().join(format!("usr/src/linux-headers-{version}"));
    if !headers.is_dir() {
        return Err(Error::Headers {
            version: version.to_owned(),
            folder: tree.root().to_path_buf(),
        });
    }
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let output = command
        .args(["--mount", "--pid", "--fork", "sh", "-c", BUILD, "sh"])
        .arg(tree.root())
        .arg(work)
        .arg(version)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::file("run", Path::new("unshare")))?;
    let module = work.join("bitcan.ko");
    if output.status.success() && module.is_file() {
        return Ok(());
    }
    let mut text = output.stdout;
    text.extend_from_slice(&output.stderr);
    let advice = if text.starts_with(b"unshare:") {
        ": this host does not let an ordinary user create namespaces; run the same command once as root"
    } else {
        ""
    };
    Err(Error::Command {
        what: format!("building kmod/bitcan for {version}"),
        advice,
        tail: tail(&text, 30, 4000),
    })
}

/// A tree with the compiler and the headers of a release's kernels, both flavours.
fn compiler(
    cache: &Cache,
    mirror: Option<&str>,
    progress: &dyn Progress,
    kernel: Kernel,
) -> Result<Tree, Error> {
    let release = kernel.release();
    let packages = [
        "linux-headers-amd64",
        "linux-headers-rt-amd64",
        "gcc",
        "make",
        "mawk",
        "dash",
        "bash",
        "coreutils",
        "sed",
        "grep",
        "findutils",
        "diffutils",
        "debianutils",
    ];
    let recipe = Recipe {
        name: &format!("build-{}-1", release.target()),
        what: &format!("compiler and headers for kernel {}", kernel.series()),
        release,
        packages: packages.map(str::to_owned).to_vec(),
        // Headers of some kernels depend on the kernel.
        wanted: |name| !name.starts_with("linux-image-") && !name.starts_with("linux-modules-"),
    };
    fetch::tree(cache, mirror, progress, &recipe, |tree| {
        // What installing the packages would have made.
        for (link, to) in [
            ("usr/bin/awk", "mawk"),
            ("usr/bin/sh", "dash"),
            ("bin/sh", "dash"),
        ] {
            if tree.find(link).is_none() {
                let path = tree.root().join(link);
                std::os::unix::fs::symlink(to, &path).map_err(Error::file("create", &path))?;
            }
        }
        for folder in ["dev", "proc", "mnt", "tmp"] {
            let path = tree.root().join(folder);
            fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_whole() {
        let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        for name in ["Kbuild", "bitcan.h", "main.c"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        // Every object that Kbuild names has its source here.
        let kbuild = SOURCES
            .iter()
            .find(|(name, _)| *name == "Kbuild")
            .unwrap()
            .1;
        let kbuild = String::from_utf8(kbuild.to_vec()).unwrap();
        let objects = kbuild
            .split_whitespace()
            .filter_map(|word| word.strip_suffix(".o"))
            .filter(|object| *object != "bitcan");
        for object in objects {
            let source = format!("{object}.c");
            assert!(names.contains(&source.as_str()), "{source} in {names:?}");
        }
    }
}
