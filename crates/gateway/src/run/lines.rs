//! Routes in words, for those who ask a gateway that runs.

use route::{PortId, Route, Routes};
use serde::{Deserialize, Serialize};

/// A route in force.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RouteLine {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub from: Vec<String>,
    /// Its destinations; none where it drops.
    pub to: Vec<String>,
    /// What it does, in words.
    pub words: String,
    /// Where it runs: `process`, `can-gw` or `bpf`.
    #[serde(default)]
    pub data_path: String,
    /// For each faster data path, why it does not run there: `not by bpf: …`.
    #[serde(default)]
    pub because: Vec<String>,
    /// The route itself, without its name and its ports, which only have numbers here. It does not
    /// leave the process.
    #[serde(skip)]
    content: Option<Box<Route>>,
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
            content: Some(Box::new(Route {
                name: String::new(),
                from: Vec::new(),
                to: Vec::new(),
                ..route.clone()
            })),
            ..Self::default()
        };
        routes.routes.iter().map(line).collect()
    }

    /// Does it do what another one does? The name does not matter.
    pub(crate) fn does_as(&self, other: &Self) -> bool {
        self.content == other.content && self.from == other.from && self.to == other.to
    }

    /// Its words without its name. Routes that do the same have the same.
    pub(crate) fn deeds(&self) -> &str {
        let words = self.words.as_str();
        words.strip_prefix(self.name.as_str()).unwrap_or(words)
    }
}
