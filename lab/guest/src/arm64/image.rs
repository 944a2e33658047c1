//! The image of an arm64 guest: a whole Debian system, the kernel's modules, the given files, and
//! the script that is the first process.

use super::Arm64Guest;
use super::console::SECTION;
use super::system::RootSystem;
use crate::devices::card_addresses;
use crate::error::Error;
use crate::fetch::RECORD;
use crate::image::{CpioArchive, FileBytes, LAB};
use std::fmt::Write as _;
use std::fs::{self, DirEntry};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The first process.
const INIT: &str = include_str!("init.sh");

/// Folders that are left out, with documentation and translations only: half of the system.
const SPARED: [&str; 6] = [
    "usr/share/doc",
    "usr/share/i18n",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "usr/lib/aarch64-linux-gnu/gconv",
];

/// Puts the image together and writes it.
pub(super) fn write(system: &RootSystem, guest: &Arm64Guest, path: &Path) -> Result<(), Error> {
    archive(system, guest)?.write_to(path)
}

fn archive(system: &RootSystem, guest: &Arm64Guest) -> Result<CpioArchive, Error> {
    let mut archive = CpioArchive::default();
    folder(&mut archive, system.root.root(), "")?;
    let lib = in_root(system, "lib")?;
    let modules = format!("{lib}/modules/{}", system.version);
    folder(&mut archive, &system.modules(), &modules)?;
    for name in ["dev", "proc", "sys", "run", "tmp", "root"] {
        archive.folder(name);
    }
    // The kernel opens the console before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.device("dev/null", 1, 3);
    let busybox = system.root.program("busybox");
    let busybox = busybox.ok_or_else(|| Error::Incomplete {
        what: "busybox",
        folder: system.root.root().to_path_buf(),
    })?;
    // At a path of its own: the first process depends on no link of the system.
    archive.file("busybox", FileBytes::File(busybox), true);
    let here = |text: String| FileBytes::Here(text.into_bytes());
    archive.file("init", here(INIT.to_owned()), true);
    archive.file(&format!("{LAB}/cards"), here(cards()), false);
    let script = format!(
        "section() {{ printf '\\n{SECTION}%s\\n' \"$1\"; }}\n{}",
        guest.script
    );
    archive.file(&format!("{LAB}/script"), here(script), false);
    for file in &guest.files {
        let name = format!("{LAB}/{}", file.name);
        if !file.path.is_file() {
            return Err(Error::NotAFile(file.path.clone()));
        }
        if archive.contains(&name) {
            return Err(Error::SameName(file.name.clone()));
        }
        archive.file(&name, FileBytes::File(file.path.clone()), true);
    }
    Ok(archive)
}

/// Returns the interfaces with the PCI addresses of their cards, one per line.
fn cards() -> String {
    let mut text = String::new();
    for (name, address) in card_addresses() {
        let _ = writeln!(text, "{name} {address}");
    }
    text
}

/// Returns the real path of a folder of the system, below its root: an image's names must not lead
/// through links.
fn in_root(system: &RootSystem, name: &'static str) -> Result<String, Error> {
    let root = system.root.root();
    let found = system.root.find(name);
    let found = found
        .as_deref()
        .and_then(|path| path.strip_prefix(root).ok());
    found
        .map(|path| path.to_string_lossy().into_owned())
        .ok_or_else(|| Error::Incomplete {
            what: name,
            folder: root.to_path_buf(),
        })
}

/// Adds the content of a folder unchanged.
fn folder(archive: &mut CpioArchive, from: &Path, to: &str) -> Result<(), Error> {
    let entries = fs::read_dir(from).map_err(Error::file("read", from))?;
    for entry in entries {
        let entry = entry.map_err(Error::file("read", from))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if to.is_empty() {
            name
        } else {
            format!("{to}/{name}")
        };
        if name != RECORD && !SPARED.contains(&name.as_str()) {
            add(archive, &entry, &name)?;
        }
    }
    Ok(())
}

fn add(archive: &mut CpioArchive, entry: &DirEntry, name: &str) -> Result<(), Error> {
    let path = entry.path();
    let meta = entry.metadata().map_err(Error::file("read", &path))?;
    if meta.is_dir() {
        archive.folder(name);
        return folder(archive, &path, name);
    }
    if meta.is_symlink() {
        let to = fs::read_link(&path).map_err(Error::file("read", &path))?;
        archive.link(name, &to.to_string_lossy());
    } else if meta.is_file() {
        let executable = meta.permissions().mode() & 0o111 != 0;
        archive.file(name, FileBytes::File(path), executable);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_whole_but_for_what_is_spared() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["usr/bin/tool", "usr/share/doc/tool/README", RECORD] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::create_dir(dir.path().join("empty")).unwrap();
        std::os::unix::fs::symlink("usr/bin", dir.path().join("bin")).unwrap();
        let mut archive = CpioArchive::default();
        folder(&mut archive, dir.path(), "").unwrap();
        for name in ["usr/bin/tool", "empty", "bin"] {
            assert!(archive.contains(name), "no {name}");
        }
        for name in ["usr/share/doc", "usr/share/doc/tool/README", RECORD] {
            assert!(!archive.contains(name), "{name}");
        }
    }

    #[test]
    fn the_cards_are_named_by_their_slots() {
        assert!(cards().starts_with("can0 0000:00:10.0\ncan1 0000:00:11.0\n"));
    }
}
