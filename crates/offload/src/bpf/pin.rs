//! Links that outlive their process: pinned in the BPF file system.

use super::Error;
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::tc::SchedClassifierLink;
use rustix::mount::{MountFlags, mount};
use std::io;
use std::path::{Path, PathBuf};

/// The mount point that systemd, tc and bpftool use, too.
const BPFFS: &str = "/sys/fs/bpf";
const FOLDER: &str = "/sys/fs/bpf/cangate";
/// `BPF_FS_MAGIC`
const MAGIC: u64 = 0xcafe_4a11;

/// Returns the path of the pin for the link at an interface's ingress. An interface's index is
/// valid only within its network namespace.
pub(super) fn path(interface: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("{}-{interface}", namespace()))
}

/// Returns the number of this network namespace.
fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |data| data.ino())
}

/// Returns the indexes of the interfaces that have a pinned link, in this network namespace.
pub(super) fn all() -> Vec<(u32, PathBuf)> {
    let prefix = format!("{}-", namespace());
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let index = name.strip_prefix(&prefix)?.parse().ok()?;
            Some((index, entry.path()))
        })
        .collect()
}

/// Opens a pinned link, and returns it with the number of its program.
pub(super) fn open(path: &Path) -> Option<(SchedClassifierLink, u32)> {
    let link = FdLink::from(PinnedLink::from_pin(path).ok()?);
    let program = link.info().ok()?.program_id();
    Some((link.try_into().ok()?, program))
}

/// Checks whether programs can be left in place ([`Offload::persist`](super::BpfOffload::persist)).
/// Makes sure that there is a BPF file system, and a folder in it.
///
/// # Errors
/// There is no BPF file system, and it cannot be mounted.
pub fn can_persist() -> Result<(), Error> {
    let is_bpffs =
        || rustix::fs::statfs(BPFFS).is_ok_and(|there| there.f_type as u64 & 0xFFFF_FFFF == MAGIC);
    if !is_bpffs() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("bpf", BPFFS, "bpf", flags, None).map_err(|errno| {
            wrong(
                BPFFS,
                "a table can only stay without its process where the BPF file system is mounted, \
                 and it cannot be: `mount -t bpf bpf /sys/fs/bpf` as root",
                errno.into(),
            )
        })?;
    }
    std::fs::create_dir_all(FOLDER)
        .map_err(|error| wrong(FOLDER, "this folder cannot be made", error))
}

/// Pins a link.
pub(super) fn put(link: FdLink, path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(wrong(
                path,
                "the old file at its place cannot be removed",
                error,
            ));
        }
        _ => {}
    }
    link.pin(path).map_err(|error| {
        let why = io::Error::other(super::error::whole(&error));
        wrong(path, "the link cannot be pinned", why)
    })?;
    Ok(())
}

fn wrong(path: impl Into<PathBuf>, what: &str, source: io::Error) -> Error {
    Error::Pin {
        path: path.into(),
        what: what.to_owned(),
        source,
    }
}
