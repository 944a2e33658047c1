//! Routes in words, for clients that query a running gateway.

use crate::config::{CarriedMessages, NamedId, in_short};
use crate::stats::RouteMessages;
use offload::DataPath;
use offload::choose::PathChoice;
use route::{PortId, Route, Routes};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A route in force.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RouteLine {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub from: Vec<String>,
    /// Its destinations; empty if it drops frames.
    pub to: Vec<String>,
    /// Its actions, in words.
    pub words: String,
    /// The messages that it carries, by the databases of its ports: `1A0 EngineData`. Empty for a
    /// route that takes any ID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The data path in which it runs: `bpf`, `can-gw` or `process`.
    #[serde(default)]
    pub data_path: String,
    /// The reasons why it runs in no faster data path, if cangate chose (`offload = "auto"`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<PathObjection>,
    /// The route itself, without its name and its ports, which are only numbers here. It does not
    /// leave the process.
    #[serde(skip)]
    content: Option<Box<Route>>,
}

/// The reason why a route does not run in a data path.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PathObjection {
    /// The data path.
    pub data_path: String,
    /// The reason.
    pub why: String,
}

impl fmt::Display for PathObjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not by {}: {}", self.data_path, self.why)
    }
}

impl RouteLine {
    /// Returns the lines of routes between ports with these names, all in this process.
    #[must_use]
    pub fn all(routes: &Routes, ports: &[String]) -> Vec<Self> {
        let name = |port: &PortId| ports.get(usize::from(port.0)).cloned().unwrap_or_default();
        let line = |route: &Route| Self {
            name: route.name.clone(),
            from: route.from.iter().map(name).collect(),
            to: route.to.iter().map(name).collect(),
            words: route::config::describe(route, ports),
            messages: Vec::new(),
            data_path: DataPath::Process.to_string(),
            because: Vec::new(),
            content: Some(Box::new(Route {
                name: String::new(),
                from: Vec::new(),
                to: Vec::new(),
                ..route.clone()
            })),
        };
        routes.routes.iter().map(line).collect()
    }

    /// Sets the messages that it carries.
    pub(super) fn set_messages(&mut self, carried: &CarriedMessages) {
        if !carried.takes_any {
            self.messages = carried.named.iter().map(NamedId::to_string).collect();
        }
    }

    /// Returns its first messages, for the counters; `None` if it has none.
    pub(super) fn messages_in_short(&self) -> Option<RouteMessages> {
        (!self.messages.is_empty()).then(|| RouteMessages {
            route: self.name.clone(),
            messages: in_short(&self.messages),
        })
    }

    /// Sets the data path that was chosen for the route.
    pub(super) fn set_data_path(&mut self, choice: &PathChoice) {
        self.data_path = choice.data_path.to_string();
        let objection = |(path, why): &(DataPath, String)| PathObjection {
            data_path: path.to_string(),
            why: why.clone(),
        };
        self.because = choice.because.iter().map(objection).collect();
    }

    /// Returns whether it does the same as another one. The name does not matter.
    pub(crate) fn does_as(&self, other: &Self) -> bool {
        self.content == other.content && self.from == other.from && self.to == other.to
    }

    /// Returns its words without its name. Routes that do the same have the same words.
    pub(crate) fn deeds(&self) -> &str {
        let words = self.words.as_str();
        words.strip_prefix(self.name.as_str()).unwrap_or(words)
    }
}
