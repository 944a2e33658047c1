//! Opens the destination of a log, so that a start that fails does no harm.
//!
//! An existing file is opened and left as it is. It is emptied when everything else of the
//! start has succeeded ([`AtStart`]). That is as safe as writing another file and renaming it
//! at the end (at every moment the name refers to the old log or to the new one), and it needs no
//! right to create files in the folder, keeps the file's owner, permissions and links, follows
//! symbolic links, and a process that is killed leaves no temporary file behind.

use super::output::{LogOutput, OutputPlace};
use super::rotation::{LogRotation, RotationRule};
use crate::{AtStart, PortError};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The way to open a file that may exist.
#[derive(Clone, Copy, Default)]
pub(super) struct OpenMode {
    /// Keep its content, and append the log to it.
    pub(super) append: bool,
    /// True if this run has written to it before.
    pub(super) continued: bool,
    /// When to continue in another file.
    pub(super) rotate: Option<RotationRule>,
}

/// Files that this run writes: if they are opened again after a reload, they are continued.
#[derive(Clone, Default)]
pub(super) struct BegunFiles(Arc<Mutex<HashSet<PathBuf>>>);

impl BegunFiles {
    pub(super) fn contains(&self, path: &Path) -> bool {
        let paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.contains(path)
    }

    fn insert(&self, path: &Path) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.insert(path.to_owned());
    }
}

/// A file that will be emptied, or that was created. If it is dropped without being emptied, it is
/// as it was before: a file that was created is removed.
pub(super) struct FreshFile {
    file: File,
    path: PathBuf,
    created: bool,
    /// True if its old content will be removed.
    emptied: bool,
    done: bool,
}

impl FreshFile {
    pub(super) fn empty(&mut self) -> io::Result<()> {
        if self.emptied {
            self.file.set_len(0)?;
        }
        self.done = true;
        Ok(())
    }
}

impl Drop for FreshFile {
    fn drop(&mut self) {
        let untouched = |meta: &Metadata| {
            let same = same_file(meta, &self.path);
            same && meta.len() == 0
        };
        if self.created && !self.done && self.file.metadata().is_ok_and(|meta| untouched(&meta)) {
            // If the path is a symbolic link, remove the file and not the link. Best effort.
            if let Ok(path) = fs::canonicalize(&self.path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The actions on a port's file that are deferred until the start has succeeded.
pub(super) struct FileBegin {
    pub(super) port: String,
    pub(super) path: PathBuf,
    pub(super) fresh: Option<FreshFile>,
    pub(super) begun: BegunFiles,
}

impl AtStart for FileBegin {
    fn start(&mut self) -> Result<(), PortError> {
        if let Some(fresh) = &mut self.fresh {
            let emptied = fresh.empty();
            emptied.map_err(|source| failed(&self.port, "empty", &self.path, source))?;
        }
        self.begun.insert(&self.path);
        Ok(())
    }
}

/// Opens the destination of a log; `-` is standard output. Never waits for another process, and
/// does not change an existing file.
pub(super) fn open(path: &Path, how: OpenMode) -> io::Result<(LogOutput, Option<FreshFile>)> {
    if path == Path::new("-") {
        return Ok((standard_output()?, None));
    }
    let (file, created) = match fs::metadata(path) {
        Ok(meta) if how.rotate.is_some() && (!meta.is_file() || is_standard_output(&meta)) => {
            let why = "`rotate` needs a regular file: leave it out";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(meta) if is_standard_output(&meta) => return Ok((standard_output()?, None)),
        Ok(meta) if meta.file_type().is_fifo() => return Ok((LogOutput::named_pipe(path)?, None)),
        Ok(_) => (open_existing(path)?, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Another program may create it in this moment, and then this process must not empty
            // it.
            let mut how = File::options();
            (
                how.write(true).create(true).truncate(false).open(path)?,
                true,
            )
        }
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok((LogOutput::Stream(file), None));
    }
    // Before everything else, so that every error from here on removes a new file again.
    let keep = how.append || how.continued;
    let mut fresh = FreshFile {
        file: file.try_clone()?,
        path: path.to_owned(),
        created,
        emptied: !keep && how.rotate.is_none() && meta.len() > 0,
        done: false,
    };
    // At a reload the old sink and the new one are open at once for a moment: each appends to the
    // lines that the other has written.
    fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::APPEND)?;
    let rotation = match how.rotate {
        None => None,
        Some(rotate) => Some(LogRotation::new(
            rotate,
            fs::canonicalize(path)?,
            meta.len(),
            !keep,
        )?),
    };
    let torn = how.append && !how.continued && meta.len() > 0 && !ends_with_a_line(path);
    fresh.done = !fresh.created && !fresh.emptied;
    let output = LogOutput::File {
        file,
        torn,
        rotation,
        place: Some(OutputPlace::new(path.to_owned())),
    };
    Ok((output, Some(fresh)))
}

/// Returns the output to an open file, which is written from its present position.
pub(super) fn of_file(file: File) -> LogOutput {
    if file.metadata().is_ok_and(|meta| meta.is_file()) {
        LogOutput::File {
            file,
            torn: false,
            rotation: None,
            place: None,
        }
    } else {
        LogOutput::Stream(file)
    }
}

/// Returns the file's name in messages.
pub(super) fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard output".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Returns the error of an operation on a port's file.
pub(super) fn failed(port: &str, verb: &str, path: &Path, source: io::Error) -> PortError {
    PortError {
        port: port.to_owned(),
        what: format!("cannot {verb} {}", name(path)),
        source: Some(source.into()),
    }
}

/// Opens a file without waiting. A terminal must not become the controlling terminal of this
/// process.
fn open_existing(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Returns standard output. A pipe is opened anew, because making it non-blocking would make it so
/// for every process that shares it.
fn standard_output() -> io::Result<LogOutput> {
    let shared = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let is_pipe = shared
        .metadata()
        .is_ok_and(|meta| meta.file_type().is_fifo());
    let own = is_pipe.then(|| open_existing(Path::new("/proc/self/fd/1")).ok());
    Ok(of_file(own.flatten().unwrap_or(shared)))
}

fn is_standard_output(meta: &Metadata) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let stdout = stdout.and_then(|file| file.metadata());
    stdout.is_ok_and(|stdout| id(&stdout) == id(meta) && !stdout.file_type().is_char_device())
}

fn same_file(meta: &Metadata, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|other| id(&other) == id(meta))
}

fn id(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// Returns whether a file ends with a complete line. A file that cannot be read may end anywhere:
/// false, because an additional empty line does no harm.
fn ends_with_a_line(path: &Path) -> bool {
    let last = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    last().is_ok_and(|byte| byte == b'\n')
}
