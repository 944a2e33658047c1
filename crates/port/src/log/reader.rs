//! A candump log, read from beginning to end.

use super::bad::{BadLine, BadLines, Fault};
use super::lines::{Lines, Text};
use super::name::InterfaceName;
use frame::text::{Direction, parse_line};
use frame::{FrameBuf, Nanos};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What a line says besides its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The line's number, from 1.
    pub line: u64,
    /// Nanoseconds since the log's epoch, nearly always Unix's.
    pub ns: Nanos,
    /// The interface.
    pub interface: InterfaceName,
    /// Received or sent, where the log says so.
    pub direction: Option<Direction>,
}

/// A line of a log with its frame.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// What the line says besides the frame.
    pub logged: Logged,
    /// The frame.
    pub frame: FrameBuf,
}

/// Why a line or a whole log could not be read.
#[derive(thiserror::Error, Debug)]
pub enum LogError {
    /// One line is bad; reading goes on with the next.
    #[error("{name}: {line}")]
    Bad {
        /// The log's name.
        name: String,
        /// The line.
        line: BadLine,
    },
    /// The log cannot be read (any further).
    #[error("{name}: cannot be read: {source}")]
    Read {
        /// The log's name.
        name: String,
        /// The operating system's error.
        source: io::Error,
    },
}

/// What became of one line.
pub(super) enum Step {
    /// A frame; it is in the buffer.
    Frame(Logged),
    Bad(BadLine),
    /// Empty, a comment, or of another interface.
    Other,
    /// More input is needed.
    Starved,
}

/// Lines to frames, wherever the bytes come from.
pub(super) struct Scanner {
    pub(super) lines: Lines,
    pub(super) bad: BadLines,
    pub(super) only: Option<InterfaceName>,
    /// Frames of other interfaces, and the first of those.
    pub(super) elsewhere: u64,
    pub(super) other: Option<InterfaceName>,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            lines: Lines::new(),
            bad: BadLines::new(),
            only: None,
            elsewhere: 0,
            other: None,
        }
    }

    /// Looks at one line. `last`: no more input will come.
    pub(super) fn step(&mut self, frame: &mut FrameBuf, last: bool) -> Step {
        let parsed = match self.lines.next(last) {
            None => return Step::Starved,
            Some(Text::TooLong) => Err(Fault::TooLong),
            Some(Text::Whole(line)) => parse_line(line, frame).map_err(Fault::Text).map(|entry| {
                // The parser takes no name that is longer than InterfaceName::MAX.
                entry.map(|e| {
                    let name = InterfaceName::new(e.interface).unwrap_or_default();
                    (e.stamp, e.direction, name)
                })
            }),
        };
        let line = self.lines.number();
        match parsed {
            Err(fault) => {
                let bad = BadLine {
                    number: line,
                    fault,
                };
                self.bad.add(bad);
                Step::Bad(bad)
            }
            Ok(None) => Step::Other,
            Ok(Some((_, _, name))) if self.only.is_some_and(|only| only != name) => {
                self.elsewhere += 1;
                self.other.get_or_insert(name);
                Step::Other
            }
            Ok(Some((ns, direction, interface))) => Step::Frame(Logged {
                line,
                ns,
                interface,
                direction,
            }),
        }
    }
}

/// Reads a candump log: a stream of any length, in bounded memory.
///
/// Bad lines are reported one by one and counted in [`LogReader::bad`]; what comes after them is
/// read all the same. As an iterator it gives each frame with its stamp; [`LogReader::read`] does
/// the same without copying the frame.
///
/// ```
/// use port::log::LogReader;
///
/// let log = "(0.001000) can0 123#11\nnonsense\n(0.002000) can1 00000123#R\n";
/// let mut reader = LogReader::new(log.as_bytes(), "example");
/// let frames: Vec<String> = reader
///     .by_ref()
///     .filter_map(Result::ok)
///     .map(|entry| format!("{} {}", entry.logged.interface, entry.frame.view()))
///     .collect();
/// assert_eq!(frames, ["can0 123#11", "can1 00000123#R"]);
/// assert_eq!(reader.bad().count(), 1);
/// assert_eq!(reader.bad().first()[0].number, 2);
/// ```
pub struct LogReader<R> {
    input: R,
    name: String,
    scanner: Scanner,
    last: bool,
    finished: bool,
}

impl LogReader<File> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`LogError::Read`].
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::new(file, name)),
            Err(source) => Err(LogError::Read { name, source }),
        }
    }
}

impl<R: Read> LogReader<R> {
    /// Reads from anything. `name` is for messages.
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Self {
            input,
            name: name.into(),
            scanner: Scanner::new(),
            last: false,
            finished: false,
        }
    }

    /// Only frames of this interface.
    #[must_use]
    pub fn only(mut self, interface: InterfaceName) -> Self {
        self.scanner.only = Some(interface);
        self
    }

    /// The next frame goes into `frame`; `None` after the last one.
    ///
    /// # Errors
    /// [`LogError::Bad`] for a bad line, after which reading goes on; [`LogError::Read`] once,
    /// after which the log is at its end.
    pub fn read(&mut self, frame: &mut FrameBuf) -> Result<Option<Logged>, LogError> {
        while !self.finished {
            match self.scanner.step(frame, self.last) {
                Step::Frame(logged) => return Ok(Some(logged)),
                Step::Bad(line) => {
                    return Err(LogError::Bad {
                        name: self.name.clone(),
                        line,
                    });
                }
                Step::Other => {}
                Step::Starved if self.last => self.finished = true,
                Step::Starved => match self.scanner.lines.fill(&mut self.input) {
                    Ok(n) => self.last = n == 0,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(source) => {
                        self.finished = true;
                        return Err(LogError::Read {
                            name: self.name.clone(),
                            source,
                        });
                    }
                },
            }
        }
        Ok(None)
    }

    /// The bad lines so far.
    #[must_use]
    pub fn bad(&self) -> &BadLines {
        &self.scanner.bad
    }

    /// Frames of other interfaces that were left out so far.
    #[must_use]
    pub const fn elsewhere(&self) -> u64 {
        self.scanner.elsewhere
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = Result<LogEntry, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut frame = FrameBuf::new();
        match self.read(&mut frame) {
            Ok(None) => None,
            Ok(Some(logged)) => Some(Ok(LogEntry { logged, frame })),
            Err(error) => Some(Err(error)),
        }
    }
}
