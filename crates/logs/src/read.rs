//! Reading: the interface between [`crate::LogScanner`] and the reader of a format.

use crate::bad::LogFault;
use crate::loss::FrameLoss;
use crate::name::InterfaceName;
use frame::text::Direction;
use frame::{FrameBuf, Nanos};

/// How a format is read.
#[derive(Clone, Copy)]
pub(crate) struct FormatReading {
    /// The frames and properties that are read, for the table of formats in docs/files.md.
    pub(crate) contents: &'static str,
    pub(crate) recognition: FormatRecognition,
    /// Creates a reader for a log with this beginning, which can be incomplete.
    pub(crate) open: fn(head: &[u8]) -> FormatReader,
}

impl FormatReading {
    pub(crate) const fn is_text(&self) -> bool {
        !matches!(self.recognition, FormatRecognition::Bytes(_))
    }
}

/// How the beginning of a log shows its format.
#[derive(Clone, Copy)]
pub(crate) enum FormatRecognition {
    /// The first bytes (at least 4, unless the log is shorter) determine a binary format.
    Bytes(fn(head: &[u8]) -> HeadVerdict),
    /// A line determines a format of lines, also if the line has mistakes.
    Line(fn(line: &[u8]) -> bool),
    /// Only its name, or another format of the same folder.
    Name,
}

/// The result for the first bytes of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeadVerdict {
    /// It is another format.
    Other,
    /// It is this format if more bytes follow, and depends on them.
    More,
    /// It is this format.
    Yes,
    /// It is this format, with a link type that carries no CAN frames.
    LinkType(u32),
    /// It is a variant of this format that is not read: its description, with advice.
    Variant(&'static str, &'static str),
}

/// A reader of a format.
pub(crate) enum FormatReader {
    Lines(Box<dyn LineReader>),
    Blocks(Box<dyn BlockReader>),
}

/// A reader of a format that consists of lines.
pub(crate) trait LineReader: Send {
    /// Reads a line, without its end. `None`: it is known not to be a frame.
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault>;
}

/// A reader of a format that consists of blocks.
pub(crate) trait BlockReader: Send {
    /// Reads the block at the beginning of the input that was not consumed yet, of which `head` is
    /// the part in memory: at most 64 KiB. `last`: nothing follows `head`.
    ///
    /// A format whose blocks are longer can consume the input piece by piece
    /// ([`NextBlock::Other`]) into memory of its own, and return its frames later
    /// ([`NextBlock::Frame`] with 0 bytes).
    fn block(&mut self, head: &[u8], last: bool, frame: &mut FrameBuf) -> NextBlock;

    /// Consumes input that must be known before the first frame, if blocks can refer to any place
    /// of the log: returns the number of bytes of `head` that it took. `None`: it is ready, at the
    /// latest after a call with `last`.
    fn collect(&mut self, _head: &[u8], _last: bool) -> Option<usize> {
        None
    }

    /// Returns the place of the element that [`BlockReader::block`] returned last; `None`: it is
    /// where `head` began.
    fn place(&self) -> Option<u64> {
        None
    }

    /// Notifies the reader that the packed input breaks off after the part that was read.
    fn tear(&mut self) {}

    /// Returns the groups of records that are not CAN frames and were passed over, as far as the
    /// log was read.
    fn passed_over(&self) -> &[PassedRecords] {
        &[]
    }
}

/// Records of a log that are not classic or FD frames, but of another bus, for example. Only MF4
/// has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassedRecords {
    /// The name of their group.
    pub name: String,
    /// Number of records.
    pub records: u64,
}

impl PassedRecords {
    /// Returns a sentence for a user. `log`: the name of the log.
    #[must_use]
    pub fn remark(&self, log: &str) -> String {
        let Self { name, records } = self;
        format!("{log}: {records} records of {name} are not classic or FD frames and were left out")
    }
}

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

/// The element at the beginning of the input that was not read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextBlock {
    /// The element is not complete.
    More,
    /// Not a frame; with its number of bytes, which may not have been read yet.
    Other(u64),
    /// The same, and it states that frames are missing.
    Lossy(u64, FrameLoss),
    /// A frame, with its number of bytes.
    Frame(usize, ParsedFrame),
    /// A mistake, with its number of bytes.
    Bad(u64, LogFault),
    /// The beginning of the next block cannot be determined.
    Lost(LogFault),
}
