//! Reading of databases of messages, which several commands are given.

use console::Failure;
use signals::{DatabaseFormat, MAX_FILE, MessageDatabase, ReadError};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a database in one of the formats of this build; `-` is standard input.
///
/// # Errors
/// The file cannot be read, is not a database, or has no message that a frame can represent.
pub(crate) fn read(path: &Path) -> Result<MessageDatabase, Failure> {
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let fail = |error: &dyn Display| Failure::input(format!("{name}: {error}"));
    let mut bytes = Vec::new();
    let mut fill =
        |input: &mut dyn io::Read| input.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes);
    let length = match path == Path::new("-") {
        true => fill(&mut io::stdin()),
        false => File::open(path).and_then(|mut file| fill(&mut file)),
    };
    length.map_err(|error| fail(&error))?;
    let database = signals::read(&bytes).map_err(|error| match error {
        ReadError::Mistake(DatabaseFormat::Dbc, error) => fail(&format!(
            "{error}\nA statement that is not about messages, signals and their attributes can be deleted in a copy of the file"
        )),
        error => fail(&error),
    })?;
    match (database.messages.is_empty(), database.impossible.first()) {
        (true, Some(first)) => Err(fail(&first.error)),
        (true, None) => Err(fail(
            &"no message in it: a DBC has lines such as `BO_ 256 Speed: 8 Engine`",
        )),
        (false, _) => Ok(database),
    }
}
