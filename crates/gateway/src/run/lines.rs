//! Routes in words, for those who ask a gateway that runs.

use offload::DataPath;
use offload::choose::Choice;
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
    /// Where it runs: `bpf`, `can-gw` or `process`.
    #[serde(default)]
    pub data_path: String,
    /// Why it runs in no faster data path, where cangate chose (`offload = "auto"`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Objection>,
    /// The route itself, without its name and its ports, which only have numbers here. It does not
    /// leave the process.
    #[serde(skip)]
    content: Option<Box<Route>>,
}

/// Why a route does not run in a data path.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Objection {
    /// The data path.
    pub data_path: String,
    /// Why not there.
    pub why: String,
}

impl RouteLine {
    /// Routes of ports with these names, all in this process.
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
            data_path: DataPath::Process.to_string(),
            because: Vec::new(),
        };
        routes.routes.iter().map(line).collect()
    }

    /// The route runs where it was chosen to.
    pub(super) fn set_data_path(&mut self, choice: &Choice) {
        self.data_path = choice.data_path.to_string();
        let objection = |(path, why): &(DataPath, String)| Objection {
            data_path: path.to_string(),
            why: why.clone(),
        };
        self.because = choice.because.iter().map(objection).collect();
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
