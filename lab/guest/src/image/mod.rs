//! The image that a guest boots: its programs, its kernel's modules, cangate, the given files,
//! and the shared libraries that all of those need. Nothing is mounted from elsewhere.

mod cpio;
mod elf;

use crate::error::Error;
use crate::fetch::PackageTree;
use crate::machine::GuestFile;
use crate::own::{self, GuestPrograms};
use crate::trees::KernelTree;
pub(crate) use cpio::{CpioArchive, FileBytes};
use elf::Libraries;
pub(crate) use elf::{InTree, add_closure};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the files from the host.
pub(crate) const LAB: &str = "lab";
/// The folder of shared libraries; all the names under which loaders search for it lead here.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Programs of the guest's tree; busybox provides the rest.
pub(crate) const PROGRAMS: &[&str] = &[
    "bash",
    "bridge",
    "chrt",
    "cyclictest",
    "ethtool",
    "hackbench",
    "ip",
    "kmod",
    "nsenter",
    "ping",
    "ss",
    "taskset",
    "tc",
    "tcpdump",
    "unshare",
    "wg",
    // can-utils
    "asc2log",
    "bcmserver",
    "canbusload",
    "can-calc-bit-timing",
    "candump",
    "canfdtest",
    "cangen",
    "cangw",
    "canlogserver",
    "canplayer",
    "cansend",
    "cansequence",
    "cansniffer",
    "isotpdump",
    "isotpperf",
    "isotprecv",
    "isotpsend",
    "isotpserver",
    "isotpsniffer",
    "isotptun",
    "jacd",
    "jspy",
    "jsr",
    "log2asc",
    "log2long",
    "slcan_attach",
    "slcand",
    "slcanpty",
    "testj1939",
];
const KMOD: &[&str] = &["depmod", "insmod", "lsmod", "modinfo", "modprobe", "rmmod"];

/// The parts of an image.
pub(crate) struct ImageParts<'a> {
    /// The guest's programs.
    pub(crate) guest: &'a PackageTree,
    /// The names of those to include; busybox provides the rest.
    pub(crate) programs: &'a [&'a str],
    /// The kernel whose modules are included.
    pub(crate) kernel: Option<&'a KernelTree>,
    /// The project's own modules, for `/lab/modules`.
    pub(crate) modules: &'a [PathBuf],
    /// The agent and the gateway under test.
    pub(crate) own: &'a GuestPrograms,
    /// The files from the host.
    pub(crate) files: &'a [GuestFile],
    /// Further files, with their paths in the image.
    pub(crate) others: &'a [(String, FileBytes)],
}

/// Puts an image together and writes it.
pub(crate) fn write(parts: &ImageParts<'_>, path: &Path) -> Result<(), Error> {
    archive(parts)?.write_to(path)
}

fn archive(parts: &ImageParts<'_>) -> Result<CpioArchive, Error> {
    let mut archive = CpioArchive::default();
    skeleton(&mut archive);
    let mut guest_libraries = Libraries::new();
    let mut loaders = Libraries::new();
    programs(&mut archive, parts, &mut guest_libraries, &mut loaders)?;
    modules(&mut archive, parts)?;
    for (name, bytes) in parts.others {
        archive.file(name, bytes.clone(), true);
    }

    let host = elf::OnHost::new();
    let mut host_libraries = Libraries::new();
    let own = [
        (own::AGENT, &parts.own.agent),
        (own::GATEWAY, &parts.own.gateway),
    ]
    .map(|(name, program)| GuestFile {
        path: program.path.clone(),
        name: name.to_owned(),
    });
    for file in own.iter().chain(parts.files) {
        host_file(&mut archive, file)?;
        elf::add_closure(&file.path, &host, &mut host_libraries, &mut loaders)?;
    }
    // There can be only one C library: a program's loader, libc and all libraries that depend on
    // libc's version must be from one build. A newer libc runs programs that were linked with an
    // older one, not the other way round. So the side with the newer C library takes precedence
    // wherever both have a library, and the other supplies the rest.
    let version = |libraries: &Libraries| {
        libraries
            .get("libc.so.6")
            .map_or(0, |path| elf::glibc_minor(path))
    };
    let host_wins = version(&host_libraries) > version(&guest_libraries);
    let (first, then) = if host_wins {
        (guest_libraries, host_libraries)
    } else {
        (host_libraries, guest_libraries)
    };
    for (name, path) in first.into_iter().chain(then) {
        archive.file(&format!("{LIBRARIES}/{name}"), FileBytes::File(path), true);
    }
    for (name, path) in loaders {
        let folder = Path::new(&name).parent().unwrap_or(Path::new("/"));
        let base = name.rsplit('/').next().unwrap_or_default();
        let ours = format!("{LIBRARIES}/{base}");
        if !archive.contains(&ours) {
            archive.file(&ours, FileBytes::File(path), true);
        }
        // The loader is in a folder that Linux systems usually do not have.
        if !["/lib64", "/lib", "/usr/lib64", "/usr/lib"]
            .iter()
            .any(|f| folder == Path::new(f))
        {
            archive.link(&name, &format!("/{ours}"));
        } else if folder.ends_with("lib") {
            archive.link(&format!("usr/lib/{base}"), &format!("/{ours}"));
        }
    }
    Ok(archive)
}

fn skeleton(archive: &mut CpioArchive) {
    for folder in [
        "dev", "proc", "sys", "run", "tmp", "root", "var/log", "usr/sbin", LIBRARIES, LAB,
    ] {
        archive.folder(folder);
    }
    for folder in ["bin", "sbin", "lib"] {
        archive.link(folder, &format!("usr/{folder}"));
    }
    archive.link("usr/lib64", "lib/x86_64-linux-gnu");
    archive.link("lib64", "usr/lib64");
    archive.link("var/run", "/run");
    archive.link("etc/mtab", "/proc/mounts");
    // The kernel opens the console before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.device("dev/null", 1, 3);
    let text = |text: &str| FileBytes::Here(text.as_bytes().to_vec());
    archive.file("etc/passwd", text("root:x:0:0:root:/root:/bin/sh\n"), false);
    archive.file("etc/group", text("root:x:0:\n"), false);
    archive.file("etc/hosts", text("127.0.0.1 localhost\n"), false);
    archive.file("etc/hostname", text("lab\n"), false);
}

fn programs(
    archive: &mut CpioArchive,
    parts: &ImageParts<'_>,
    libraries: &mut Libraries,
    loaders: &mut Libraries,
) -> Result<(), Error> {
    let guest = parts.guest;
    for name in parts.programs {
        // The set of programs in can-utils differs between versions.
        let Some(path) = guest.program(name) else {
            continue;
        };
        elf::add_closure(&path, &elf::InTree(guest), libraries, loaders)?;
        archive.file(&format!("usr/bin/{name}"), FileBytes::File(path), true);
    }
    for name in KMOD {
        archive.link(&format!("usr/bin/{name}"), "kmod");
    }
    if let Some(folder) = guest.find("etc/iproute2") {
        for entry in fs::read_dir(&folder)
            .map_err(Error::file("read", &folder))?
            .flatten()
        {
            if let (Some(name), true) = (entry.file_name().to_str(), entry.path().is_file()) {
                archive.file(
                    &format!("etc/iproute2/{name}"),
                    FileBytes::File(entry.path()),
                    false,
                );
            }
        }
    }
    // Not busybox's shell: that one prefers busybox's own `ip` and `ping` to those in the PATH.
    archive.link("usr/bin/sh", "bash");
    let busybox = guest.program("busybox").ok_or_else(|| Error::Incomplete {
        what: "busybox",
        folder: guest.root().to_path_buf(),
    })?;
    let output = Command::new(&busybox)
        .arg("--list")
        .output()
        .map_err(Error::file("run", &busybox))?;
    archive.file("usr/bin/busybox", FileBytes::File(busybox), true);
    for applet in String::from_utf8_lossy(&output.stdout).lines() {
        archive.link(&format!("usr/bin/{applet}"), "busybox");
    }
    Ok(())
}

fn modules(archive: &mut CpioArchive, parts: &ImageParts<'_>) -> Result<(), Error> {
    if let Some(kernel) = parts.kernel {
        let to = format!("usr/lib/modules/{}", kernel.version);
        folder(archive, &kernel.modules(), &to)?;
    }
    for path in parts.modules {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        archive.file(
            &format!("{LAB}/modules/{name}"),
            FileBytes::File(path.clone()),
            false,
        );
    }
    Ok(())
}

fn folder(archive: &mut CpioArchive, from: &Path, to: &str) -> Result<(), Error> {
    for entry in fs::read_dir(from).map_err(Error::file("read", from))? {
        let entry = entry.map_err(Error::file("read", from))?;
        let name = format!("{to}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(Error::file("read", from))?;
        if kind.is_dir() {
            folder(archive, &entry.path(), &name)?;
        } else if kind.is_file() {
            archive.file(&name, FileBytes::File(entry.path()), false);
        }
    }
    Ok(())
}

/// Adds a file of the host, without its debug information.
fn host_file(archive: &mut CpioArchive, file: &GuestFile) -> Result<(), Error> {
    let meta = fs::metadata(&file.path).map_err(Error::file("read", &file.path))?;
    if !meta.is_file() {
        return Err(Error::NotAFile(file.path.clone()));
    }
    let name = format!("{LAB}/{}", file.name);
    if archive.contains(&name) {
        return Err(Error::SameName(file.name.clone()));
    }
    let bytes = match without_tables(&file.path)? {
        Some(bytes) => FileBytes::Here(bytes),
        None => FileBytes::File(file.path.clone()),
    };
    // All files are executable: a test's program may come from an archive that lost its mode.
    archive.file(&name, bytes, true);
    Ok(())
}

/// Returns a program without the parts that only debuggers read. These are nine tenths of a debug
/// build and would have to be unpacked in the guest's memory at every boot. `None` if there is
/// nothing to remove, or if the file contains more than a linker puts there.
fn without_tables(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let mut file = File::open(path).map_err(Error::file("read", path))?;
    let mut head = [0; 4];
    if file.read_exact(&mut head).is_err() || !elf::is_elf(&head) {
        return Ok(None);
    }
    let mut bytes = fs::read(path).map_err(Error::file("read", path))?;
    let Some(keep) = loaded_part(&bytes) else {
        return Ok(None);
    };
    bytes.truncate(keep);
    // e_shoff, and e_shentsize, e_shnum, e_shstrndx: the section table has been removed.
    bytes[0x28..0x30].fill(0);
    bytes[0x3a..0x40].fill(0);
    Ok(Some(bytes))
}

/// Returns the number of bytes from the start of a 64-bit ELF file that its segments use. `None` if
/// something other than sections follows them, and for object files (such as kernel modules), which
/// have only sections.
fn loaded_part(bytes: &[u8]) -> Option<usize> {
    let elf = goblin::elf::Elf::parse(bytes).ok()?;
    if !elf.is_64 || elf.section_headers.is_empty() || elf.program_headers.is_empty() {
        return None;
    }
    let table = usize::try_from(elf.header.e_shoff).ok()?;
    let size = usize::from(elf.header.e_shentsize) * usize::from(elf.header.e_shnum);
    if table.checked_add(size)? != bytes.len() {
        return None;
    }
    let mut keep = 0x40.max(
        usize::try_from(elf.header.e_phoff)
            .ok()?
            .checked_add(usize::from(elf.header.e_phentsize) * usize::from(elf.header.e_phnum))?,
    );
    for segment in &elf.program_headers {
        let end = segment.p_offset.checked_add(segment.p_filesz)?;
        keep = keep.max(usize::try_from(end).ok()?);
    }
    (keep < table).then_some(keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_without_its_tables_still_runs() {
        let me = std::env::current_exe().unwrap();
        let bytes = without_tables(&me).unwrap().unwrap();
        let whole = fs::metadata(&me).unwrap().len();
        assert!((bytes.len() as u64) < whole, "{} of {whole}", bytes.len());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("me");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("a_program_without_its_tables_still_runs"));
    }

    #[test]
    fn what_is_appended_to_a_program_is_kept() {
        let me = std::env::current_exe().unwrap();
        let mut bytes = fs::read(me).unwrap();
        bytes.extend_from_slice(b"an archive, say");
        assert_eq!(loaded_part(&bytes), None);
        assert_eq!(loaded_part(b"\x7fELF"), None);
    }

    #[test]
    fn a_name_is_taken_once_and_a_folder_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "x").unwrap();
        let file = |path: &Path| GuestFile {
            path: path.to_path_buf(),
            name: "x".to_owned(),
        };
        let mut archive = CpioArchive::default();
        host_file(&mut archive, &file(&path)).unwrap();
        let error = host_file(&mut archive, &file(&path))
            .unwrap_err()
            .to_string();
        assert!(error.contains("PATH=NAME"), "{error}");
        let error = host_file(&mut archive, &file(dir.path()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is not a file"), "{error}");
    }
}
