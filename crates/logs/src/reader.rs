//! A reader of a log from beginning to end.

use crate::bad::{BadLine, BadLines};
use crate::format::FileFormat;
use crate::name::InterfaceName;
use crate::read::PassedRecords;
use crate::recognise::OtherKind;
use crate::scanner::{LogScanner, LoggedFrame, MissingFrames, ScanStep};
use crate::unpack::{UnpackedInput, is_torn};
use frame::FrameBuf;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A frame of a log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The information of the log in addition to the frame.
    pub logged: LoggedFrame,
    /// The frame.
    pub frame: FrameBuf,
}

/// The reason why a part of a log or a whole log could not be read.
#[derive(thiserror::Error, Debug)]
pub enum LogError {
    /// One line or block is bad; reading continues with the next.
    #[error("{name}: {line}")]
    Bad {
        /// The log's name.
        name: String,
        /// The line.
        line: BadLine,
    },
    /// Nothing after this place can be read.
    #[error("{name}: {line}; nothing after it can be read")]
    Lost {
        /// The log's name.
        name: String,
        /// The place and the reason.
        line: BadLine,
    },
    /// The input is not a log.
    #[error(
        "{name}: not a log file: {looks}\nlogs are {list}, also compressed by gzip or zstd",
        list = FileFormat::read_titles()
    )]
    Unknown {
        /// Its name.
        name: String,
        /// The description of the input.
        looks: OtherKind,
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

/// Reads a log of any format: a stream of any length, in bounded memory. Input packed by gzip or
/// Zstandard is unpacked while it is read.
///
/// Bad lines are reported one by one and counted in [`LogReader::bad`]; reading continues after
/// them. As an iterator, it returns each frame with its stamp; [`LogReader::read`] does the same
/// without copying the frame.
///
/// ```
/// use logs::LogReader;
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
/// assert_eq!(reader.bad().first()[0].place.number(), 2);
/// ```
pub struct LogReader<R: Read> {
    input: UnpackedInput<R>,
    name: String,
    scanner: LogScanner,
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
    /// Creates a reader of any input. `name` is for messages.
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Self {
            input: UnpackedInput::new(input),
            name: name.into(),
            scanner: LogScanner::new(None),
            last: false,
            finished: false,
        }
    }

    /// Reads this format, regardless of the beginning. Must be called before anything is read.
    #[must_use]
    pub fn with_format(mut self, format: Option<FileFormat>) -> Self {
        let only = self.scanner.interface();
        self.scanner = LogScanner::new(format).only(only);
        self
    }

    /// Selects the frames of this interface.
    #[must_use]
    pub fn only(mut self, interface: InterfaceName) -> Self {
        self.scanner = self.scanner.only(Some(interface));
        self
    }

    /// Returns the format of the log: reads as much as is needed to recognise it.
    ///
    /// # Errors
    /// [`LogError::Unknown`] where it is not a log, [`LogError::Read`].
    pub fn recognise(&mut self) -> Result<FileFormat, LogError> {
        while !self.scanner.recognise(self.last) {
            self.fill()?;
        }
        match self.scanner.format() {
            Some(format) => Ok(format),
            None => match self.scanner.step(&mut FrameBuf::new(), self.last) {
                ScanStep::Unknown(looks) => Err(self.unknown(looks)),
                _ => Ok(FileFormat::Log),
            },
        }
    }

    /// Reads the next frame into `frame`; returns `None` after the last one.
    ///
    /// # Errors
    /// [`LogError::Bad`] for a bad line, after which reading continues; the others once, after
    /// which the log is at its end.
    pub fn read(&mut self, frame: &mut FrameBuf) -> Result<Option<LoggedFrame>, LogError> {
        while !self.finished {
            match self.scanner.step(frame, self.last) {
                ScanStep::Frame(logged) => return Ok(Some(logged)),
                ScanStep::Bad(line) => {
                    let name = self.name.clone();
                    return Err(LogError::Bad { name, line });
                }
                ScanStep::Other | ScanStep::Elsewhere(_) => {}
                ScanStep::Unknown(looks) => {
                    self.finished = true;
                    return Err(self.unknown(looks));
                }
                ScanStep::Lost(line) => {
                    self.finished = true;
                    let name = self.name.clone();
                    return Err(LogError::Lost { name, line });
                }
                ScanStep::Starved if self.last => self.finished = true,
                ScanStep::Starved => self.fill()?,
            }
        }
        Ok(None)
    }

    fn fill(&mut self) -> Result<(), LogError> {
        match self.scanner.fill(&mut self.input) {
            Ok(n) => self.last = n == 0,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The data unpacked before is valid; the input ends after it.
            Err(e) if is_torn(&e) && self.scanner.tear() => self.last = true,
            Err(source) => {
                self.finished = true;
                let name = self.name.clone();
                return Err(LogError::Read { name, source });
            }
        }
        Ok(())
    }

    fn unknown(&self, looks: OtherKind) -> LogError {
        let name = self.name.clone();
        LogError::Unknown { name, looks }
    }

    /// Returns the bad lines so far.
    #[must_use]
    pub fn bad(&self) -> &BadLines {
        self.scanner.bad()
    }

    /// Returns the frames that are not in the log because its writer lost them, as the log itself
    /// states: those reported since the last call, which were lost before the frame that was read
    /// last, or at the end.
    pub fn take_missing(&mut self) -> Vec<MissingFrames> {
        self.scanner.take_missing()
    }

    /// Returns the number of frames that are missing so far, according to the log.
    #[must_use]
    pub const fn all_missing(&self) -> u64 {
        self.scanner.all_missing()
    }

    /// Returns the groups of records that are not CAN frames and were passed over, of an MF4 file.
    #[must_use]
    pub fn passed_over(&self) -> &[PassedRecords] {
        self.scanner.passed_over()
    }

    /// Returns sentences for a user on everything of the log, as far as it was read, that is not a
    /// returned frame: bad lines, records of something else, and frames that the log's writer lost.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        self.scanner.remarks(&self.name)
    }

    /// Returns the number of frames of other interfaces that were left out so far.
    #[must_use]
    pub fn elsewhere(&self) -> u64 {
        self.scanner.elsewhere().0
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
