//! The folder that stores results: a Parquet file for each experiment that was run, a note for each
//! that failed.
//!
//! A file exists complete or not at all: it is written next to its destination and renamed. Only
//! one process at a time writes into a folder; any number may read.

use crate::describe::{ResultMismatch, is_of};
use crate::settings::Experiment;
use crate::trial::FailedGuest;
use probe::RunResults;
use probe::results::ReadError;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The file by which one process prevents others from writing.
const LOCK: &str = ".lock";
/// The suffix of the name of an incomplete file.
const PARTIAL: &str = ".partial";

/// The reasons why the folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process writes there.
    #[error(
        "another cangate uses {path}: wait until it ends, or choose another folder",
        path = .0.display()
    )]
    Busy(PathBuf),
    /// There is no room.
    #[error(
        "no room left to write {path}; existing results are kept: make room and run \
         the same command to resume",
        path = .0.display()
    )]
    Full(PathBuf),
    /// A file could not be read or written.
    #[error("cannot {what} {path}: {source}", path = .path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The results could not be encoded as a file.
    #[error(transparent)]
    Results(#[from] probe::results::WriteError),
}

/// The content of a folder for an experiment.
#[derive(Debug)]
pub enum StoredResult {
    /// Its results, made with the same versions.
    Results(Box<RunResults>),
    /// It failed, with the same versions.
    Failed(FailedGuest),
    /// No result.
    Absent,
    /// A result that is not valid.
    Stale(StaleReason),
}

/// The reason why existing data of a folder is not valid.
#[derive(Debug, thiserror::Error)]
pub enum StaleReason {
    /// It belongs to something else.
    #[error(transparent)]
    Other(#[from] ResultMismatch),
    /// It cannot be read as results.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It failed with other versions, and might succeed with these.
    #[error("it failed with other versions")]
    FailedBefore,
    /// The note of a failure cannot be read.
    #[error("the note of its failure is damaged: {0}")]
    Note(#[source] serde_json::Error),
}

/// A failure in its stored form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureNote {
    experiment: Experiment,
    versions: Vec<(String, String)>,
    why: String,
    console: String,
}

/// A file's name without its extension, and its results or the error in it.
pub type Named = (String, Result<RunResults, ReadError>);

/// A folder of results.
#[derive(Debug)]
pub struct ResultStore {
    dir: PathBuf,
    /// The lock, held as long as this value exists; `None` where the folder is only read.
    _lock: Option<File>,
}

impl ResultStore {
    /// Opens a folder for writing; creates it if it does not exist, and removes incomplete files of
    /// an interrupted run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(at("make the folder", dir))?;
        let path = dir.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = lock.map_err(at("open", &path))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(StoreError::Busy(dir.to_owned())),
            Err(e) => return Err(at("lock", &path)(e.into())),
        }
        for entry in fs::read_dir(dir).map_err(at("read", dir))? {
            let path = entry.map_err(at("read", dir))?.path();
            if path.to_string_lossy().ends_with(PARTIAL) {
                fs::remove_file(&path).map_err(at("remove", &path))?;
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            _lock: Some(lock),
        })
    }

    /// Opens a folder for reading only; other processes may write there.
    #[must_use]
    pub fn read_only(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            _lock: None,
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of an experiment's results, whether the file exists or not.
    #[must_use]
    pub fn path(&self, experiment: &Experiment) -> PathBuf {
        self.dir.join(format!("{}.parquet", experiment.name()))
    }

    fn note_path(&self, experiment: &Experiment) -> PathBuf {
        self.dir.join(format!("{}.failed.json", experiment.name()))
    }

    /// Returns the folder's content for an experiment. Damaged files and those of other versions do
    /// not count as results.
    #[must_use]
    pub fn find(&self, experiment: &Experiment, versions: &[(String, String)]) -> StoredResult {
        let path = self.path(experiment);
        match fs::read(&path) {
            Ok(bytes) => match probe::results::read_bytes(&path, bytes) {
                Ok(results) => match is_of(&results.description, experiment, versions) {
                    Ok(()) => StoredResult::Results(Box::new(results)),
                    Err(other) => StoredResult::Stale(other.into()),
                },
                Err(damaged) => StoredResult::Stale(damaged.into()),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.find_failure(experiment, versions)
            }
            Err(source) => StoredResult::Stale(StaleReason::Unreadable { path, source }),
        }
    }

    fn find_failure(&self, experiment: &Experiment, versions: &[(String, String)]) -> StoredResult {
        let Ok(text) = fs::read_to_string(self.note_path(experiment)) else {
            return StoredResult::Absent;
        };
        match serde_json::from_str::<FailureNote>(&text) {
            Ok(note) if note.experiment == *experiment && note.versions == versions => {
                StoredResult::Failed(FailedGuest {
                    why: note.why,
                    console: note.console,
                })
            }
            Ok(_) => StoredResult::Stale(StaleReason::FailedBefore),
            Err(error) => StoredResult::Stale(StaleReason::Note(error)),
        }
    }

    /// Stores results; a note of an earlier failure is removed.
    ///
    /// # Errors
    /// [`StoreError`]; in this case nothing has changed.
    pub fn keep(
        &self,
        experiment: &Experiment,
        results: &RunResults,
    ) -> Result<PathBuf, StoreError> {
        let path = self.path(experiment);
        let mut bytes = Vec::new();
        probe::results::write_to(&mut bytes, results)?;
        self.put(&path, &bytes)?;
        remove(&self.note_path(experiment))?;
        Ok(path)
    }

    /// Stores a note of a failure; results of other versions are removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep_failure(
        &self,
        experiment: &Experiment,
        versions: &[(String, String)],
        failed: &FailedGuest,
    ) -> Result<(), StoreError> {
        let note = FailureNote {
            experiment: experiment.clone(),
            versions: versions.to_vec(),
            why: failed.why.clone(),
            console: failed.console.clone(),
        };
        let path = self.note_path(experiment);
        let text = serde_json::to_string_pretty(&note)
            .map_err(|e| at("write", &path)(io::Error::other(e)))?;
        self.put(&path, text.as_bytes())?;
        remove(&self.path(experiment))
    }

    /// Writes a file completely or not at all.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(PARTIAL);
        let partial = PathBuf::from(partial);
        let write = || {
            let mut file = File::create(&partial)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&partial, path)
        };
        write().map_err(|e| {
            // An incomplete file is of no use.
            let _ = fs::remove_file(&partial);
            at("write", path)(e)
        })
    }

    /// Returns every result of the folder, by file name: the results, or the error in the file.
    ///
    /// # Errors
    /// [`StoreError`] where the folder cannot be read.
    pub fn all(&self) -> Result<Vec<Named>, StoreError> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(at("read", &self.dir))? {
            let path = entry.map_err(at("read", &self.dir))?.path();
            if path.extension().is_some_and(|e| e == "parquet") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                all.push((name.into_owned(), probe::results::read(&path)));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }
}

fn at<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + use<'a> {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(path.to_owned())
        }
        _ => StoreError::File {
            what,
            path: path.to_owned(),
            source,
        },
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(at("remove", path)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
