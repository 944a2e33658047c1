//! The databases that the command was given.

use crate::cli::decode::DatabaseChoice;
use crate::database;
use console::Failure;
use port::log::InterfaceName;
use signals::MessageDatabase;
use std::path::Path;

/// The most warnings that are printed of one database.
const MOST_WARNINGS: usize = 5;

/// Databases, each for one interface or for all others.
pub(super) struct Databases {
    all: Vec<(Option<InterfaceName>, MessageDatabase)>,
}

impl Databases {
    /// Reads the files, and prints their warnings.
    pub(super) fn read(choices: &[DatabaseChoice]) -> Result<Self, Failure> {
        let mut all: Vec<(Option<InterfaceName>, MessageDatabase)> = Vec::new();
        for choice in choices {
            if all
                .iter()
                .any(|(interface, _)| *interface == choice.interface)
            {
                let what = match choice.interface {
                    Some(interface) => format!("{interface} has"),
                    None => "interfaces that are not named have".to_owned(),
                };
                return Err(Failure::input(format!(
                    "--database {}: {what} a database already: name the interface, as in `--database can1={}`",
                    choice.file.display(),
                    choice.file.display(),
                )));
            }
            all.push((choice.interface, read(&choice.file)?));
        }
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

fn read(path: &Path) -> Result<MessageDatabase, Failure> {
    let database = database::read(path)?;
    let impossible = database.impossible.iter().map(|message| {
        let problem = &message.error.problem;
        (
            message.error.line,
            format!("{}: {problem}; it is left out", message.name),
        )
    });
    let doubtful = database.warnings.iter();
    let doubtful = doubtful.map(|warning| (warning.line, warning.problem.clone()));
    let warnings: Vec<(usize, String)> = impossible.chain(doubtful).collect();
    for (line, problem) in warnings.iter().take(MOST_WARNINGS) {
        eprintln!("warning: {}: line {line}: {problem}", path.display());
    }
    if let Some(more @ 1..) = warnings.len().checked_sub(MOST_WARNINGS) {
        eprintln!("warning: {}: {more} further warnings", path.display());
    }
    Ok(database)
}
