//! Destinations of the bytes of a log: a file, a stream, a named pipe.

use super::lines::{first_line, whole_lines};
use super::rotation::LogRotation;
use frame::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Maximum number of bytes in one write to a pipe or terminal: one that polls as writable takes
/// them without blocking (`PIPE_BUF`, pipe(7)).
const PIECE: usize = 4096;

/// Time until a named pipe without a reader is tried again, ns. There is no event when a reader
/// comes.
const RETRY: Nanos = 50_000_000;

/// The result of a call of [`LogOutput::write`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteOutcome {
    /// Number of bytes that were written.
    Bytes(usize),
    /// The destination has no room at the moment.
    Stalled,
    /// The reader of a named pipe has closed it. The line must be written again from its start for
    /// the next reader.
    ReaderGone,
}

/// The destination of the bytes of a log.
#[derive(Debug)]
pub(super) enum LogOutput {
    /// A regular file: writing never waits for another process.
    File {
        file: File,
        /// True if the file's content ends in the middle of a line.
        torn: bool,
        rotation: Option<LogRotation>,
        /// The path at which it should be; `None` for standard output.
        place: Option<OutputPlace>,
    },
    /// Standard output or a device: polled before each write.
    Stream(File),
    /// A named pipe; there is no file while it has no known reader.
    NamedPipe {
        path: PathBuf,
        file: Option<File>,
        /// While there is no file: the pipe open for reading and writing (fifo(7)), and never read.
        /// So a program that opens the pipe for reading need not wait until a frame comes, and this
        /// process has nothing to do until a frame comes.
        keeper: Option<File>,
        /// True if the last check found no reader.
        lonely: bool,
        retry_at: Nanos,
    },
}

/// Interval of the checks whether a log is still at its path, ns.
const CHECK_INTERVAL: Nanos = 1_000_000_000;

/// Time for which the old file is used if no new one can be made, ns.
const LOOK_AGAIN: Nanos = 10_000_000_000;

/// The path of a log, and the result of the checks whether it is still there: other programs may
/// remove it or move it away (logrotate).
#[derive(Debug)]
pub(super) struct OutputPlace {
    path: PathBuf,
    /// Time of the next check.
    look_at: Nanos,
    /// Number of times that the file was gone, and a new one was begun.
    gone: u64,
    /// The reason why no new one could be made.
    why: Option<io::Error>,
}

impl OutputPlace {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self {
            path,
            look_at: 0,
            gone: 0,
            why: None,
        }
    }

    /// Returns the file to write from now on, if the present one is gone, and its length in bytes.
    fn check_file(&mut self, file: &File, now: Nanos) -> Option<(File, u64)> {
        if now < self.look_at {
            return None;
        }
        self.look_at = now.saturating_add(CHECK_INTERVAL);
        let id = |meta: &std::fs::Metadata| (meta.dev(), meta.ino());
        let ours = file.metadata().ok()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if id(&there) == id(&ours) => {
                self.why = None;
                return None;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return None,
            _ => {}
        }
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = File::options()
            .append(true)
            .create(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)
            .and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((meta, file)) if meta.is_file() => {
                self.gone += 1;
                self.why = None;
                Some((file, meta.len()))
            }
            Ok(_) => self.cannot(io::Error::other("its path is not a regular file"), now),
            Err(error) => self.cannot(error, now),
        }
    }

    fn cannot(&mut self, why: io::Error, now: Nanos) -> Option<(File, u64)> {
        self.why = Some(why);
        self.look_at = now.saturating_add(LOOK_AGAIN);
        None
    }

    fn remark(&self) -> Option<String> {
        let path = self.path.display();
        match (&self.why, self.gone) {
            (Some(why), _) => Some(format!(
                "another program removed or moved {path}, and a new file cannot be created \
                 ({why}): the log continues in the removed one"
            )),
            (None, 0) => None,
            (None, gone) => Some(format!(
                "another program removed or moved {path} {gone} times: the log continued in a new \
                 file of this name"
            )),
        }
    }
}

impl LogOutput {
    /// Opens a named pipe, which may have no reader yet.
    ///
    /// # Errors
    /// Those of open(2), except for the missing reader.
    pub(super) fn named_pipe(path: &Path) -> io::Result<Self> {
        let mut keeper = None;
        let file = find_reader(path, &mut keeper)?;
        Ok(Self::NamedPipe {
            path: path.to_owned(),
            lonely: file.is_none(),
            file,
            keeper,
            retry_at: 0,
        })
    }

    /// Returns whether the destination can be without room.
    pub(super) const fn can_stall(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// Writes some of `bytes`, without waiting. `at_line`: `bytes` begin with the start of a line.
    ///
    /// # Errors
    /// Those of write(2).
    pub(super) fn write(
        &mut self,
        now: Nanos,
        bytes: &[u8],
        at_line: bool,
    ) -> io::Result<WriteOutcome> {
        match self {
            Self::File {
                file,
                torn,
                rotation,
                place,
            } => {
                let mut piece = bytes;
                if at_line
                    && let Some(place) = place
                    && let Some((new, len)) = place.check_file(file, now)
                {
                    *file = new;
                    *torn = false;
                    if let Some(rotation) = rotation {
                        rotation.continue_from(len);
                    }
                }
                if let Some(rotation) = rotation {
                    if at_line && rotation.before_line(file, now, first_line(bytes)) {
                        *torn = false;
                    }
                    piece = rotation.piece(bytes);
                }
                if *torn {
                    match write_once(file, b"\n")? {
                        WriteOutcome::Bytes(_) => *torn = false,
                        stalled => return Ok(stalled),
                    }
                    if let Some(rotation) = rotation {
                        rotation.add_bytes(1);
                    }
                }
                let written = write_once(file, piece)?;
                if let (WriteOutcome::Bytes(n), Some(rotation)) = (written, rotation) {
                    rotation.add_bytes(n);
                }
                Ok(written)
            }
            Self::Stream(file) => write_if_ready(file, bytes),
            Self::NamedPipe {
                path,
                file,
                keeper,
                lonely,
                retry_at,
            } => {
                if file.is_none() && now >= *retry_at {
                    *file = find_reader(path, keeper)?;
                    *lonely = file.is_none();
                    *retry_at = now.saturating_add(RETRY);
                }
                let Some(open) = file else {
                    return Ok(WriteOutcome::Stalled);
                };
                match write_if_ready(open, bytes) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        // In this order, so that a reader that comes now finds a writer.
                        *keeper = open_keeper(path);
                        *file = None;
                        *lonely = true;
                        *retry_at = now.saturating_add(RETRY);
                        Ok(WriteOutcome::ReaderGone)
                    }
                    done => done,
                }
            }
        }
    }

    /// Removes the last bytes again, where that is possible. Best effort.
    pub(super) fn take_off(&mut self, bytes: usize) {
        if let Self::File { file, rotation, .. } = self
            && let Ok(end) = file.stream_position()
            && file.set_len(end.saturating_sub(bytes as u64)).is_ok()
            && let Some(rotation) = rotation
        {
            rotation.remove_bytes(bytes);
        }
    }

    /// Returns the descriptor that becomes writable when there is room, for a caller that has bytes
    /// to write.
    pub(super) fn fd(&self) -> Option<RawFd> {
        match self {
            Self::File { file, .. } | Self::Stream(file) => Some(file.as_raw_fd()),
            Self::NamedPipe { file, .. } => file.as_ref().map(AsRawFd::as_raw_fd),
        }
    }

    /// Returns the time of the next attempt for a caller that has bytes to write, where no
    /// descriptor reports it.
    pub(super) const fn deadline(&self) -> Option<Nanos> {
        match self {
            // A regular file is always writable, and some pollers refuse it.
            Self::File { .. } => Some(0),
            Self::NamedPipe {
                file: None,
                retry_at,
                ..
            } => Some(*retry_at),
            Self::Stream(_) | Self::NamedPipe { .. } => None,
        }
    }

    /// Returns a message for the user, if there is one.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::File {
                rotation, place, ..
            } => {
                let rotation = rotation.as_ref().and_then(LogRotation::remark);
                rotation.or_else(|| place.as_ref().and_then(OutputPlace::remark))
            }
            Self::NamedPipe {
                path,
                file: None,
                lonely: true,
                ..
            } => Some(format!(
                "{} is a named pipe that no program reads yet: frames for it wait",
                path.display()
            )),
            Self::Stream(_) | Self::NamedPipe { .. } => None,
        }
    }
}

/// Opens a named pipe without waiting; returns `None` if it has no reader.
fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = File::options()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Opens a named pipe that has a reader. If it has none, opens the keeper's descriptor.
///
/// The pipe has a writer at every moment, because a program that reads it would take the lack of
/// one as the end of the input.
fn find_reader(path: &Path, keeper: &mut Option<File>) -> io::Result<Option<File>> {
    if let Some(file) = open_pipe(path)? {
        // The keeper counts as a reader, too.
        *keeper = None;
        if has_reader(&file) {
            return Ok(Some(file));
        }
        *keeper = open_keeper(path);
        return Ok(None);
    }
    *keeper = open_keeper(path);
    Ok(None)
}

/// Opens the keeper's descriptor; returns `None` if this process may not read the pipe: then
/// programs that read it wait for the first frame.
fn open_keeper(path: &Path) -> Option<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = File::options()
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    opened.ok()
}

/// Returns whether a program has the other end of a pipe open. The kernel reports POLLERR if none
/// has.
fn has_reader(file: &File) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut list = [PollFd::new(file, PollFlags::OUT)];
    let _ = poll(&mut list, Some(&now));
    !list
        .iter()
        .any(|entry| entry.revents().contains(PollFlags::ERR))
}

fn write_if_ready(file: &mut File, bytes: &[u8]) -> io::Result<WriteOutcome> {
    if !is_ready(file)? {
        return Ok(WriteOutcome::Stalled);
    }
    let lines = whole_lines(bytes, PIECE);
    // A longer line goes in pieces: all of it at once could block.
    write_once(file, lines.get(..PIECE).unwrap_or(lines))
}

fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<WriteOutcome> {
    loop {
        return match file.write(bytes) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => Ok(WriteOutcome::Bytes(n)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(WriteOutcome::Stalled),
            Err(e) => Err(e),
        };
    }
}

/// Returns whether a write of [`PIECE`] bytes returns at once.
fn is_ready(file: &File) -> io::Result<bool> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&now)) {
        Ok(n) => Ok(n > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
