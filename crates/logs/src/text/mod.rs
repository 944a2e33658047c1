//! Formats that consist of lines.

pub(crate) mod asc;
pub(crate) mod plain;
mod time;
pub(crate) mod trc;
pub(crate) mod words;

use crate::bad::Fault;
use crate::format::Format;
use crate::loss::{self, Loss};
use crate::name::InterfaceName;
use asc::Asc;
use frame::text::{Direction, parse_line};
use frame::{FrameBuf, Nanos};
use plain::Plain;
use trc::Trc;

/// The information of a log on a frame, apart from the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Got {
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

impl Got {
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
pub(crate) enum Event {
    Frame(Got),
    /// Frames are missing here.
    Loss(Loss),
    /// Something known that is not a frame.
    Other,
}

/// A reader of lines.
#[derive(Clone, Debug)]
pub(crate) enum Lined {
    Log,
    Plain(Plain),
    Asc(Box<Asc>),
    Trc(Box<Trc>),
}

impl Lined {
    /// Creates a reader for a format of lines.
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

    /// Reads a line.
    #[inline]
    pub(crate) fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Event, Fault> {
        let got = match self {
            Self::Log => match parse_line(line, frame) {
                // The parser accepts no name that is longer than InterfaceName::MAX.
                Ok(entry) => entry.map(|e| {
                    let name = InterfaceName::new(e.interface).unwrap_or_default();
                    Got::new(e.stamp, e.direction, name)
                }),
                Err(error) => return Err(Fault::Text(error)),
            },
            Self::Plain(plain) => plain.line(line, frame)?,
            Self::Asc(asc) => asc.line(line, frame)?,
            Self::Trc(trc) => trc.line(line, frame)?,
        };
        if let Some(got) = got {
            return Ok(Event::Frame(got));
        }
        let comment = line.strip_prefix(b"#").or(line.strip_prefix(b"//"));
        Ok(comment
            .and_then(loss::line)
            .map_or(Event::Other, Event::Loss))
    }
}
