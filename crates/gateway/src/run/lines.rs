//! Routes in words, for clients that query a running gateway.

use crate::config::{CarriedMessages, NamedId, in_short};
use crate::stats::RouteMessages;
use offload::DataPath;
use offload::choose::PathChoice;
use route::{PortId, Route, Routes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};

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
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        self.deeds() == other.deeds()
    }

    /// Returns what the route does: everything but its name and its data path.
    pub(crate) fn deeds(&self) -> RouteDeeds<'_> {
        RouteDeeds {
            content: self.content.as_deref(),
            from: &self.from,
            to: &self.to,
        }
    }
}

/// The deeds of a route, for comparisons: two routes with equal deeds treat every frame alike.
#[derive(Clone, Copy, Eq, Debug)]
pub(crate) struct RouteDeeds<'a> {
    content: Option<&'a Route>,
    from: &'a [String],
    to: &'a [String],
}

impl PartialEq for RouteDeeds<'_> {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(test)]
        COMPARISONS.with(|made| made.set(made.get() + 1));
        (self.content, self.from, self.to) == (other.content, other.from, other.to)
    }
}

impl Hash for RouteDeeds<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.content, self.from, self.to).hash(state);
    }
}

#[cfg(test)]
thread_local! {
    /// The number of comparisons of [`RouteDeeds`] on this thread, for tests of their growth.
    pub(super) static COMPARISONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
