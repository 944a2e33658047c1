//! Where the bytes of a log go: a file, a stream, a named pipe.

use super::rotation::Rotation;
use frame::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// At most so much at once to a pipe or terminal: one that polls as writable takes it without
/// blocking (`PIPE_BUF`, pipe(7)).
const PIECE: usize = 4096;

/// How long until a named pipe without a reader is tried again, ns. Nothing tells when one comes.
const RETRY: Nanos = 50_000_000;

/// What a call of [`Output::write`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// So many bytes were written.
    Bytes(usize),
    /// There is no room at the moment.
    Stalled,
    /// The reader of a named pipe has gone. For the next one the line begins anew.
    ReaderGone,
}

/// Where the bytes of a log go.
#[derive(Debug)]
pub(super) enum Output {
    /// A regular file: writing waits for nobody.
    File {
        file: File,
        /// What stands in it ends in the middle of a line.
        torn: bool,
        rotation: Option<Rotation>,
    },
    /// Standard output, a device: ask before writing.
    Stream(File),
    /// A named pipe; no file while it has no reader.
    NamedPipe {
        path: PathBuf,
        file: Option<File>,
        retry_at: Nanos,
    },
}

impl Output {
    /// A named pipe, which may have no reader yet.
    ///
    /// # Errors
    /// Those of open(2), but for the missing reader.
    pub(super) fn named_pipe(path: &Path) -> io::Result<Self> {
        Ok(Self::NamedPipe {
            path: path.to_owned(),
            file: open_pipe(path)?,
            retry_at: 0,
        })
    }

    /// Can it be without room?
    pub(super) const fn can_stall(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// Writes some of `bytes`, without waiting. `at_line`: a line begins there.
    ///
    /// # Errors
    /// Those of write(2).
    pub(super) fn write(&mut self, now: Nanos, bytes: &[u8], at_line: bool) -> io::Result<Written> {
        match self {
            Self::File {
                file,
                torn,
                rotation,
            } => {
                let mut piece = bytes;
                if let Some(rotation) = rotation {
                    if at_line && rotation.before_line(file, now, first_line(bytes)) {
                        *torn = false;
                    }
                    piece = rotation.piece(bytes);
                }
                if *torn {
                    match write_once(file, b"\n")? {
                        Written::Bytes(_) => *torn = false,
                        stalled => return Ok(stalled),
                    }
                    if let Some(rotation) = rotation {
                        rotation.wrote(1);
                    }
                }
                let written = write_once(file, piece)?;
                if let (Written::Bytes(n), Some(rotation)) = (written, rotation) {
                    rotation.wrote(n);
                }
                Ok(written)
            }
            Self::Stream(file) => write_if_ready(file, bytes),
            Self::NamedPipe {
                path,
                file,
                retry_at,
            } => {
                if file.is_none() && now >= *retry_at {
                    *file = open_pipe(path)?;
                    *retry_at = now.saturating_add(RETRY);
                }
                let Some(open) = file else {
                    return Ok(Written::Stalled);
                };
                match write_if_ready(open, bytes) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        *file = None;
                        *retry_at = now.saturating_add(RETRY);
                        Ok(Written::ReaderGone)
                    }
                    done => done,
                }
            }
        }
    }

    /// Takes the last bytes off again, where that is possible. Best effort.
    pub(super) fn take_off(&mut self, bytes: usize) {
        if let Self::File { file, rotation, .. } = self
            && let Ok(end) = file.stream_position()
            && file.set_len(end.saturating_sub(bytes as u64)).is_ok()
            && let Some(rotation) = rotation
        {
            rotation.took_off(bytes);
        }
    }

    /// While something waits to be written: the descriptor that says when there is room.
    pub(super) fn fd(&self) -> Option<RawFd> {
        match self {
            Self::File { file, .. } | Self::Stream(file) => Some(file.as_raw_fd()),
            Self::NamedPipe { file, .. } => file.as_ref().map(AsRawFd::as_raw_fd),
        }
    }

    /// While something waits to be written: when to try again, where no descriptor says so.
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

    /// What a user should know.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::File { rotation, .. } => rotation.as_ref().and_then(Rotation::remark),
            Self::NamedPipe {
                path, file: None, ..
            } => Some(format!(
                "{} is a named pipe that no program reads: frames for it wait until one does",
                path.display()
            )),
            Self::Stream(_) | Self::NamedPipe { .. } => None,
        }
    }
}

/// Opens a named pipe without waiting; nothing where it has no reader.
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

fn write_if_ready(file: &mut File, bytes: &[u8]) -> io::Result<Written> {
    if !is_ready(file)? {
        return Ok(Written::Stalled);
    }
    let lines = whole_lines(bytes, PIECE);
    // A longer line goes in pieces: all of it at once could block.
    write_once(file, lines.get(..PIECE).unwrap_or(lines))
}

fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<Written> {
    loop {
        return match file.write(bytes) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => Ok(Written::Bytes(n)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Written::Stalled),
            Err(e) => Err(e),
        };
    }
}

/// Does a write of [`PIECE`] bytes return at once?
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

/// The length of the first line, with its end.
fn first_line(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.map_or(bytes.len(), |at| at + 1)
}

/// The beginning of `bytes` that has whole lines and at most `limit` bytes; if the first line
/// is longer than that, the line.
pub(super) fn whole_lines(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let (head, _) = bytes.split_at(limit);
    let end = match head.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None => first_line(bytes),
    };
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_a_line() {
        assert_eq!(whole_lines(b"ab\ncd\nef\n", 7), b"ab\ncd\n");
        assert_eq!(whole_lines(b"ab\ncd\n", 7), b"ab\ncd\n");
        assert_eq!(whole_lines(b"abcdefgh\ncd\n", 4), b"abcdefgh\n");
    }
}
