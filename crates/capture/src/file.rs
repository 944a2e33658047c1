//! Output files, which are rotated and never left incomplete.

use crate::form::CaptureOutput;
use port::log::OldFiles;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The conditions under which a record continues in a new file, and the number of old files that
/// are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RotationRule {
    /// Approximate maximum size of a file on the disk, in bytes.
    pub size: Option<u64>,
    /// Time after which the next file begins.
    pub every: Option<Duration>,
    /// Number of old files that are kept, the most recently written ones; `None`: all.
    pub keep: Option<u32>,
}

/// Error: a file cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}{hint}", path = .path.display())]
pub struct FileError {
    /// Its name.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
    /// The remedy.
    hint: &'static str,
}

impl FileError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        let hint = match source.kind() {
            io::ErrorKind::NotFound => ": make the folder first",
            io::ErrorKind::PermissionDenied => ": name a file where you may write",
            io::ErrorKind::StorageFull => ": make room, or record to another place",
            _ => "",
        };
        Self {
            path: path.to_owned(),
            source,
            hint,
        }
    }
}

/// The destination of the bytes.
#[derive(Debug)]
pub(crate) struct OutputTarget {
    place: TargetPlace,
    /// Number of bytes of complete pieces.
    body: u64,
    /// The bytes after the complete pieces.
    tail: Vec<u8>,
}

#[derive(Debug)]
enum TargetPlace {
    Stream(io::Stdout),
    /// A device or a pipe, in which seeking is impossible.
    Special(File),
    Regular(File, OldFiles),
    /// One file for each trigger; `None` while no file is open.
    Numbered(Option<File>, OldFiles),
}

fn options() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    options
}

impl OutputTarget {
    /// Begins a record. An existing file of this name becomes an old file.
    pub(crate) fn open(output: &CaptureOutput, keep: Option<u32>) -> Result<Self, FileError> {
        let path = &output.path;
        let fail = |source| FileError::new(path, source);
        if output.is_stream() {
            return Ok(Self::at(TargetPlace::Stream(io::stdout())));
        }
        let there = std::fs::metadata(path).ok();
        if there.as_ref().is_some_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(path).map_err(fail)?;
            return Ok(Self::at(TargetPlace::Special(file)));
        }
        let mut old = OldFiles::find(path.clone(), &output.ending, keep).map_err(fail)?;
        let file = match options().open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut file = File::options().write(true).open(path).map_err(fail)?;
                if there.is_some_and(|meta| meta.len() > 0) {
                    old.exchange(&mut file, &options()).map_err(fail)?;
                    old.remove_oldest();
                }
                file
            }
            Err(error) => return Err(fail(error)),
        };
        Ok(Self::at(TargetPlace::Regular(file, old)))
    }

    /// Begins a record with one file for each trigger; the first file begins later.
    pub(crate) fn numbered(output: &CaptureOutput, keep: Option<u32>) -> Result<Self, FileError> {
        let fail = |source| FileError::new(&output.path, source);
        let old = OldFiles::find(output.path.clone(), &output.ending, keep).map_err(fail)?;
        let (trial, _) = old.next();
        // An error is better reported now than at the first trigger.
        options()
            .open(&trial)
            .and_then(|_| std::fs::remove_file(&trial))
            .map_err(|source| FileError::new(&trial, source))?;
        Ok(Self::at(TargetPlace::Numbered(None, old)))
    }

    const fn at(place: TargetPlace) -> Self {
        Self {
            place,
            body: 0,
            tail: Vec::new(),
        }
    }

    /// Returns a target for a file that has no name of its own.
    #[cfg(test)]
    pub(crate) fn of_file(file: File) -> Self {
        let old = OldFiles::find(PathBuf::from("no-such-record"), "", None).unwrap();
        Self::at(TargetPlace::Numbered(Some(file), old))
    }

    /// Returns the number of bytes in the present file.
    pub(crate) fn len(&self) -> u64 {
        self.body + self.tail.len() as u64
    }

    /// Returns whether the present file is no longer at the path of the record, because another
    /// program has removed or moved it.
    pub(crate) fn is_gone(&self) -> bool {
        let TargetPlace::Regular(file, old) = &self.place else {
            return false;
        };
        let id = |meta: &std::fs::Metadata| (meta.dev(), meta.ino());
        match (file.metadata(), std::fs::metadata(old.path())) {
            (Ok(ours), Ok(there)) => id(&ours) != id(&there),
            (Ok(_), Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Err(_), _) => false,
        }
    }

    /// Returns whether the record can continue in another file.
    pub(crate) const fn rotates(&self) -> bool {
        matches!(self.place, TargetPlace::Regular(..))
    }

    /// Adds a piece, and replaces the bytes after it. If that fails, the file stays as before.
    pub(crate) fn put(&mut self, bytes: &[u8], tail: Vec<u8>) -> io::Result<()> {
        let done = match &mut self.place {
            TargetPlace::Stream(stdout) => stdout.write_all(bytes).and_then(|()| stdout.flush()),
            TargetPlace::Special(file) => file.write_all(bytes),
            TargetPlace::Regular(file, _) | TargetPlace::Numbered(Some(file), _) => {
                let end = self.body + bytes.len() as u64;
                let done = file
                    .write_all_at(bytes, self.body)
                    .and_then(|()| file.write_all_at(&tail, end))
                    .and_then(|()| {
                        // A footer is hardly ever shorter than the previous one, together with its
                        // row group.
                        let shorter =
                            end + (tail.len() as u64) < self.body + self.tail.len() as u64;
                        if shorter {
                            file.set_len(end + tail.len() as u64)
                        } else {
                            Ok(())
                        }
                    });
                if done.is_err() {
                    // Restore the complete pieces and their tail, as far as the disk allows it.
                    let _ = file.write_all_at(&self.tail, self.body);
                    let _ = file.set_len(self.body + self.tail.len() as u64);
                }
                done
            }
            TargetPlace::Numbered(None, _) => Err(io::ErrorKind::NotFound.into()),
        };
        done?;
        self.body += bytes.len() as u64;
        self.tail = tail;
        Ok(())
    }

    /// Closes the present file and begins the next one, empty. Returns the name of the old file.
    pub(crate) fn exchange(&mut self) -> io::Result<Option<PathBuf>> {
        let old = match &mut self.place {
            TargetPlace::Regular(file, old) => {
                let name = old.exchange(file, &options())?;
                old.remove_oldest();
                name
            }
            TargetPlace::Numbered(Some(_), _) => {
                return self.begin_numbered().map(Some).map_err(|e| e.source);
            }
            _ => return Ok(None),
        };
        self.body = 0;
        self.tail.clear();
        Ok(old)
    }

    /// Empties the present file, which contains nothing useful.
    pub(crate) fn empty(&mut self) -> io::Result<()> {
        self.body = 0;
        self.tail.clear();
        match &mut self.place {
            TargetPlace::Regular(file, _) | TargetPlace::Numbered(Some(file), _) => file.set_len(0),
            _ => Ok(()),
        }
    }

    /// Begins the file of a trigger and returns its name.
    pub(crate) fn begin_numbered(&mut self) -> Result<PathBuf, FileError> {
        let TargetPlace::Numbered(present, old) = &mut self.place else {
            return Ok(PathBuf::new());
        };
        let (name, number) = old.next();
        let file = options().open(&name);
        *present = Some(file.map_err(|source| FileError::new(&name, source))?);
        old.add(number);
        old.remove_oldest();
        self.body = 0;
        self.tail.clear();
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_that_does_not_fit_leaves_the_file_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let output = CaptureOutput::from_path(&path, None).unwrap();
        let mut target = OutputTarget::open(&output, None).unwrap();
        target.put(b"one", b"TAIL".to_vec()).unwrap();
        target.put(b"two", b"END".to_vec()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwoEND");
        let old = target.exchange().unwrap().unwrap();
        assert_eq!(old, dir.path().join("a.000001.log"));
        target.put(b"three", Vec::new()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
        drop(target);
        // A new record keeps the existing files.
        let target = OutputTarget::open(&output, None).unwrap();
        assert_eq!(target.len(), 0);
        assert_eq!(
            std::fs::read(dir.path().join("a.000002.log")).unwrap(),
            b"three"
        );
    }

    #[test]
    fn what_cannot_be_written_is_reported_with_its_name() {
        let output = CaptureOutput::from_path(Path::new("/no-such-folder/a.log"), None).unwrap();
        let error = OutputTarget::open(&output, None).unwrap_err().to_string();
        assert!(error.contains("/no-such-folder/a.log") && error.contains("folder first"));
        let full =
            CaptureOutput::from_path(Path::new("/dev/full"), Some(logs::FileFormat::Log)).unwrap();
        let mut target = OutputTarget::open(&full, None).unwrap();
        let error = target.put(b"x", Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
