//! Reading of databases of messages, which several commands are given.

use console::Failure;
use port::log::Database;
use signals::MessageDatabase;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The maximum length of a file, bytes.
const LARGEST_FILE: u64 = 64 << 20;

/// Reads a DBC file; `-` is standard input.
///
/// # Errors
/// The file cannot be read, is not a DBC, or has no message that a frame can represent.
pub(crate) fn read(path: &Path) -> Result<MessageDatabase, Failure> {
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let fail = |error: &dyn Display| Failure::input(format!("{name}: {error}"));
    let mut bytes = Vec::new();
    let mut fill = |input: &mut dyn io::Read| input.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    let length = match path == Path::new("-") {
        true => fill(&mut io::stdin()),
        false => File::open(path).and_then(|mut file| fill(&mut file)),
    };
    if length.map_err(|error| fail(&error))? as u64 > LARGEST_FILE {
        return Err(fail(&format!("more than {} MiB", LARGEST_FILE >> 20)));
    }
    if let Some(kind) = Database::recognise(&bytes).filter(|kind| *kind != Database::Dbc) {
        return Err(fail(&format!("not a DBC: it looks like {kind}")));
    }
    let database = signals::dbc::read(&bytes).map_err(|error| {
        fail(&format!(
            "{error}\nA statement that is not about messages, signals and their attributes can be deleted in a copy of the file"
        ))
    })?;
    match (database.messages.is_empty(), database.impossible.first()) {
        (true, Some(first)) => Err(fail(&first.error)),
        (true, None) => Err(fail(
            &"no message in it: a DBC has lines such as `BO_ 256 Speed: 8 Engine`",
        )),
        (false, _) => Ok(database),
    }
}
