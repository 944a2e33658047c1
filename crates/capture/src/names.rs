//! The names of the interfaces and character devices that are recorded.

use std::sync::{Arc, PoisonError, RwLock};

/// The names of interfaces by their index, in the order in which they were first seen. The reader
/// adds names, and the writer looks them up.
#[derive(Clone, Debug, Default)]
pub struct InterfaceNames(Arc<RwLock<Vec<Arc<str>>>>);

impl InterfaceNames {
    /// Returns the index of a name; adds the name if it is new.
    pub fn place(&self, name: &str) -> u16 {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|known| &**known == name);
        let place = place.unwrap_or_else(|| {
            all.push(name.into());
            all.len() - 1
        });
        // A kernel with this many CAN interfaces does not exist; the last index belongs to no
        // interface.
        u16::try_from(place).unwrap_or(u16::MAX - 1)
    }

    /// Returns all names.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<str>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The names that one thread has cached; it reads the shared list only for an index that is new.
#[derive(Clone, Debug)]
pub(crate) struct KnownNames {
    names: InterfaceNames,
    known: Vec<Arc<str>>,
}

impl KnownNames {
    pub(crate) fn new(names: InterfaceNames) -> Self {
        Self {
            names,
            known: Vec::new(),
        }
    }

    /// Returns the name at an index.
    #[inline]
    pub(crate) fn get(&mut self, place: u16) -> &str {
        if usize::from(place) >= self.known.len() {
            self.known = self.names.all();
        }
        self.known.get(usize::from(place)).map_or("?", |name| name)
    }
}
