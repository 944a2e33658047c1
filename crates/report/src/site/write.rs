//! The site's files.

use super::digest::{IndexLine, digest};
use super::find::{ExperimentFile, find};
use super::left_out::LeftOut;
use super::{claims, data, failed, figures, page};
use crate::json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A site that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSite {
    /// The page to open.
    pub index: PathBuf,
    /// Number of experiments on it.
    pub experiments: usize,
    /// Number of claims on it.
    pub claims: usize,
    /// Number of experiments that the lab recorded as failed; the page shows the reasons.
    pub failed: usize,
    /// Files that are missing on it because of an error.
    pub left_out: Vec<LeftOut>,
    /// Size of all its files together.
    pub bytes: u64,
}

/// A site could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder could not be searched.
    #[error("cannot read the folder {path}: {source}", path = .path.display())]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// No results were found.
    #[error(
        "{path}: no results of cangate in it or below it; `cangate lab`, `cangate bench --out` \
         and `cangate demo --out` make them{left_out}", path = .path.display()
    )]
    Nothing {
        /// The folder that was searched.
        path: PathBuf,
        /// Files that could not be used, one per line.
        left_out: String,
    },
    /// A file or folder could not be made.
    #[error("{path}: cannot write the site there: {source}", path = .path.display())]
    File {
        /// The path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A writer of files that counts their bytes.
struct CountingWriter<'a> {
    folder: &'a Path,
    bytes: u64,
}

impl CountingWriter<'_> {
    fn put(&mut self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        match std::fs::write(&path, text) {
            Ok(()) => {
                self.bytes += text.len() as u64;
                Ok(path)
            }
            Err(source) => Err(Error::File { path, source }),
        }
    }
}

/// Makes a site in `out` of all results (`*.parquet`) in `dir` and below it, and of
/// `dir/claims.json` if it exists, and lists the experiments that failed (`*.failed.json`). A file
/// that cannot be read is left out and named in [`WrittenSite::left_out`] and on the page. Files of
/// an earlier site in `out` are replaced. Each core reads one experiment at a time.
///
/// # Errors
/// [`Error`], with the folder's or the file's name.
pub fn write(dir: &Path, out: &Path) -> Result<WrittenSite, Error> {
    let search = |ending| {
        let found = find(dir, out, ending);
        found.map_err(|(path, source)| Error::Folder { path, source })
    };
    let found = search(".parquet")?;
    let (experiments, mut left_out) = sort_out(&found, read_all(&found));
    let mut failures = Vec::new();
    for note in search(failed::ENDING)? {
        // If there is a result, the experiment succeeded after the note was written.
        if found.binary_search_by(|f| f.name.cmp(&note.name)).is_ok() {
            continue;
        }
        match failed::read(&note) {
            Ok(failure) => failures.push(failure),
            Err(why) => left_out.push(LeftOut {
                name: format!("{}{}", note.name, failed::ENDING),
                why,
            }),
        }
    }
    let claims = match std::fs::read_to_string(dir.join("claims.json")) {
        Ok(text) => claims::read(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    let mut claims = claims.unwrap_or_else(|why| {
        let name = "claims.json".to_owned();
        left_out.push(LeftOut { name, why });
        Vec::new()
    });
    if experiments.is_empty() && claims.is_empty() && failures.is_empty() {
        let lines = left_out.iter().map(|l| format!("\n{}: {}", l.name, l.why));
        return Err(Error::Nothing {
            path: dir.to_owned(),
            left_out: lines.collect(),
        });
    }
    let folder = out.join("data");
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|source| Error::File {
        path: folder.clone(),
        source,
    })?;
    let mut out = CountingWriter {
        folder: out,
        bytes: 0,
    };
    let mut lines = Vec::new();
    for (index, (line, details)) in experiments.into_iter().enumerate() {
        out.put(&format!("data/{index}.js"), &data::details(index, &details))?;
        lines.push(line);
    }
    let figures = figures::rows(claims::figures(&mut claims), &lines);
    let claims = claims::rows(claims, &lines);
    remove_older(&folder, lines.len());
    out.put(
        "data/index.js",
        &data::index(&lines, &left_out, &failures, &claims, &figures),
    )?;
    out.put("site.css", &page::STYLE.concat())?;
    out.put("site.js", &page::SCRIPT.concat())?;
    let index = out.put("index.html", page::HTML)?;
    Ok(WrittenSite {
        index,
        experiments: lines.len(),
        claims: claims.len(),
        failed: failures.len(),
        left_out,
        bytes: out.bytes,
    })
}

/// Reads the experiments on all cores. The outcome does not depend on which core reads which.
fn read_all(found: &[ExperimentFile]) -> Vec<Option<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(found.iter().map(|_| None).collect());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = found.get(index) else { break };
            let outcome = read_one(file);
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = outcomes.get_mut(index) {
                *place = Some(outcome);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..cores.min(found.len()) {
            scope.spawn(work);
        }
        work();
    });
    outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

fn sort_out(
    found: &[ExperimentFile],
    outcomes: Vec<Option<Outcome>>,
) -> (Vec<(IndexLine, String)>, Vec<LeftOut>) {
    let (mut experiments, mut left_out) = (Vec::new(), Vec::new());
    for (file, outcome) in found.iter().zip(outcomes) {
        match outcome {
            Some(Ok(experiment)) => experiments.push(experiment),
            Some(Err(why)) => left_out.push(LeftOut {
                name: format!("{}.parquet", file.name),
                why,
            }),
            None => {}
        }
    }
    (experiments, left_out)
}

/// An experiment's line and its details as JSON, or the error of its file.
type Outcome = Result<(IndexLine, String), String>;

fn read_one(file: &ExperimentFile) -> Outcome {
    match probe::results::read(&file.path) {
        Ok(results) => {
            let (line, details) = digest(&file.name, &results);
            Ok((line, json(&details)))
        }
        // The path is removed from the message, because it is added again later; a site does not
        // depend on the location of the folder.
        Err(error) => {
            let place = format!("{}: ", file.path.display());
            Err(error.to_string().replace(&place, ""))
        }
    }
}

/// Removes details that an earlier, larger site left behind; nothing else.
fn remove_older(folder: &Path, experiments: usize) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|n| n.strip_suffix(".js"));
        let number = number.and_then(|n| n.parse::<usize>().ok());
        if number.is_some_and(|n| n >= experiments) {
            // A file that cannot be removed is never loaded.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
