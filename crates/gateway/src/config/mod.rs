//! `gateway.toml` as a whole: `[gateway]`, `[ports.NAME]` and `[[routes]]`.
//!
//! [`load()`] reports every mistake of a file at once, each with its place, and returns a
//! [`GatewayConfig`] only if there is none. Errors that the routing table reports when it compiles
//! are reported here too, at the route's place.

mod circles;
mod load;
mod options;
mod passages;
mod schema;
mod sharing;

#[cfg(test)]
mod tests;

pub use load::{load, readable_options};
pub use options::{Offload, ProcessOptions};
pub use schema::{keys, schema};

pub use ::config::LARGEST_FILE;
use frame::Kind;
use port::{FramePassage, PortSpec};
use route::{KernelPort, RouteId, Routes};

/// The maximum number of ports in a file.
pub const MOST_PORTS: usize = 1024;

/// The contents of a file. Two equal configurations need no reload.
#[derive(Clone, PartialEq, Debug)]
pub struct GatewayConfig {
    /// The ports, in the order of the file: [`route::PortId`] is an index into them.
    pub ports: Vec<PortSpec>,
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
        let mut text = String::new();
        for port in &self.ports {
            text.push_str("port ");
            text.push_str(&port.describe());
            text.push('\n');
        }
        let names = self.port_names();
        for route in &self.routes.routes {
            text.push_str("route ");
            text.push_str(&route::config::describe(route, &names));
            text.push('\n');
        }
        text
    }
}
