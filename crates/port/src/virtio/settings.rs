//! `kind = "virtio"`: a virtual machine.

use super::halves::halves;
use crate::kind::{PlacedPort, PortKind, Settings, queue};
use crate::{Halves, Opener, PortError};
use ::virtio::{Device, Options};
use config::{Diagnostic, Diagnostics, Misnomer, Table};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Virtual machines, by the virtio CAN device.
#[derive(Clone, Copy, Debug)]
pub struct Virtio;

const KEYWORD: &str = "virtio";

/// Frames that wait for a machine's buffers, where the file says nothing.
const QUEUE: u32 = 256;

const MISNOMERS: &[Misnomer] = &[
    Misnomer::of("socket", &["path", "chardev", "socket_path", "interface"]),
    Misnomer::of("connect", &["client", "mode"]),
    Misnomer::of("fd", &["can_fd", "canfd"]),
    Misnomer::of("brs", &["bitrate_switch", "bit_rate_switch"]),
];

impl PortKind for Virtio {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn parse(
        &self,
        _port: &str,
        table: &mut Table<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn Settings> {
        Arc::new(VirtioSettings::parse(table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut taken: HashMap<&PathBuf, &str> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<VirtioSettings>() else {
                continue;
            };
            if let Some(other) = taken.insert(&settings.socket, port.name) {
                let socket = settings.socket.display();
                let message = format!("ports `{other}` and `{}` both have {socket}", port.name);
                let hint = "one machine has one socket";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

/// A virtual machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtioSettings {
    /// Where its monitor connects; a relative path starts at the working directory.
    pub socket: PathBuf,
    /// The monitor listens there instead, and the port connects.
    pub connect: bool,
    /// What is offered.
    pub options: Options,
    /// Frames that wait for the machine's buffers.
    pub queue: u32,
}

impl VirtioSettings {
    fn parse(table: &mut Table<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let socket = table.string("socket", found);
        if socket.is_none() && !table.report_misnomers(found) {
            let hint =
                "add `socket = \"/run/cangate/vm1.sock\"`, to which the machine's monitor connects";
            table.missing("socket", hint, found);
        }
        let fd = table.flag("fd", true, found);
        Self {
            socket: socket
                .map(|path| PathBuf::from(path.value))
                .unwrap_or_default(),
            connect: table.flag("connect", false, found),
            options: Options {
                fd,
                brs: table.flag("brs", true, found),
                late_ack: false,
            },
            queue: queue(table, QUEUE, found),
        }
    }
}

impl Settings for VirtioSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let kinds = match (self.options.fd, self.options.brs) {
            (false, _) => "classic frames only",
            (true, true) => "its FD frames with BRS",
            (true, false) => "its FD frames without BRS",
        };
        let listens = if self.connect {
            ", where its monitor listens"
        } else {
            ""
        };
        format!(
            "virtual machine at {}{listens}, {kinds}",
            self.socket.display()
        )
    }

    fn open(&self, port: &str, _: &mut Opener) -> Result<Halves, PortError> {
        let make = if self.connect {
            Device::connect
        } else {
            Device::bind
        };
        let device = make(&self.socket, self.options).map_err(|error| PortError {
            port: port.to_owned(),
            what: error.to_string(),
            source: std::error::Error::source(&error).map(|source| source.to_string().into()),
        })?;
        Ok(halves(device, self.queue as usize))
    }
}
