//! The folder of a dataset: which files a run may add, and how they get their names.
//!
//! A run writes into a folder of its own, `_unfinished-N`, and moves its files to their places when
//! all are complete. Readers ignore names that begin with `_`. The number N belongs to the run:
//! creating the folder reserves it, and it is in the names of the run's files.

use super::{DatasetError, MAX_NAME};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The beginning of the names of folders that runs write into.
const UNFINISHED: &str = "_unfinished-";

/// The beginning of the names of files.
const PART: &str = "part-";

/// The ending of the names of files.
const ENDING: &str = ".parquet";

/// A dataset's folder in which a run has reserved a number.
///
/// If it is dropped before its files have their places, they are removed.
pub struct DatasetFolder {
    folder: PathBuf,
    /// Whether the run created the folder.
    is_new: bool,
    number: u64,
    /// The folder of unfinished files.
    unfinished: PathBuf,
    leftovers: Vec<String>,
    /// Number of unfinished files.
    files: u64,
}

/// A complete file, and the place that it gets.
pub(crate) struct FinishedPart {
    pub(crate) path: PathBuf,
    pub(crate) day: String,
    pub(crate) message: String,
}

impl DatasetFolder {
    /// Creates the folder of a dataset, or opens it, if it is empty or `is_append`, and reserves a
    /// number for this run.
    ///
    /// # Errors
    /// [`DatasetError::Occupied`], [`DatasetError::Foreign`], [`DatasetError::File`].
    pub fn open(folder: &Path, is_append: bool) -> Result<Self, DatasetError> {
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(|source| failed("create", folder, source))?;
        let mut number = 0;
        loop {
            let unfinished = folder.join(format!("{UNFINISHED}{number}"));
            match fs::create_dir(&unfinished) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number += 1;
                    continue;
                }
                Err(error) => return Err(failed("create", &unfinished, error)),
            }
            // Dropped where an error or another number follows.
            let mut reserved = Self {
                folder: folder.to_owned(),
                is_new,
                number,
                unfinished,
                leftovers: Vec::new(),
                files: 0,
            };
            // The number is only free if no run before has left files with it, and another run can
            // have ended since.
            match reserved.examine(is_append)? {
                next if next <= number => return Ok(reserved),
                next => number = next,
            }
        }
    }

    /// Returns the names of folders in which other runs left unfinished files, or are writing.
    #[must_use]
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// Checks the entries of the folder; returns the number after the highest one in the names of
    /// files.
    fn examine(&mut self, is_append: bool) -> Result<u64, DatasetError> {
        let mut next = 0;
        for entry in entries(&self.folder)? {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path() == self.unfinished {
                continue;
            }
            if !is_append {
                return Err(DatasetError::Occupied {
                    folder: self.folder.clone(),
                    entry: name,
                });
            }
            match &*name {
                name if name.starts_with("day=") => next = next.max(next_number(&entry.path())?),
                name if name.starts_with(UNFINISHED) => self.leftovers.push(name.to_owned()),
                // As other tools leave: `_SUCCESS`, `.DS_Store`.
                name if name.starts_with(['_', '.']) => {}
                _ => {
                    return Err(DatasetError::Foreign {
                        folder: self.folder.clone(),
                        entry: name,
                    });
                }
            }
        }
        self.leftovers.sort();
        Ok(next)
    }

    /// Returns the path for the next unfinished file.
    pub(crate) fn next_file(&mut self) -> PathBuf {
        self.files += 1;
        self.unfinished.join(format!("{}.partial", self.files))
    }

    /// Checks that a message can have a folder.
    pub(crate) fn check_name(message: &str, name: &str) -> Result<(), DatasetError> {
        match name.len() {
            ..=MAX_NAME => Ok(()),
            bytes => Err(DatasetError::Name {
                message: message.to_owned(),
                bytes,
            }),
        }
    }

    /// Gives complete files their places. If one cannot get its place, all are removed.
    pub(crate) fn place(self, parts: &[FinishedPart]) -> Result<(), DatasetError> {
        let mut placed = Vec::new();
        let done = self.move_all(parts, &mut placed);
        if done.is_err() {
            for path in placed {
                // The first error is reported; folders that are empty now do no harm.
                let _ = fs::remove_file(path);
            }
        }
        done
    }

    fn move_all(
        &self,
        parts: &[FinishedPart],
        placed: &mut Vec<PathBuf>,
    ) -> Result<(), DatasetError> {
        let mut counts: HashMap<PathBuf, u64> = HashMap::new();
        for part in parts {
            let folder = self.folder.join(&part.day).join(&part.message);
            fs::create_dir_all(&folder).map_err(|source| failed("create", &folder, source))?;
            let count = counts.entry(folder.clone()).or_default();
            let name = match *count {
                0 => format!("{PART}{}{ENDING}", self.number),
                count => format!("{PART}{}-{count}{ENDING}", self.number),
            };
            *count += 1;
            let path = folder.join(name);
            fs::rename(&part.path, &path).map_err(|source| failed("create", &path, source))?;
            placed.push(path);
        }
        Ok(())
    }
}

impl Drop for DatasetFolder {
    fn drop(&mut self) {
        // An error would hide the one for which the run ends.
        let _ = fs::remove_dir_all(&self.unfinished);
        if self.is_new {
            // Only an empty folder is removed.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

fn failed(verb: &'static str, path: &Path, source: std::io::Error) -> DatasetError {
    let path = path.to_owned();
    DatasetError::File { verb, path, source }
}

fn entries(folder: &Path) -> Result<Vec<DirEntry>, DatasetError> {
    let all = fs::read_dir(folder).and_then(Iterator::collect);
    all.map_err(|source| failed("read", folder, source))
}

/// Returns the number after the highest one in the names of a day's files.
fn next_number(day: &Path) -> Result<u64, DatasetError> {
    let mut next = 0;
    for message in entries(day)? {
        // Files that other programs left here are not in a partition.
        if !message.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        for file in entries(&message.path())? {
            if let Some(number) = number_of(&file.file_name()) {
                next = next.max(number.saturating_add(1));
            }
        }
    }
    Ok(next)
}

/// Returns the number of the run in the name of a file: 3 of `part-3.parquet` and
/// `part-3-1.parquet`.
fn number_of(name: &OsStr) -> Option<u64> {
    let number = name.to_str()?.strip_prefix(PART)?.strip_suffix(ENDING)?;
    number.split('-').next()?.parse().ok()
}
