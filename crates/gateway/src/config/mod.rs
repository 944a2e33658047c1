//! `gateway.toml` as a whole: `[gateway]`, `[ports.NAME]` and `[[routes]]`.
//!
//! [`load`] reports every mistake of a file at once, each with its place, and gives a
//! [`Config`] only where there is none. What the routing table itself refuses to compile is
//! reported here too, at the route's place.

mod buses;
mod load;
mod options;

#[cfg(test)]
mod tests;

pub use load::load;
pub use options::{Offload, Options};

use port::spec::{PortKind, PortSpec};
use route::Routes;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 64 << 20;

/// The most ports that a file may hold.
pub const MOST_PORTS: usize = 1024;

/// All that a file says. Two equal configurations need no reload.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The ports, in the order of the file: [`route::PortId`] is an index into them.
    pub ports: Vec<PortSpec>,
    /// The routes, with the ports resolved.
    pub routes: Routes,
    /// What concerns the process as a whole.
    pub options: Options,
}

impl Config {
    /// The ports' names, by their index.
    #[must_use]
    pub fn port_names(&self) -> Vec<String> {
        self.ports.iter().map(|port| port.name.clone()).collect()
    }

    /// The Linux interfaces behind the ports, by their index, as [`route::cangw::export`] takes
    /// them; `None` for a port that is none.
    #[must_use]
    pub fn interfaces(&self) -> Vec<Option<String>> {
        self.ports
            .iter()
            .map(|port| match &port.kind {
                PortKind::SocketCan(spec) => Some(spec.interface.clone()),
                PortKind::Bus(_) | PortKind::Log(_) => None,
            })
            .collect()
    }

    /// The whole configuration in words, for `cangate check`: ports, then routes. Ends with a
    /// line end.
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
