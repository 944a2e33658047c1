//! `kind = "shm"`: memory that is shared with another machine or process.

use super::halves::halves;
use super::pci::ByPci;
use super::socket::BySocket;
use crate::kind::{FramePassage, PlacedPort, PortKind, PortSettings};
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use frame::{Kind, Nanos};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The kind of ports in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct ShmPorts;

const KEYWORD: &str = "shm";

/// Minimum of `poll`, the time between two looks, ns.
const LEAST_POLL: Nanos = 1_000;

const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of("socket", &["path", "server", "chardev"]),
    KeyMisnomer::of("device", &["pci", "address", "card"]),
    KeyMisnomer::of("poll", &["interval", "every", "period"]),
];

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

impl PortKind for ShmPorts {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        Some(vec![
            KeySpec::new(
                "socket",
                ValueShape::Text,
                "Where `cangate shm` serves the memory.",
            ),
            KeySpec::new(
                "device",
                ValueShape::Text,
                "In a virtual machine: the PCI address of the device ivshmem-doorbell.",
            ),
            KeySpec::new(
                "poll",
                ValueShape::Duration,
                "With `device`: how often the port looks for frames, from \"1us\".",
            ),
        ])
    }

    fn parse(
        &self,
        _port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(ShmSettings::parse(table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut taken: HashMap<&str, &str> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<ShmSettings>() else {
                continue;
            };
            // Both sides of a memory from a server can be in one gateway.
            let AttachMode::Device { address, .. } = &settings.attach else {
                continue;
            };
            if let Some(other) = taken.insert(address, port.name) {
                let message = format!("ports `{other}` and `{}` both have {address}", port.name);
                let hint = "one device is one side of a memory";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

impl ShmSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let socket = table.string("socket", found);
        let device = table.string("device", found);
        let poll = table.get("poll");
        let every = poll.as_ref().and_then(|value| value.duration(found));
        if let (Some(value), Some(every)) = (&poll, &every)
            && every.value < LEAST_POLL
        {
            let hint = "1us is the least; a processor of its own is no shorter way here";
            value.wrong("this is too often", hint, found);
        }
        let attach = match (socket, device) {
            (Some(_), Some(device)) => {
                let message = "`socket` is for processes and `device` for virtual machines: a port has one of them";
                found.push(Diagnostic::error(device.span, message));
                AttachMode::Socket(PathBuf::new())
            }
            (Some(socket), None) => {
                if let Some(poll) = &poll {
                    let hint = "leave it out: a process is rung";
                    poll.wrong("`poll` is for a `device`", hint, found);
                }
                AttachMode::Socket(PathBuf::from(socket.value))
            }
            (None, Some(device)) => AttachMode::Device {
                address: device.value.to_owned(),
                // The error was reported already.
                poll: poll.map(|_| every.map_or(LEAST_POLL, |every| every.value)),
            },
            (None, None) => {
                if !table.report_misnomers(found) {
                    let hint = "add `socket = \"/run/cangate/a.shm\"`, at which `cangate shm` serves the memory; in a \
                                virtual machine `device = \"0000:00:05.0\"`";
                    table.missing("socket", hint, found);
                }
                AttachMode::Socket(PathBuf::new())
            }
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
                    what: format!("{} cannot be waited for", path.display()),
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
