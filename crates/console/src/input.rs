//! Files that are given on the command line.

use crate::Failure;
use config::{LARGEST_FILE, SourceText};
use std::io::Read;
use std::path::Path;

/// Reads the text of a file, or of standard input for `-`.
pub fn read_source(path: &Path) -> Result<SourceText, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::Run(format!("cannot read standard input: {e}")))?;
        return source("standard input", bytes);
    }
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|e| Failure::file("read", path, &e))?;
    source(&path.display().to_string(), bytes)
}

fn source(name: &str, bytes: Vec<u8>) -> Result<SourceText, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceText::new(name, text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|&&b| b == b'\n').count() + 1;
            Err(Failure::input(format!(
                "cannot read {name}: line {line} is not UTF-8; is this a text file?"
            )))
        }
    }
}
