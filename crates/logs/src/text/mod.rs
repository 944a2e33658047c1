//! Formats that consist of lines.

pub(crate) mod asc;
pub(crate) mod plain;
pub(crate) mod time;
pub(crate) mod trc;
pub(crate) mod words;

use crate::bad::LogFault;
use crate::format::FileFormat;
use crate::loss::{self, FrameLoss};
use crate::name::InterfaceName;
use asc::AscReader;
use frame::text::{Direction, parse_line};
use frame::{FrameBuf, Nanos};
use plain::CandumpReader;
use trc::TrcReader;

/// The information of a log on a frame, apart from the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ParsedFrame {
    pub(crate) ns: Nanos,
    pub(crate) direction: Option<Direction>,
    pub(crate) name: InterfaceName,
    /// Frames of its interface that were lost before it.
    pub(crate) lost: u64,
    /// Frames of an unknown interface that were lost before it.
    pub(crate) lost_anywhere: u64,
    /// Number of a user's comments on it.
    pub(crate) comments: u32,
}

impl ParsedFrame {
    /// Creates it with no losses and no comments.
    pub(crate) const fn new(ns: Nanos, direction: Option<Direction>, name: InterfaceName) -> Self {
        Self {
            ns,
            direction,
            name,
            lost: 0,
            lost_anywhere: 0,
            comments: 0,
        }
    }
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineEvent {
    Frame(ParsedFrame),
    /// Frames are missing here.
    Loss(FrameLoss),
    /// Something known that is not a frame.
    Other,
}

/// A reader of lines.
#[derive(Clone, Debug)]
pub(crate) enum LineParser {
    Log,
    Plain(CandumpReader),
    Asc(Box<AscReader>),
    Trc(Box<TrcReader>),
}

impl LineParser {
    /// Creates a reader for a format of lines.
    pub(crate) fn new(format: FileFormat) -> Self {
        match format {
            FileFormat::Candump | FileFormat::CandumpZero | FileFormat::CandumpDelta => {
                Self::Plain(CandumpReader::new(format))
            }
            FileFormat::Asc => Self::Asc(Box::new(AscReader::new())),
            FileFormat::Trc => Self::Trc(Box::new(TrcReader::new())),
            _ => Self::Log,
        }
    }

    /// Reads a line.
    #[inline]
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        frame: &mut FrameBuf,
    ) -> Result<LineEvent, LogFault> {
        let got = match self {
            Self::Log => match parse_line(line, frame) {
                // The parser accepts no name that is longer than InterfaceName::MAX.
                Ok(entry) => entry.map(|e| {
                    let name = InterfaceName::new(e.interface).unwrap_or_default();
                    ParsedFrame::new(e.stamp, e.direction, name)
                }),
                Err(error) => return Err(LogFault::Text(error)),
            },
            Self::Plain(plain) => plain.line(line, frame)?,
            Self::Asc(asc) => asc.line(line, frame)?,
            Self::Trc(trc) => trc.line(line, frame)?,
        };
        if let Some(got) = got {
            return Ok(LineEvent::Frame(got));
        }
        let comment = line.strip_prefix(b"#").or(line.strip_prefix(b"//"));
        Ok(comment
            .and_then(loss::line)
            .map_or(LineEvent::Other, LineEvent::Loss))
    }
}
