//! The records that the machines of a failed run have left.

use super::record::{self, LinkRecord, RecordsError};
use crate::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A reason why records are missing.
#[derive(Debug)]
pub(super) enum MissingRecords {
    /// A file cannot be read.
    File(Error),
    /// A file is broken: the records before that place are there. The machine may have been ended
    /// while it wrote one.
    Records(RecordsError),
}

/// Reads the longest of a link's records, of which each machine writes a file.
pub(super) fn read(paths: impl Iterator<Item = PathBuf>) -> (Vec<LinkRecord>, Vec<MissingRecords>) {
    let mut missing = Vec::new();
    let mut longest = (PathBuf::new(), Vec::new());
    for path in paths {
        match fs::read(&path) {
            Ok(bytes) if bytes.len() >= longest.1.len() => longest = (path, bytes),
            Ok(_) => {}
            // A machine that has not begun has no records.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => missing.push(MissingRecords::File(Error::file("read", &path)(error))),
        }
    }
    let (path, bytes) = longest;
    let (records, broken) = record::parse(&bytes);
    let broken = broken.map(|at| RecordsError::Broken { path, at });
    missing.extend(broken.map(MissingRecords::Records));
    (records, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // A record of 24 bytes without content, and the beginning of another one.
        let mut bytes = [0; 24];
        bytes[16] = 1;
        fs::write(path("short"), bytes).unwrap();
        fs::write(path("cut"), [&bytes[..], &[0; 5]].concat()).unwrap();
        fs::create_dir(path("folder")).unwrap();
        let read = |names: &[&str]| read(names.iter().map(|name| path(name)));

        let (records, missing) = read(&["not begun", "short"]);
        assert_eq!((records.len(), missing.len()), (1, 0));
        let (records, missing) = read(&["short", "folder", "cut"]);
        assert_eq!(records.len(), 1);
        let [MissingRecords::File(file), MissingRecords::Records(cut)] = &missing[..] else {
            panic!("{missing:?}");
        };
        assert!(file.to_string().contains("folder"), "{file}");
        assert!(
            cut.to_string().ends_with("cut is broken at byte 24"),
            "{cut}"
        );
    }
}
