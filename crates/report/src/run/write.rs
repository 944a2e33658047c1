//! A run's files.

use super::data::RunData;
use super::page::page;
use probe::results::WriteError;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRun {
    /// The page.
    pub html: PathBuf,
    /// The results file, with the stamps of every frame.
    pub parquet: PathBuf,
}

/// The page of a run could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be made.
    #[error(
        "{path}: cannot write the report there; is it a writable folder with enough free space?",
        path = .path.display()
    )]
    File {
        /// The path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The results file could not be written.
    #[error(transparent)]
    Results(#[from] WriteError),
}

/// Writes `report.html` and `results.parquet` into a folder, which is made if it does not exist.
/// Files of those names are replaced.
///
/// # Errors
/// [`Error`], with the file's name.
pub fn write(dir: &Path, data: &RunData) -> Result<WrittenRun, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    let parquet = dir.join("results.parquet");
    probe::results::write(&parquet, &data.results)?;
    let html = dir.join("report.html");
    std::fs::write(&html, page(data)).map_err(failed(&html))?;
    Ok(WrittenRun { html, parquet })
}
