//! The names of messages.

use std::collections::BTreeMap;
use std::fmt::Display;

/// The names of messages, by the number of a port and an ID as candump prints it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdNames(BTreeMap<(u16, String), String>);

impl IdNames {
    /// No names.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// Returns an ID with its name, as `1A0 EngineData`; the ID alone if it has none.
    #[must_use]
    pub fn label(&self, port: u16, id: impl Display) -> String {
        let key = (port, id.to_string());
        match self.0.get(&key) {
            Some(name) => format!("{id} {name}"),
            None => key.1,
        }
    }
}

impl FromIterator<((u16, String), String)> for IdNames {
    fn from_iter<T: IntoIterator<Item = ((u16, String), String)>>(names: T) -> Self {
        Self(names.into_iter().collect())
    }
}
