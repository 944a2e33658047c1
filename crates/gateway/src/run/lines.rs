//! Routes in words, for those who ask a gateway that runs.

use route::{PortId, Route, Routes};
use serde::{Deserialize, Serialize};

/// A route in force.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteLine {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub from: Vec<String>,
    /// Its destinations; none where it drops.
    pub to: Vec<String>,
    /// What it does, in words.
    pub words: String,
}

impl RouteLine {
    /// Routes of ports with these names.
    #[must_use]
    pub fn all(routes: &Routes, ports: &[String]) -> Vec<Self> {
        let name = |port: &PortId| ports.get(usize::from(port.0)).cloned().unwrap_or_default();
        let line = |route: &Route| Self {
            name: route.name.clone(),
            from: route.from.iter().map(name).collect(),
            to: route.to.iter().map(name).collect(),
            words: route::config::describe(route, ports),
        };
        routes.routes.iter().map(line).collect()
    }
}
