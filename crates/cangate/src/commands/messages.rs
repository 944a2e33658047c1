//! The databases of `--database` of several commands.

use crate::cli::decode::DatabaseChoice;
use crate::database;
use capture::{CaptureOutput, FrameDatabases};
use console::Failure;
use port::log::InterfaceName;
use signals::MessageDatabase;
use std::path::Path;

/// The most warnings that are printed of one database.
const MOST_WARNINGS: usize = 5;

/// Reads the databases of a command, each for one interface or for all others, and prints their
/// warnings.
///
/// # Errors
/// A database cannot be read, or an interface has several.
pub(crate) fn read_chosen(
    choices: &[DatabaseChoice],
) -> Result<Vec<(Option<InterfaceName>, MessageDatabase)>, Failure> {
    let mut all: Vec<(Option<InterfaceName>, MessageDatabase)> = Vec::new();
    for choice in choices {
        let file = choice.file.display();
        let mut before = all.iter();
        if before.any(|(interface, _)| *interface == choice.interface) {
            let interfaces = match choice.interface {
                Some(interface) => format!("{interface} has"),
                None => "interfaces that are not named have".to_owned(),
            };
            return Err(Failure::input(format!(
                "--database {file}: {interfaces} a database already: name the interface, as in `--database can1={file}`"
            )));
        }
        let database = database::read(&choice.file)?;
        let doubtful = database.doubtful();
        for warning in doubtful.iter().take(MOST_WARNINGS) {
            eprintln!(
                "warning: {file}: line {}: {}",
                warning.line, warning.problem
            );
        }
        if let more @ 1.. = doubtful.len().saturating_sub(MOST_WARNINGS) {
            eprintln!("warning: {file}: {more} further warnings");
        }
        all.push((choice.interface, database));
    }
    Ok(all)
}

/// Returns the output with the messages of these databases, and prints the databases' warnings.
pub(crate) fn with_messages(
    output: CaptureOutput,
    choices: &[DatabaseChoice],
) -> Result<CaptureOutput, Failure> {
    let databases = FrameDatabases::new(read_chosen(choices)?);
    output.with_databases(databases).map_err(Failure::input)
}

/// Checks that at most one of the inputs is standard input (`-`).
pub(crate) fn one_stdin(input: &Path, choices: &[DatabaseChoice]) -> Result<(), Failure> {
    let files = choices.iter().map(|choice| &*choice.file);
    let stdin = files.chain([input]).filter(|path| *path == Path::new("-"));
    match stdin.count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::input(
            "standard input (`-`) can be only one of the log and the databases",
        )),
    }
}
