//! `kind = "shm"`: memory that is shared with another machine or process.

use super::halves::halves;
use super::pci::ByPci;
use super::socket::BySocket;
use crate::kind::{ExclusiveResource, FramePassage, PortSettings, port_kind};
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostics, TomlTable, read};
use frame::{Kind, Nanos};
use std::path::PathBuf;

port_kind! {
    /// The kind of ports in shared memory.
    ShmPorts = "shm", ShmKeys::key_specs(), |_, table, found| ShmSettings::parse(table, found);
}

/// Minimum of `poll`, the time between two looks, ns.
const LEAST_POLL: Nanos = 1_000;

config::settings! {
    /// The keys of a port in shared memory.
    struct ShmKeys {
        /// On the host: the socket at which `cangate shm` serves the memory. The port tries to
        /// connect until it succeeds, so the programs can start in any order.
        socket: Option<String> = None => read::text(), value "path",
            not "path" "server" "chardev";
        /// Inside a virtual machine: the address of the device `ivshmem-doorbell` (`lspci -D -d
        /// 1af4:1110`). The port takes the device from its driver.
        device: Option<String> = None => read::text(), value "PCI address",
            not "pci" "address" "card";
        /// With `device`: the interval at which the port looks for frames. Without it, the doorbell
        /// wakes the port, which needs the module `shmcan_uio`.
        poll: Option<Nanos> = None => read::duration(), value "duration, from `\"1us\"`",
            not "interval" "every" "period";
    }
}

/// The way in which a side gets its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttachMode {
    /// Between processes: `cangate shm` serves the memory at this socket.
    Socket(PathBuf),
    /// In a virtual machine: the PCI device `ivshmem-doorbell` with this address.
    Device {
        /// Address of the device, such as `0000:00:05.0`.
        address: String,
        /// Interval at which the port looks for frames, ns; `None`: the doorbell reports them, by
        /// the kernel's module `shmcan_uio`.
        poll: Option<Nanos>,
    },
}

/// The settings of a port in shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShmSettings {
    /// The way in which it gets its memory.
    pub attach: AttachMode,
}

impl ShmSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = ShmKeys::read(table, found);
        if keys.poll.is_some_and(|every| every < LEAST_POLL) {
            let hint = "use at least 1us: shorter intervals have no advantage";
            table.wrong("poll", "this interval is too short", hint, found);
        }
        if keys.socket.is_some() && keys.device.is_some() {
            let message = "`socket` is for processes and `device` for virtual machines: leave one \
                           of them out";
            table.wrong("device", message, "leave one of them out", found);
        } else if keys.socket.is_some() && table.has("poll") {
            let hint = "leave it out: the doorbell wakes a process";
            table.wrong("poll", "`poll` is for a `device`", hint, found);
        } else if !table.has("socket") && !table.has("device") && !table.is_misnamed("device") {
            let hint = "add `socket = \"/run/cangate/a.shm\"`, at which `cangate shm` serves the memory; in a \
                        virtual machine `device = \"0000:00:05.0\"`";
            table.missing("socket", hint, found);
        }
        let attach = match (keys.socket, keys.device) {
            (None, Some(address)) => AttachMode::Device {
                address,
                poll: keys.poll,
            },
            (socket, _) => AttachMode::Socket(PathBuf::from(socket.unwrap_or_default())),
        };
        Self { attach }
    }
}

impl PortSettings for ShmSettings {
    fn passes(&self, kind: Kind) -> FramePassage {
        match kind {
            Kind::Classic | Kind::Fd => FramePassage::Open,
            Kind::Xl => FramePassage::No,
        }
    }

    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        match &self.attach {
            AttachMode::Device { address, .. } => {
                let hint = "one device is one side of a shared memory";
                Some(ExclusiveResource::new(
                    format!("PCI device {address}"),
                    hint,
                ))
            }
            // Both sides of a memory from a server can be in one gateway.
            AttachMode::Socket(_) => None,
        }
    }

    fn describe(&self) -> String {
        match &self.attach {
            AttachMode::Socket(path) => format!("shared memory served at {}", path.display()),
            AttachMode::Device {
                address,
                poll: None,
            } => format!("shared memory of PCI device {address}"),
            AttachMode::Device {
                address,
                poll: Some(poll),
            } => format!(
                "shared memory of PCI device {address}, looked at every {} us",
                *poll as f64 / 1e3
            ),
        }
    }

    fn open(&self, port: &str, _opener: &mut PortOpener) -> Result<Halves, PortError> {
        match &self.attach {
            AttachMode::Socket(path) => {
                let attached = BySocket::new(path).map_err(|errno| PortError {
                    port: port.to_owned(),
                    what: format!("cannot wait for {}", path.display()),
                    source: Some(errno.into()),
                })?;
                Ok(halves(Box::new(attached)))
            }
            AttachMode::Device { address, poll } => {
                Ok(halves(Box::new(ByPci::open(port, address, *poll)?)))
            }
        }
    }
}
