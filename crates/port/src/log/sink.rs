//! A candump log as the transmitting half of a port.

use super::lines::MAX_LINE;
use super::name::InterfaceName;
use crate::{
    Accepted, FlushReport, Outgoing, PollTransmit, PortError, Refused, Transmit, TxCounters, Wait,
};
use frame::Nanos;
use frame::text::Line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// Bytes of lines that are kept until they can be written: some 5000 classic frames.
const BUFFER: usize = 256 * 1024;

/// At most so much at once to a pipe or terminal: one that polls as writable takes it without
/// blocking (`PIPE_BUF`, pipe(7)).
const PIECE: usize = 4096;

/// What a log is written with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SinkConfig {
    /// The interface that stands in each line.
    pub interface: InterfaceName,
    /// What is added to the gateway's time to get the log's: the Unix time at which the
    /// gateway's clock was 0. Stamps that a route keeps are written as they are.
    pub epoch: Nanos,
}

/// Writes a candump log, byte for byte as `candump -l` does.
///
/// Lines are collected and written by [`Transmit::flush`]. Only whole lines are written: where a
/// full disk ends a write in the middle of one, that one is taken off the file again.
pub struct LogSink {
    port: String,
    name: String,
    file: File,
    /// Writing to it may wait for somebody: ask before.
    pollable: bool,
    config: SinkConfig,
    buffer: Vec<u8>,
    /// So much of the buffer is written.
    written: usize,
    broken: bool,
    counters: TxCounters,
}

impl LogSink {
    /// Creates a file, or empties it where it exists; `-` is standard output. Opening a named
    /// pipe waits for its reader.
    ///
    /// # Errors
    /// [`PortError`] where it cannot be created.
    pub fn create(port: &str, path: &Path, config: SinkConfig) -> Result<Self, PortError> {
        Self::open(port, path, config, false)
    }

    /// As [`Self::create`], but what stands in the file stays: for a port that is opened again
    /// in one run, whose frames up to then are counted as sent.
    ///
    /// # Errors
    /// [`PortError`] where it cannot be opened.
    pub fn append(port: &str, path: &Path, config: SinkConfig) -> Result<Self, PortError> {
        Self::open(port, path, config, true)
    }

    fn open(port: &str, path: &Path, config: SinkConfig, keep: bool) -> Result<Self, PortError> {
        let stdout = path == Path::new("-");
        let name = if stdout {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        let file = if stdout {
            io::stdout().as_fd().try_clone_to_owned().map(File::from)
        } else {
            let mut how = File::options();
            how.write(true).create(true).truncate(!keep).open(path)
        };
        // At a reload the old sink and the new one are open at once for a moment: each writes
        // behind what the other has written.
        let file = file.and_then(|file| {
            if !stdout && file.metadata()?.is_file() {
                fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::APPEND)?;
            }
            Ok(file)
        });
        let failed = |source: io::Error| PortError {
            port: port.to_owned(),
            what: format!("cannot create {name}"),
            source: Some(source.into()),
        };
        Ok(Self::from_file(port, &name, file.map_err(failed)?, config))
    }

    /// Writes to an open file; `name` is for messages.
    #[must_use]
    pub fn from_file(port: &str, name: &str, file: File, config: SinkConfig) -> Self {
        let regular = file.metadata().is_ok_and(|meta| meta.is_file());
        Self {
            port: port.to_owned(),
            name: name.to_owned(),
            file,
            pollable: !regular,
            config,
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            broken: false,
            counters: TxCounters::default(),
        }
    }

    /// Writes what can be written without waiting; the frames that left.
    fn write_out(&mut self) -> io::Result<usize> {
        let mut frames = 0;
        while self.written < self.buffer.len() {
            let rest = &self.buffer[self.written..];
            let piece = if self.pollable {
                if !self.ready()? {
                    self.counters.stalled += 1;
                    break;
                }
                whole_lines(rest, PIECE)
            } else {
                rest
            };
            match self.file.write(piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    // A line counts when its last byte is written.
                    let lines = piece.iter().take(n).filter(|b| **b == b'\n').count();
                    frames += lines;
                    self.counters.sent += lines as u64;
                    self.written += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.counters.stalled += 1;
                    break;
                }
                Err(e) => return Err(e),
            }
        }
        if self.written == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
        }
        Ok(frames)
    }

    /// Does a write of [`PIECE`] bytes return at once?
    fn ready(&self) -> io::Result<bool> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&now)) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Nothing more can be written: what is held is lost, and the beginning of a line at the
    /// file's end is taken off.
    fn give_up(&mut self) {
        let done = &self.buffer[..self.written];
        let begun = done.len()
            - done
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |at| at + 1);
        if begun > 0 && !self.pollable {
            // Best effort: the write's error is the one to report.
            if let Ok(end) = self.file.stream_position() {
                let _ = self.file.set_len(end.saturating_sub(begun as u64));
            }
        }
        self.broken = true;
        self.counters.lost = self.counters.taken - self.counters.sent;
        self.buffer.clear();
        self.written = 0;
    }
}

/// The beginning of `bytes` that has whole lines and at most `limit` bytes; if the first line
/// is longer than that, the line.
fn whole_lines(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let newline = |b: &u8| *b == b'\n';
    let (head, tail) = bytes.split_at(limit);
    let end = match head.iter().rposition(newline) {
        Some(at) => at + 1,
        None => {
            limit
                + tail
                    .iter()
                    .position(newline)
                    .map_or(tail.len(), |at| at + 1)
        }
    };
    &bytes[..end]
}

/// Lets text be formatted into bytes, as far as there is room.
struct Room<'a>(&'a mut Vec<u8>);

impl fmt::Write for Room<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.capacity() - self.0.len() < text.len() {
            return Err(fmt::Error);
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Transmit for LogSink {
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        if self.broken {
            return Err(Refused::Down);
        }
        if self.written > 0 && self.buffer.capacity() - self.buffer.len() < MAX_LINE {
            self.buffer.drain(..self.written);
            self.written = 0;
        }
        let line = Line {
            stamp: match outgoing.stamp {
                Some(stamp) => stamp.ns,
                None => now.saturating_add(self.config.epoch),
            },
            interface: self.config.interface.as_str(),
            frame: outgoing.frame,
            direction: None,
        };
        let before = self.buffer.len();
        if writeln!(Room(&mut self.buffer), "{line}").is_err() {
            self.buffer.truncate(before);
            return Err(Refused::Full);
        }
        self.counters.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        match self.write_out() {
            Ok(sent) => {
                let held = self.counters.taken - self.counters.sent - self.counters.lost;
                self.counters.held = held;
                Ok(FlushReport {
                    sent,
                    held: usize::try_from(held).unwrap_or(usize::MAX),
                })
            }
            Err(source) => {
                self.give_up();
                let lost = self.counters.lost;
                let what = match source.kind() {
                    io::ErrorKind::StorageFull => {
                        format!("no room left for {}: {lost} frames are lost", self.name)
                    }
                    io::ErrorKind::BrokenPipe => {
                        format!("whoever read {} is gone: {lost} frames are lost", self.name)
                    }
                    _ => format!("cannot write {}: {lost} frames are lost", self.name),
                };
                Err(PortError {
                    port: self.port.clone(),
                    what,
                    source: Some(source.into()),
                })
            }
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        // A regular file is always writable, and some pollers refuse it.
        let at_once = self.written < self.buffer.len() && !self.pollable;
        at_once.then_some(0)
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.counters.taken - self.counters.sent - self.counters.lost,
            ..self.counters
        }
    }
}

impl PollTransmit for LogSink {
    fn wait(&self) -> Wait {
        let held = self.written < self.buffer.len();
        Wait {
            fd: held.then(|| self.file.as_raw_fd()),
            readable: false,
            writable: held,
        }
    }
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
