//! Reading of databases of messages, which several commands are given.

use console::Failure;
use signals::{MAX_FILE, MessageDatabase, ReadError};
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
    signals::read_messages(&bytes).map_err(|error| match (&error, error.hint()) {
        (ReadError::Mistake(..), Some(hint)) => fail(&format!("{error}\n{}", sentence(hint))),
        (_, Some(hint)) => fail(&format!("{error}: {hint}")),
        (_, None) => fail(&error),
    })
}

/// Returns a hint as a line of its own, which begins with a capital letter.
fn sentence(hint: &str) -> String {
    let mut chars = hint.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}
