//! The databases that the command was given.

use crate::cli::decode::DatabaseChoice;
use crate::commands::messages::read_chosen;
use console::Failure;
use port::log::InterfaceName;
use signals::MessageDatabase;

/// Databases, each for one interface or for all others.
pub(super) struct Databases {
    all: Vec<(Option<InterfaceName>, MessageDatabase)>,
}

impl Databases {
    /// Reads the files, and prints their warnings.
    pub(super) fn read(choices: &[DatabaseChoice]) -> Result<Self, Failure> {
        let all = read_chosen(choices)?;
        Ok(Self { all })
    }

    /// Returns the databases, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = &MessageDatabase> {
        self.all.iter().map(|(_, database)| database)
    }

    /// Returns the position of an interface's database, if it has one.
    pub(super) fn position(&self, interface: InterfaceName) -> Option<usize> {
        let of = |wanted| self.all.iter().position(|(of, _)| *of == wanted);
        of(Some(interface)).or_else(|| of(None))
    }
}
