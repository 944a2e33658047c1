//! Databases of messages, for records that name them.

use crate::chunk::RecordedFrame;
use frame::FrameRef;
use logs::InterfaceName;
use signals::{DecodedFrame, IndexedDatabase, MessageDatabase};
use std::sync::Arc;

/// Databases, each for one interface or for all that have none of their own. A clone is the same
/// list, and equal to it; two lists that were made separately are not equal.
#[derive(Clone, Debug, Default)]
pub struct FrameDatabases(Arc<Vec<(Option<InterfaceName>, IndexedDatabase)>>);

impl PartialEq for FrameDatabases {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FrameDatabases {}

impl FrameDatabases {
    /// Returns a list of databases. Of several for one interface, the first one counts.
    #[must_use]
    pub fn new(all: Vec<(Option<InterfaceName>, MessageDatabase)>) -> Self {
        let indexed = all
            .into_iter()
            .map(|(interface, database)| (interface, IndexedDatabase::new(database)));
        Self(Arc::new(indexed.collect()))
    }

    /// Returns whether there is no database.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the position of an interface's database, if it has one.
    fn position(&self, interface: &str) -> Option<usize> {
        let of = |wanted: Option<&str>| {
            let mut all = self.0.iter();
            all.position(|(of, _)| of.as_ref().map(InterfaceName::as_str) == wanted)
        };
        of(Some(interface)).or_else(|| of(None))
    }
}

/// The databases, with that of each interface that has been seen.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    databases: FrameDatabases,
    /// The position of the database of each interface, by the interface's index.
    positions: Vec<Option<usize>>,
}

impl FrameDecoder {
    pub(crate) const fn new(databases: FrameDatabases) -> Self {
        Self {
            databases,
            positions: Vec::new(),
        }
    }

    /// Returns a data frame with its message, if it has one; `name` is that of its interface.
    pub(crate) fn decode<'a>(
        &'a mut self,
        record: &RecordedFrame<'_>,
        name: &str,
        frame: FrameRef<'a>,
    ) -> Option<DecodedFrame<'a>> {
        let place = usize::from(record.interface);
        while self.positions.len() <= place {
            self.positions.push(None);
        }
        let position = self.positions.get_mut(place)?;
        if position.is_none() {
            *position = self.databases.position(name);
        }
        let (_, database) = self.databases.0.get((*position)?)?;
        if frame.id().is_rtr() {
            return None;
        }
        let message = database.find(frame.id())?;
        Some(DecodedFrame {
            message,
            payload: frame.data(),
        })
    }
}
