//! Lines of a log that are no frames.

use super::lines::MAX_LINE;
use frame::text::ParseError;
use std::fmt;

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It does not follow candump's format.
    Text(ParseError),
    /// It is longer than any frame ([`MAX_LINE`] bytes).
    TooLong,
}

/// A line that was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Text(error) => write!(f, "line {}, {error}", self.number),
            Fault::TooLong => write!(
                f,
                "line {}: longer than {MAX_LINE} bytes, which no frame is; is this a candump log?",
                self.number
            ),
        }
    }
}

/// How many lines were left out, and the first few of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BadLines {
    count: u64,
    first: Vec<BadLine>,
}

impl BadLines {
    /// How many are kept with their reasons.
    pub const KEPT: usize = 5;

    pub(super) fn new() -> Self {
        Self {
            count: 0,
            first: Vec::with_capacity(Self::KEPT),
        }
    }

    pub(super) fn add(&mut self, line: BadLine) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(line);
        }
    }

    /// How many lines were left out.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The first of them, at most [`BadLines::KEPT`].
    #[must_use]
    pub fn first(&self) -> &[BadLine] {
        &self.first
    }

    /// Sentences for a user; none where every line was good.
    pub(super) fn remarks(&self, name: &str) -> Vec<String> {
        let mut out = Vec::new();
        if self.count > 0 {
            let lines = if self.count == 1 {
                "line was"
            } else {
                "lines were"
            };
            out.push(format!("{name}: {} bad {lines} left out", self.count));
            out.extend(self.first.iter().map(|line| format!("{name}: {line}")));
            let more = self.count - self.first.len() as u64;
            if more > 0 {
                out.push(format!("{name}: and {more} more"));
            }
        }
        out
    }
}
