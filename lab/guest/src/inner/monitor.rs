//! The programs that can be the monitor of an inner machine, and their command lines.

use super::machine::{InnerDevice, InnerError};
use super::parts::{FOLDER, IMAGE, VMLINUX};

/// An inner machine's memory, MiB.
pub(super) const MEMORY: u32 = 192;

/// The program that is an inner machine's monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MonitorKind {
    /// QEMU from Debian. Its generic vhost-user device has an interrupt line.
    #[default]
    Qemu,
    /// The project's own monitor (`cangate lab monitor`): virtio devices with MSI-X, and no others.
    Own,
}

/// The kernel command line of an inner machine, the same with every monitor.
pub(super) const LINE: &str = "console=ttyS0 quiet panic=-1 nokaslr norandmaps cryptomgr.notests net.ifnames=0 \
     rdinit=/lab/cangate-lab PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
     LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu cangate.inner=1";
/// The end of that line: the first process's arguments.
pub(super) const AGENT: &str = "-- agent";

/// Returns the command line of the project's own monitor.
pub(super) fn own(
    name: &str,
    socket: &str,
    console: &str,
    devices: &[InnerDevice],
) -> Result<Vec<String>, InnerError> {
    let mut all: Vec<String> = ["cangate-lab", "monitor"].map(str::to_owned).into();
    let mut add = |word: &str, value: &str| all.extend([word.to_owned(), value.to_owned()]);
    add("--kernel", &format!("/{FOLDER}/{VMLINUX}"));
    add("--image", &format!("/{FOLDER}/{IMAGE}"));
    add("--memory", &MEMORY.to_string());
    add("--console", console);
    add("--agent", socket);
    // There is neither ACPI nor a keyboard; the agent has the second serial line.
    let own = "acpi=off i8042.nokbd i8042.noaux cangate.port=/dev/ttyS1";
    add("--line", &format!("{LINE} {own} {AGENT}"));
    for device in devices {
        match device {
            InnerDevice::Virtio(path) => add("--virtio", &path.display().to_string()),
            InnerDevice::Shm(_) | InnerDevice::Pci(_) => {
                return Err(InnerError::Refused {
                    name: name.to_owned(),
                    message: "our own monitor has virtio devices only: other devices need QEMU"
                        .to_owned(),
                });
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_monitor_has_virtio_devices_only() {
        let line = |device: InnerDevice| own("vm", "/run/s", "/run/c", &[device]);
        let all = line(InnerDevice::Virtio("/run/a.sock".into())).unwrap();
        assert_eq!(all[..2], ["cangate-lab", "monitor"]);
        assert_eq!(all[all.len() - 2..], ["--virtio", "/run/a.sock"]);
        assert!(all.iter().any(|word| word.ends_with("-- agent")));
        for device in [
            InnerDevice::Shm("/run/b.sock".into()),
            InnerDevice::Pci("/sys/x".into()),
        ] {
            assert!(line(device).unwrap_err().to_string().contains("need QEMU"));
        }
    }
}
