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

    /// Returns the databases, in their order.
    pub fn all(&self) -> impl Iterator<Item = &IndexedDatabase> {
        self.0.iter().map(|(_, database)| database)
    }

    /// Returns the position of an interface's database, if it has one; that of the database for all
    /// others, if the interface has no name that a database can be for.
    #[must_use]
    pub fn position(&self, interface: Option<InterfaceName>) -> Option<usize> {
        let of = |wanted| self.0.iter().position(|(of, _)| *of == wanted);
        of(interface).or_else(|| of(None))
    }
}

/// The databases, with that of each interface that has been seen.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    databases: FrameDatabases,
    /// The database of each interface, by the interface's index.
    found: Vec<InterfaceDatabase>,
}

/// The database of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InterfaceDatabase {
    /// No frame of the interface has been decoded.
    Unknown,
    /// The interface has none.
    Absent,
    /// The position in the list.
    At(usize),
}

impl FrameDecoder {
    pub(crate) const fn new(databases: FrameDatabases) -> Self {
        Self {
            databases,
            found: Vec::new(),
        }
    }

    /// Returns a data frame with its message, if it has one; `name` is that of its interface.
    pub(crate) fn decode<'a>(
        &'a mut self,
        record: &RecordedFrame<'_>,
        name: &str,
        frame: FrameRef<'a>,
    ) -> Option<DecodedFrame<'a>> {
        let position = self.position(record.interface, name)?;
        let (_, database) = self.databases.0.get(position)?;
        if frame.id().is_rtr() {
            return None;
        }
        let message = database.find(frame.id())?;
        Some(DecodedFrame {
            message,
            payload: frame.data(),
        })
    }

    /// Returns the position of an interface's database, which is searched for once.
    fn position(&mut self, interface: u16, name: &str) -> Option<usize> {
        let place = usize::from(interface);
        if self.found.len() <= place {
            self.found.resize(place + 1, InterfaceDatabase::Unknown);
        }
        let found = self.found.get_mut(place)?;
        if *found == InterfaceDatabase::Unknown {
            let position = self.databases.position(InterfaceName::new(name));
            *found = position.map_or(InterfaceDatabase::Absent, InterfaceDatabase::At);
        }
        match *found {
            InterfaceDatabase::At(position) => Some(position),
            InterfaceDatabase::Unknown | InterfaceDatabase::Absent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> MessageDatabase {
        signals::read(b"BU_: A\nBO_ 256 M: 8 A\n").unwrap()
    }

    #[test]
    fn the_database_of_an_interface_is_searched_for_once() {
        let one = InterfaceName::new("can1").unwrap();
        let databases = FrameDatabases::new(vec![(Some(one), database())]);
        let mut decoder = FrameDecoder::new(databases);
        assert_eq!(decoder.position(2, "can2"), None);
        assert_eq!(decoder.position(1, "can1"), Some(0));
        let expected = [
            InterfaceDatabase::Unknown,
            InterfaceDatabase::At(0),
            InterfaceDatabase::Absent,
        ];
        assert_eq!(decoder.found, expected);
        // The index has the same name in all frames, so that the name is not compared again.
        assert_eq!(decoder.position(2, "can1"), None);
        assert_eq!(decoder.position(1, "can2"), Some(0));
    }

    #[test]
    fn interfaces_without_a_database_of_their_own_have_the_common_one() {
        let one = InterfaceName::new("can1").unwrap();
        let all = vec![(None, database()), (Some(one), database())];
        let mut decoder = FrameDecoder::new(FrameDatabases::new(all));
        assert_eq!(decoder.position(0, "can0"), Some(0));
        assert_eq!(decoder.position(1, "can1"), Some(1));
        // Longer than the name of an interface.
        assert_eq!(decoder.position(2, &"n".repeat(100)), Some(0));
    }
}
