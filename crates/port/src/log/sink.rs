//! A candump log as the transmitting half of a port.

use super::output::{LogOutput, WriteOutcome};
use super::target;
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollTransmit, PortError, PortWait, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::Nanos;
use frame::text::LogLine;
use logs::InterfaceName;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io;
use std::path::Path;

/// Maximum number of bytes of lines that are kept until they can be written: some 10000 classic
/// frames.
const BUFFER: usize = 512 * 1024;

/// Maximum length of a line, bytes: an XL frame with 2048 bytes of payload.
const LONGEST_LINE: usize = 4352;

const SECOND: Nanos = 1_000_000_000;

/// Pause until a file that cannot be written is tried again, ns: twice as long each time, up to a
/// minute.
const PAUSE: Nanos = SECOND;
const LONGEST_PAUSE: Nanos = 60 * SECOND;

/// The configuration of a log that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SinkConfig {
    /// The name of the interface in each line.
    pub interface: InterfaceName,
    /// Offset of the log's time from the gateway's time: the Unix time at which the gateway's clock
    /// was 0. Stamps that a route keeps are written as they are.
    pub epoch: Nanos,
}

/// The sink that writes a candump log, byte for byte as `candump -l` does.
///
/// Lines are collected and written by [`Transmit::flush`]. Only whole lines are written: if a
/// full disk ends a write in the middle of a line, that line is removed from the file again.
pub struct LogSink {
    port: String,
    name: String,
    output: LogOutput,
    config: SinkConfig,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that are written.
    written: usize,
    broken: bool,
    /// While it is broken: time of the next attempt; never where absent.
    retry_at: Option<Nanos>,
    /// Pause until the next attempt, ns.
    pause: Nanos,
    counters: TxCounters,
}

impl LogSink {
    /// Creates a file, or empties it if it exists; `-` is standard output.
    ///
    /// # Errors
    /// [`PortError`] if it cannot be created.
    pub fn create(port: &str, path: &Path, config: SinkConfig) -> Result<Self, PortError> {
        let (output, emptied) = target::open(path, target::OpenMode::default())
            .map_err(|source| target::failed(port, "create", path, source))?;
        if let Some(mut emptied) = emptied {
            let result = emptied.empty();
            result.map_err(|source| target::failed(port, "empty", path, source))?;
        }
        Ok(Self::new(port, target::name(path), output, config))
    }

    /// Writes to an open file; `name` is for messages.
    #[must_use]
    pub fn from_file(port: &str, name: &str, file: File, config: SinkConfig) -> Self {
        Self::new(port, name.to_owned(), target::of_file(file), config)
    }

    pub(super) fn new(port: &str, name: String, output: LogOutput, config: SinkConfig) -> Self {
        Self {
            port: port.to_owned(),
            name,
            output,
            config,
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            broken: false,
            retry_at: None,
            pause: PAUSE,
            counters: TxCounters::default(),
        }
    }

    /// Writes as much as possible without waiting; returns the number of frames that left.
    fn write_out(&mut self, now: Nanos) -> io::Result<usize> {
        let mut frames = 0;
        while self.written < self.buffer.len() {
            let rest = &self.buffer[self.written..];
            let at_line = self.line_start() == self.written;
            match self.output.write(now, rest, at_line)? {
                WriteOutcome::Bytes(n) => {
                    // A line counts when its last byte is written.
                    let lines = rest.iter().take(n).filter(|b| **b == b'\n').count();
                    frames += lines;
                    self.counters.sent += lines as u64;
                    self.written += n;
                }
                WriteOutcome::Stalled => {
                    self.counters.stalled += 1;
                    break;
                }
                WriteOutcome::ReaderGone => {
                    self.written = self.line_start();
                    self.counters.stalled += 1;
                    break;
                }
            }
        }
        if self.written == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
            if frames > 0 {
                self.pause = PAUSE;
            }
        }
        Ok(frames)
    }

    /// Returns the start of the first line that is not completely written.
    fn line_start(&self) -> usize {
        let newline = |byte: &u8| *byte == b'\n';
        let done = &self.buffer[..self.written];
        done.iter().rposition(newline).map_or(0, |at| at + 1)
    }

    /// Frees the written lines at the buffer's beginning, and moves the rest there.
    fn make_room(&mut self, now: Nanos) {
        let done = self.line_start();
        self.buffer.drain(..done);
        self.written -= done;
        // A regular file takes everything at once. The next flush reports an error: the bytes that
        // could not be written are still there.
        if !self.output.can_stall() && self.buffer.capacity() - self.buffer.len() < LONGEST_LINE {
            let _ = self.write_out(now);
        }
    }

    /// Gives up writing for now: the frames that are held are lost, and an incomplete line at the
    /// file's end is removed. A regular file is tried again after a while, because a disk that is
    /// full may have room later; a reader that has closed its end does not come back.
    fn give_up(&mut self, now: Nanos) {
        self.retry_at = None;
        if !self.output.can_stall() {
            self.retry_at = Some(now.saturating_add(self.pause));
            self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
        let begun = self.written - self.line_start();
        if begun > 0 {
            // Best effort: the write's error is the one to report.
            self.output.take_off(begun);
        }
        self.broken = true;
        self.counters.lost = self.counters.taken - self.counters.sent;
        self.buffer.clear();
        self.written = 0;
    }
}

/// Adapter that formats text into a byte buffer, as far as there is room.
struct TextBuffer<'a>(&'a mut Vec<u8>);

impl fmt::Write for TextBuffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.capacity() - self.0.len() < text.len() {
            return Err(fmt::Error);
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Transmit for LogSink {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if self.broken {
            if self.retry_at.is_none_or(|at| now < at) {
                return Err(TransmitRefusal::Down);
            }
            self.broken = false;
        }
        if self.buffer.capacity() - self.buffer.len() < LONGEST_LINE {
            self.make_room(now);
        }
        let line = LogLine {
            stamp: match outgoing.stamp {
                Some(stamp) => stamp.ns,
                None => now.saturating_add(self.config.epoch),
            },
            interface: self.config.interface.as_str(),
            frame: outgoing.frame,
            direction: None,
        };
        let before = self.buffer.len();
        if writeln!(TextBuffer(&mut self.buffer), "{line}").is_err() {
            self.buffer.truncate(before);
            return Err(TransmitRefusal::Full);
        }
        self.counters.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        match self.write_out(now) {
            Ok(sent) => {
                let held = self.counters.taken - self.counters.sent - self.counters.lost;
                self.counters.held = held;
                Ok(FlushReport {
                    sent,
                    held: usize::try_from(held).unwrap_or(usize::MAX),
                })
            }
            Err(source) => {
                let pause = self.pause;
                self.give_up(now);
                let lost = self.counters.lost;
                let what = match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        format!("no room left for {}: {lost} frames are lost", self.name)
                    }
                    io::ErrorKind::FileTooLarge => format!(
                        "{} has reached the maximum file size (`ulimit -f`): {lost} frames are \
                         lost",
                        self.name
                    ),
                    io::ErrorKind::BrokenPipe => {
                        format!(
                            "the reader of {} is gone: {lost} frames are lost",
                            self.name
                        )
                    }
                    _ => format!("cannot write {}: {lost} frames are lost", self.name),
                };
                let again = self.retry_at.map(|_| {
                    let seconds = pause / SECOND;
                    format!(", and it is tried again in {seconds} s")
                });
                Err(PortError {
                    port: self.port.clone(),
                    what: what + again.as_deref().unwrap_or_default(),
                    source: Some(source.into()),
                })
            }
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        let waits = self.written < self.buffer.len();
        waits.then(|| self.output.deadline()).flatten()
    }

    fn room(&self) -> usize {
        if self.broken || !self.output.can_stall() {
            return usize::MAX;
        }
        let used = self.buffer.len() - self.written;
        // Reserve the space of one line, of which a part may be written.
        let free = (self.buffer.capacity() - used).saturating_sub(LONGEST_LINE);
        free / LONGEST_LINE
    }

    fn retry_at(&self) -> Option<Nanos> {
        self.retry_at.filter(|_| self.broken)
    }

    fn remarks(&self) -> Vec<String> {
        self.output.remark().into_iter().collect()
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.counters.taken - self.counters.sent - self.counters.lost,
            ..self.counters
        }
    }
}

impl PollTransmit for LogSink {
    fn wait(&self) -> PortWait {
        let held = self.written < self.buffer.len();
        PortWait {
            fd: self.output.fd().filter(|_| held),
            readable: false,
            writable: held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_reported() {
        use frame::{CanId, FrameBuf, Header, Kind, XlFields};
        let mut xl = FrameBuf::new();
        let header = Header::new(Kind::Xl, CanId::from_raw(0x7FF), 2048).unwrap();
        xl.reset(header.with_xl(XlFields::default()));
        let line = LogLine {
            stamp: Nanos::MAX,
            interface: "exactly15bytes!",
            frame: xl.view(),
            direction: None,
        };
        let length = format!("{line}\n").len();
        assert!((4096..=LONGEST_LINE).contains(&length), "{length}");
    }
}
