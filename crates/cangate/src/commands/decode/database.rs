//! The databases that the command was given.

use crate::cli::decode::DatabaseChoice;
use console::Failure;
use port::log::InterfaceName;
use signals::{MessageDatabase, MessageIndex};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The maximum length of a file, bytes.
const LARGEST_FILE: u64 = 64 << 20;

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

    /// Returns an index of each database, in their order.
    pub(super) fn indices(&self) -> Vec<MessageIndex<'_>> {
        let databases = self.all.iter().map(|(_, database)| database);
        databases.map(MessageIndex::new).collect()
    }

    /// Returns the position of an interface's database, if it has one.
    pub(super) fn position(&self, interface: InterfaceName) -> Option<usize> {
        let of = |wanted| self.all.iter().position(|(of, _)| *of == wanted);
        of(Some(interface)).or_else(|| of(None))
    }
}

fn read(path: &Path) -> Result<MessageDatabase, Failure> {
    let fail =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    let mut bytes = Vec::new();
    let length = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    length.map_err(|error| Failure::file("read", path, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(fail(&format!("more than {} MiB", LARGEST_FILE >> 20)));
    }
    let database = signals::dbc::read(&bytes).map_err(|error| {
        fail(&format!("{error}\nA database is a DBC file; a statement that is not about messages and signals can be deleted in a copy of it"))
    })?;
    if database.messages.is_empty() {
        return Err(match database.impossible.first() {
            Some(first) => fail(&first.error),
            None => fail(&"no message in it: a DBC has lines such as `BO_ 256 Speed: 8 Engine`"),
        });
    }
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
    if let Some(more) = warnings
        .len()
        .checked_sub(MOST_WARNINGS)
        .filter(|more| *more > 0)
    {
        eprintln!("warning: {}: {more} further warnings", path.display());
    }
    Ok(database)
}
