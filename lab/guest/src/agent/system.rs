//! The prerequisites of a Linux system: mounts, randomness, modules, the port to the host.

use super::error::AgentError;
use crate::program;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Mounts the file systems that every Linux system has.
pub(super) fn mount_all() -> Result<(), AgentError> {
    use rustix::mount::{MountFlags, mount};
    for (what, target) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        mount(what, target, what, MountFlags::empty(), None).map_err(|error| {
            AgentError::Mount {
                target,
                source: error.into(),
            }
        })?;
    }
    // Shared memory and the kernel's own file systems, for the programs that use them.
    for (what, target) in [
        ("tmpfs", "/dev/shm"),
        ("devpts", "/dev/pts"),
        ("debugfs", "/sys/kernel/debug"),
        ("bpf", "/sys/fs/bpf"),
    ] {
        let _ = fs::create_dir(target);
        let _ = mount(what, target, what, MountFlags::empty(), None);
    }
    for (link, to) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        let _ = std::os::unix::fs::symlink(to, link);
    }
    Ok(())
}

/// Waits until the kernel has its random numbers: the first process that asks for one triggers
/// their generation, which takes a second, from a timer's jitter. A program that measures must not
/// wait for that, nor must one whose priority is so high that the timer's interrupt is never
/// handled.
pub(super) fn gather_randomness() -> Result<(), AgentError> {
    let mut bytes = [0; 1];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map(drop)
        .map_err(|error| AgentError::Randomness(error.into()))
}

/// Opens the port to the host.
pub(super) fn port() -> Result<File, AgentError> {
    open_port("cangate", OpenOptions::new().write(true))
}

/// Opens the port from the host, through which a shell gets its input.
pub(super) fn input_port() -> Result<File, AgentError> {
    open_port("cangate-input", OpenOptions::new().read(true))
}

/// Opens the port of an inner machine's agent, to the outer guest and from it.
pub(super) fn port_both_ways() -> Result<File, AgentError> {
    open_port("cangate", OpenOptions::new().read(true).write(true))
}

/// Opens a serial line that carries bytes unchanged, in both directions.
pub(super) fn serial_line(path: &Path) -> Result<File, AgentError> {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let line = OpenOptions::new().read(true).write(true).open(path);
    let line = line.map_err(AgentError::file("open", path))?;
    let raw = tcgetattr(&line).and_then(|mut how| {
        how.make_raw();
        tcsetattr(&line, OptionalActions::Now, &how)
    });
    raw.map_err(|error| AgentError::file("set up", path)(error.into()))?;
    Ok(line)
}

/// Opens a port, by its name.
fn open_port(known_as: &str, options: &OpenOptions) -> Result<File, AgentError> {
    let path = wait_for("the port to the host", || {
        let entries = fs::read_dir("/sys/class/virtio-ports").ok()?;
        entries.flatten().find_map(|entry| {
            let name = fs::read_to_string(entry.path().join("name")).ok()?;
            (name.trim() == known_as).then(|| Path::new("/dev").join(entry.file_name()))
        })
    })?;
    let opened = wait_for("the port's device", || path.exists().then(|| path.clone()))?;
    options
        .open(&opened)
        .map_err(AgentError::file("open", &opened))
}

/// Waits up to ten seconds of the guest's time for something to appear.
pub(super) fn wait_for<T>(
    what: &str,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, AgentError> {
    let start = Instant::now();
    loop {
        if let Some(it) = look() {
            return Ok(it);
        }
        if start.elapsed() > Duration::from_secs(10) {
            return Err(AgentError::Absent(what.to_owned()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Loads modules with their dependencies.
pub(super) fn modprobe(names: &[&str]) -> Result<(), AgentError> {
    let mut line = vec!["modprobe", "-a"];
    line.extend(names);
    program::output(None, &line)?;
    Ok(())
}

/// Returns the interfaces of a PCI device with `count` of them, in the order in which its driver
/// made them.
pub(super) fn interfaces_at(address: &str, count: usize) -> Result<Vec<String>, AgentError> {
    let folder = PathBuf::from(format!("/sys/bus/pci/devices/{address}/net"));
    wait_for(
        &format!("{count} interfaces of PCI device {address}"),
        || {
            let mut found = Vec::new();
            for entry in fs::read_dir(&folder).ok()?.flatten() {
                let index = fs::read_to_string(entry.path().join("ifindex")).ok()?;
                let index: u32 = index.trim().parse().ok()?;
                found.push((index, entry.file_name().into_string().ok()?));
            }
            found.sort();
            let names: Vec<_> = found.into_iter().map(|(_, name)| name).collect();
            (names.len() >= count).then_some(names)
        },
    )
}

/// Returns the interface of a PCI device, by the device's address.
pub(super) fn interface_at(address: &str) -> Result<String, AgentError> {
    let folder = PathBuf::from(format!("/sys/bus/pci/devices/{address}/net"));
    wait_for(&format!("the interface of PCI device {address}"), || {
        let entry = fs::read_dir(&folder).ok()?.flatten().next()?;
        entry.file_name().into_string().ok()
    })
}
