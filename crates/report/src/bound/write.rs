//! The page as a file.

use super::data::BoundData;
use super::page::page;
use std::io;
use std::path::{Path, PathBuf};

/// The page's name in its folder: it differs from `report.html`, the page of a run.
pub const FILE: &str = "bound.html";

/// The page could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path}: cannot write the page there; is it a writable folder with enough free space?",
    path = .path.display()
)]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// The operating system's error.
    #[source]
    pub source: io::Error,
}

/// Writes the page into a folder, which is made if it does not exist. A page that exists there is
/// replaced.
///
/// # Errors
/// [`Error`], with the file's name.
pub fn write(dir: &Path, data: &BoundData) -> Result<PathBuf, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error { path, source }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    let html = dir.join(FILE);
    std::fs::write(&html, page(data)).map_err(failed(&html))?;
    Ok(html)
}
