//! Formats that are made of lines.

mod asc;
pub(crate) mod plain;
mod time;
mod trc;
pub(crate) mod words;

use crate::bad::Fault;
use crate::format::Format;
use crate::name::InterfaceName;
use asc::Asc;
use frame::text::{Direction, parse_line};
use frame::{FrameBuf, Nanos};
use plain::Plain;
use trc::Trc;

/// What a log says of a frame, besides the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Got {
    pub(crate) ns: Nanos,
    pub(crate) direction: Option<Direction>,
    pub(crate) name: InterfaceName,
}

/// Lines to frames.
#[derive(Clone, Debug)]
pub(crate) enum Lined {
    Log,
    Plain(Plain),
    Asc(Box<Asc>),
    Trc(Box<Trc>),
}

impl Lined {
    /// For a format of lines.
    pub(crate) fn new(format: Format) -> Self {
        match format {
            Format::Candump | Format::CandumpZero | Format::CandumpDelta => {
                Self::Plain(Plain::new(format))
            }
            Format::Asc => Self::Asc(Box::new(Asc::new())),
            Format::Trc => Self::Trc(Box::new(Trc::new())),
            Format::Log | Format::Pcapng | Format::Pcap => Self::Log,
        }
    }

    /// Reads a line; `None` where it is no frame and nothing wrong.
    #[inline]
    pub(crate) fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<Got>, Fault> {
        match self {
            Self::Log => match parse_line(line, frame) {
                // The parser takes no name that is longer than InterfaceName::MAX.
                Ok(entry) => Ok(entry.map(|e| Got {
                    ns: e.stamp,
                    direction: e.direction,
                    name: InterfaceName::new(e.interface).unwrap_or_default(),
                })),
                Err(error) => Err(Fault::Text(error)),
            },
            Self::Plain(plain) => plain.line(line, frame),
            Self::Asc(asc) => asc.line(line, frame),
            Self::Trc(trc) => trc.line(line, frame),
        }
    }
}
