//! Parts of a log that are not frames.

use crate::answer::ONLY_A_SIMULATION_WAITS;
use crate::lines::MAX_LINE;
use frame::text::ParseError;
use std::fmt;

/// A position in a log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogPlace {
    /// A line, counted from 1.
    Line(u64),
    /// The byte offset (unpacked, from 0) at which a block begins.
    Byte(u64),
}

impl LogPlace {
    /// Returns the number of the line or the byte.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Line(number) | Self::Byte(number) => number,
        }
    }
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Byte(number) => write!(f, "byte {number}"),
        }
    }
}

/// The mistake at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFault {
    /// The text does not follow the format of `candump -L`.
    Text(ParseError),
    /// The text does not follow its format: the column (from 1) and the element expected there.
    Column(usize, &'static str),
    /// The text does not follow its format: the mistake in words.
    Said(&'static str),
    /// The number of something that is not known.
    Unknown(&'static str, u64),
    /// The line is longer than any frame ([`MAX_LINE`] bytes).
    TooLong,
    /// The line is `wait INTERFACE ID TIME`, at which a simulation waits for an
    /// answer. It belongs to no format, and a reader that passes it over would replay another
    /// dialogue than the file has.
    Waits,
}

/// A line or a block that was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// The position.
    pub place: LogPlace,
    /// The mistake.
    pub fault: LogFault,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place;
        match &self.fault {
            LogFault::Text(error) => write!(f, "{place}, {error}"),
            LogFault::Column(column, expected) => {
                write!(f, "{place}, column {column}: expected {expected}")
            }
            LogFault::Said(what) => write!(f, "{place}: {what}"),
            LogFault::Unknown(what, number) => {
                write!(f, "{place}: unknown {what} {number}")
            }
            LogFault::TooLong => write!(
                f,
                "{place}: longer than {MAX_LINE} bytes, which no line with a frame is; is this a \
                 log?"
            ),
            LogFault::Waits => write!(f, "{place}: {ONLY_A_SIMULATION_WAITS}"),
        }
    }
}

/// The number of lines (or blocks) that were left out, and the first few of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BadLines {
    count: u64,
    first: Vec<BadLine>,
}

impl BadLines {
    /// Number of lines that are kept with their reasons.
    pub const KEPT: usize = 5;

    pub(crate) fn new() -> Self {
        Self {
            count: 0,
            first: Vec::with_capacity(Self::KEPT),
        }
    }

    pub(crate) fn add(&mut self, line: BadLine) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(line);
        }
    }

    /// Returns the number of lines that were left out.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first of them, at most [`BadLines::KEPT`].
    #[must_use]
    pub fn first(&self) -> &[BadLine] {
        &self.first
    }

    /// Returns sentences for a user; none where everything was good.
    #[must_use]
    pub fn remarks(&self, name: &str) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(first) = self.first.first() {
            let what = match (first.place, self.count) {
                (LogPlace::Line(_), 1) => "line was",
                (LogPlace::Line(_), _) => "lines were",
                (LogPlace::Byte(_), 1) => "block was",
                (LogPlace::Byte(_), _) => "blocks were",
            };
            out.push(format!("{name}: {} bad {what} left out", self.count));
            out.extend(self.first.iter().map(|line| format!("{name}: {line}")));
            let more = self.count - self.first.len() as u64;
            if more > 0 {
                out.push(format!("{name}: and {more} more"));
            }
        }
        out
    }
}
