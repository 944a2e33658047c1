//! A report's files.

use crate::charts::charts;
use crate::data::Data;
use crate::draw::{self, DrawError, WIDE};
use crate::page::html;
use crate::png::{PngError, Renderer};
use probe::results::WriteError;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The page.
    pub html: PathBuf,
    /// Every frame's stamps.
    pub parquet: PathBuf,
    /// The charts: an SVG and a PNG of each.
    pub charts: Vec<PathBuf>,
}

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be made.
    #[error("{path}: cannot write the report there: {source}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The results file could not be written.
    #[error(transparent)]
    Results(#[from] WriteError),
    /// A chart could not be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A chart could not be made a picture.
    #[error(transparent)]
    Png(#[from] PngError),
}

/// Pixels of a PNG for each of its SVG: sharp on paper.
const SHARP: f32 = 2.0;

/// Writes `report.html`, `results.parquet` and `charts/*.svg`, `charts/*.png` into a folder, which
/// is made where it is missing. Files of those names are replaced.
///
/// # Errors
/// [`Error`], with the file's name.
pub fn write(dir: &Path, data: &Data) -> Result<Written, Error> {
    let put = |path: PathBuf, bytes: &[u8]| match std::fs::write(&path, bytes) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::File { path, source }),
    };
    let folder = dir.join("charts");
    std::fs::create_dir_all(&folder).map_err(|source| Error::File {
        path: folder.clone(),
        source,
    })?;
    let parquet = dir.join("results.parquet");
    probe::results::write(&parquet, &data.results)?;
    let charts = charts(data);
    let renderer = Renderer::new();
    let mut files = Vec::new();
    for chart in &charts {
        let svg = draw::svg(chart, WIDE)?;
        let png = renderer.png(&svg, SHARP)?;
        files.push(put(
            folder.join(format!("{}.svg", chart.id)),
            svg.as_bytes(),
        )?);
        files.push(put(folder.join(format!("{}.png", chart.id)), &png)?);
    }
    let html = put(dir.join("report.html"), html(data, &charts)?.as_bytes())?;
    Ok(Written {
        html,
        parquet,
        charts: files,
    })
}
