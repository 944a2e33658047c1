//! `gateway.toml` as a whole: `[gateway]`, `[databases.NAME]`, `[ports.NAME]` and `[[routes]]`.
//!
//! [`load()`] reports every mistake of a file at once, each with its place, and returns a
//! [`GatewayConfig`] only if there is none. Errors that the routing table reports when it compiles
//! are reported here too, at the route's place.

mod carried;
mod circles;
mod databases;
mod load;
mod message_check;
mod options;
mod passages;
mod ports;
mod schema;
mod sharing;
mod stated_protection;

#[cfg(test)]
mod tests;

pub(crate) use carried::in_short;
pub use carried::{CarriedMessages, MessageNames, MissedMessage, NamedId};
pub use databases::FileReader;
pub use load::{LoadResult, load, load_with, readable_options};
pub use options::{Offload, ProcessOptions};
pub use schema::{keys, schema};
/// The largest database that is read, in bytes.
pub use signals::MAX_FILE as LARGEST_DATABASE;
pub use stated_protection::{StatedProtectionError, stated_protection};

pub use ::config::LARGEST_FILE;
use frame::Kind;
use port::{FramePassage, PortSpec};
use route::config::NamedDatabase;
use route::{KernelPort, RouteId, Routes};
use std::sync::Arc;

/// The maximum number of ports in a file.
pub const MOST_PORTS: usize = 1024;

/// The contents of a file. Two equal configurations need no reload.
#[derive(Clone, PartialEq, Debug)]
pub struct GatewayConfig {
    /// The ports, in the order of the file: [`route::PortId`] is an index into them.
    pub ports: Vec<PortSpec>,
    /// The database of each port that names one, by the port's index.
    pub databases: Vec<Option<Arc<NamedDatabase>>>,
    /// The routes, with the ports resolved.
    pub routes: Routes,
    /// The options that concern the process as a whole.
    pub options: ProcessOptions,
}

impl GatewayConfig {
    /// Returns the names of the ports, by their index.
    #[must_use]
    pub fn port_names(&self) -> Vec<String> {
        self.ports.iter().map(|port| port.name.clone()).collect()
    }

    /// Returns the ports by their index, as the data paths in the kernel and
    /// [`route::cangw::export`] take them; `None` for a port that is not a Linux interface, or that
    /// has features which the kernel does not have.
    #[must_use]
    pub fn kernel_ports(&self) -> Vec<Option<KernelPort>> {
        let port = |port: &PortSpec| {
            Some(KernelPort {
                interface: port.interface()?.to_owned(),
                fd: port.settings.passes(Kind::Fd) != FramePassage::No,
            })
        };
        self.ports.iter().map(port).collect()
    }

    /// Returns why the kernel cannot run a route: one of its ports injects faults, or has rules for
    /// its transmit queue. Returns `None` if no port does.
    #[must_use]
    pub fn needs_process(&self, route: RouteId) -> Option<String> {
        let route = self.routes.routes.get(usize::try_from(route.0).ok()?)?;
        let mut ports = route.from.iter().chain(&route.to);
        ports.find_map(|id| {
            let port = self.ports.get(usize::from(id.0))?;
            let what = port.needs_process()?;
            Some(format!(
                "port `{}` {what}, and only this process does",
                port.name
            ))
        })
    }

    /// Describes the whole configuration in words, for `cangate check`: ports, then routes. The
    /// text ends with a line end.
    #[must_use]
    pub fn describe(&self) -> String {
        self.described(false)
    }

    /// Returns the same with the names of all messages, and with each doubtful statement of the
    /// databases.
    #[must_use]
    pub fn describe_all(&self) -> String {
        self.described(true)
    }

    fn described(&self, all: bool) -> String {
        let mut text = String::new();
        if all {
            text.push_str(&carried::databases(self));
        }
        for (port, database) in self.ports.iter().zip(&self.databases) {
            text.push_str("port ");
            text.push_str(&port.describe());
            text.push('\n');
            if let Some(database) = database {
                text.push_str(&carried::of_port(port, database));
            }
        }
        let names = self.port_names();
        for (route, carried) in self.routes.routes.iter().zip(self.carried()) {
            text.push_str("route ");
            text.push_str(&route::config::describe(route, &names));
            text.push('\n');
            if let Some(words) = carried.words(all) {
                text.push_str(&format!("  messages: {words}\n"));
            }
        }
        text.push_str(&carried::missed_words(&self.missed(), all));
        text.push_str(&carried::timeout_words(&self.databases));
        text
    }
}
