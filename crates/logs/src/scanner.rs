//! The scanner, which turns bytes into frames, independently of their source and of the time at
//! which they arrive.

use crate::answer::asks_to_wait;
use crate::bad::{BadLine, BadLines, LogFault, LogPlace};
use crate::format::FileFormat;
use crate::lines::{LineSplitter, LineText};
use crate::loss::{self, FrameLoss};
use crate::name::InterfaceName;
use crate::read::{BlockReader, FormatReader, LineReader, NextBlock, ParsedFrame, PassedRecords};
use crate::recognise::{FormatVerdict, OtherKind, begins, recognise};
use frame::text::Direction;
use frame::{FrameBuf, Nanos};
use std::io::{self, Read};

/// The information of a log in addition to the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedFrame {
    /// Its position.
    pub place: LogPlace,
    /// Nanoseconds since the log's epoch, nearly always Unix's.
    pub ns: Nanos,
    /// The interface.
    pub interface: InterfaceName,
    /// Received or sent, where the log has it.
    pub direction: Option<Direction>,
    /// Number of a user's comments on the frame, which only pcapng has; their text is not kept.
    pub comments: u32,
}

/// Frames that are not in the log because its writer lost them, as the log itself states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingFrames {
    /// Their interface; `None` where the log does not know it.
    pub interface: Option<InterfaceName>,
    /// Number of frames.
    pub frames: u64,
}

/// Maximum number of separate [`MissingFrames`] entries until the caller takes them; further ones
/// are added up.
const MAX_MISSING: usize = 64;

/// The result for one line or block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanStep {
    /// A frame; it is in the buffer.
    Frame(LoggedFrame),
    /// The line or block is wrong and was left out.
    Bad(BadLine),
    /// Empty, a comment, or another event that is known not to be a frame.
    Other,
    /// A frame of an interface that is not selected, with its stamp.
    Elsewhere(Nanos),
    /// More input is needed ([`LogScanner::fill`]).
    Starved,
    /// The input is not a log; nothing of it will be read.
    Unknown(OtherKind),
    /// Nothing after this place can be read.
    Lost(BadLine),
}

/// The fault where packed bytes break off.
const TORN: LogFault = LogFault::Said(
    "the data compressed by gzip or Zstandard breaks off or is damaged: the rest of the log cannot be read",
);

/// The fault where the last block is not complete.
const CUT: LogFault = LogFault::Said("the log ends within this block: was it cut off?");

enum ScanState {
    /// The format is not known yet.
    Unknown,
    No(OtherKind),
    Lines(Box<dyn LineReader>),
    Blocks(Box<dyn BlockReader>),
    /// The rest cannot be read.
    Lost(BadLine),
}

/// Reads a log piece by piece, in bounded memory. It never blocks: [`LogScanner::step`] reports
/// when it needs more bytes, and the caller decides when to [`LogScanner::fill`].
pub struct LogScanner {
    lines: LineSplitter,
    state: ScanState,
    format: Option<FileFormat>,
    /// Number of bytes of a long block that still have to be skipped.
    skip: u64,
    bad: BadLines,
    only: Option<InterfaceName>,
    elsewhere: u64,
    other: Option<InterfaceName>,
    missing: Vec<MissingFrames>,
    all_missing: u64,
    /// The input broke off, or is damaged, after the part that was read.
    torn: bool,
}

impl LogScanner {
    /// Creates a scanner for this format; `None`: for the one that is recognised from the beginning
    /// of the log. A format given by name is accepted unless the beginning is clearly something
    /// else.
    #[must_use]
    pub fn new(format: Option<FileFormat>) -> Self {
        Self {
            lines: LineSplitter::new(),
            state: ScanState::Unknown,
            format,
            skip: 0,
            bad: BadLines::new(),
            only: None,
            elsewhere: 0,
            other: None,
            missing: Vec::new(),
            all_missing: 0,
            torn: false,
        }
    }

    /// Notifies the scanner that the packed input breaks off or is damaged after the part that was
    /// read. Complete lines and blocks before that are returned; the rest is one more bad part.
    /// Returns false if nothing was read before.
    #[must_use]
    pub fn tear(&mut self) -> bool {
        self.torn = true;
        if let ScanState::Blocks(reader) = &mut self.state {
            reader.tear();
        }
        self.format().is_some() || !self.lines.head().is_empty()
    }

    /// Returns the frames that are missing according to the log, since the last call: they were
    /// lost before the frame that was returned last, or after all frames.
    pub fn take_missing(&mut self) -> Vec<MissingFrames> {
        std::mem::take(&mut self.missing)
    }

    /// Returns the number of frames that are missing so far, according to the log.
    #[must_use]
    pub const fn all_missing(&self) -> u64 {
        self.all_missing
    }

    /// Returns the groups of records that are not CAN frames and were passed over, of an MF4 file.
    #[must_use]
    pub fn passed_over(&self) -> &[PassedRecords] {
        match &self.state {
            ScanState::Blocks(reader) => reader.passed_over(),
            _ => &[],
        }
    }

    /// Returns sentences for a user on everything of the log that is not a returned frame: bad
    /// lines, records of something else, and frames that the log's writer lost. `name`: the log's
    /// name.
    #[must_use]
    pub fn remarks(&self, name: &str) -> Vec<String> {
        let mut all = self.bad.remarks(name);
        let passed = self.passed_over().iter();
        all.extend(passed.map(|records| records.remark(name)));
        let lost = loss::words(self.all_missing);
        all.extend(lost.map(|words| format!("{name}: {words}")));
        all
    }

    fn miss(&mut self, frames: u64, interface: Option<InterfaceName>) {
        let mine = self.only.is_none() || interface.is_none() || interface == self.only;
        if frames == 0 || !mine {
            return;
        }
        self.all_missing = self.all_missing.saturating_add(frames);
        let same = |missing: &&mut MissingFrames| missing.interface == interface;
        if let Some(known) = self.missing.iter_mut().find(same) {
            known.frames = known.frames.saturating_add(frames);
        } else if self.missing.len() < MAX_MISSING {
            self.missing.push(MissingFrames { interface, frames });
        } else if let Some(last) = self.missing.last_mut() {
            last.interface = None;
            last.frames = last.frames.saturating_add(frames);
        }
    }

    /// Selects the frames of this interface; `None`: of all.
    #[must_use]
    pub fn only(mut self, interface: Option<InterfaceName>) -> Self {
        self.only = interface;
        self
    }

    /// Returns the format, as soon as it is known.
    #[must_use]
    pub const fn format(&self) -> Option<FileFormat> {
        match self.state {
            ScanState::Unknown | ScanState::No(_) => None,
            _ => self.format,
        }
    }

    /// Returns the lines and blocks that were left out so far because they are wrong.
    #[must_use]
    pub const fn bad(&self) -> &BadLines {
        &self.bad
    }

    /// Returns the number of frames of other interfaces that were left out, and the first of these
    /// interfaces.
    #[must_use]
    pub const fn elsewhere(&self) -> (u64, Option<InterfaceName>) {
        (self.elsewhere, self.other)
    }

    /// Returns the only interface that is read.
    #[must_use]
    pub const fn interface(&self) -> Option<InterfaceName> {
        self.only
    }

    /// Reads once. Returns 0 at the end of the input.
    ///
    /// # Errors
    /// The error of the input.
    pub fn fill(&mut self, input: &mut impl Read) -> io::Result<usize> {
        self.lines.fill(input)
    }

    /// Determines the format, and reads what must be known before the first frame; returns false
    /// where more input is needed. `last`: no more input will follow.
    pub fn recognise(&mut self, last: bool) -> bool {
        if matches!(self.state, ScanState::Unknown) {
            if !self.lines.begin(last) {
                return false;
            }
            let head = self.lines.head();
            let verdict = match self.format {
                Some(named) => begins(named, head, last),
                None => recognise(head, last),
            };
            match verdict {
                FormatVerdict::More => return false,
                FormatVerdict::No(looks) => self.state = ScanState::No(looks),
                FormatVerdict::Is(format) => self.begin(format),
            }
        }
        if let ScanState::Blocks(reader) = &mut self.state
            && let Some(bytes) = reader.collect(self.lines.head(), last)
        {
            self.lines.consume(bytes);
            return last;
        }
        true
    }

    fn begin(&mut self, format: FileFormat) {
        self.format = Some(format);
        let reading = format.spec().reading;
        self.state = match reading.map(|reading| (reading.open)(self.lines.head())) {
            Some(FormatReader::Lines(reader)) => ScanState::Lines(reader),
            Some(FormatReader::Blocks(mut reader)) => {
                if self.torn {
                    reader.tear();
                }
                ScanState::Blocks(reader)
            }
            // Only a format that is read can be recognised or named.
            None => ScanState::No(OtherKind::Binary),
        };
    }

    /// Processes one line or block. `last`: no more input will follow.
    pub fn step(&mut self, frame: &mut FrameBuf, last: bool) -> ScanStep {
        if self.skip > 0 {
            let most = usize::try_from(self.skip).unwrap_or(usize::MAX);
            self.skip -= self.lines.consume(most) as u64;
            if self.skip > 0 && last {
                self.skip = 0;
                let place = LogPlace::Byte(self.lines.offset());
                let torn = std::mem::take(&mut self.torn);
                return self.wrong(place, if torn { TORN } else { CUT });
            }
            if self.skip > 0 {
                return ScanStep::Starved;
            }
        }
        match &mut self.state {
            ScanState::Unknown => match self.recognise(last) {
                true => ScanStep::Other,
                false => ScanStep::Starved,
            },
            ScanState::No(looks) => ScanStep::Unknown(*looks),
            ScanState::Lost(bad) => ScanStep::Lost(*bad),
            ScanState::Lines(reader) => {
                let (comment, done) = match self.lines.next(last && !self.torn) {
                    None if last && self.torn => {
                        self.torn = false;
                        self.lines.consume(usize::MAX);
                        let place = LogPlace::Line(self.lines.number() + 1);
                        return self.wrong(place, TORN);
                    }
                    None => return ScanStep::Starved,
                    Some(LineText::TooLong) => (None, Err(LogFault::TooLong)),
                    Some(LineText::Whole(line)) => match reader.line(line, frame) {
                        Ok(None) => (loss::line(line), Ok(None)),
                        Err(_) if asks_to_wait(line) => (None, Err(LogFault::Waits)),
                        done => (None, done),
                    },
                };
                let place = LogPlace::Line(self.lines.number());
                match done {
                    Err(fault) => self.wrong(place, fault),
                    Ok(Some(got)) => self.found(place, &got),
                    Ok(None) => {
                        if let Some(FrameLoss { frames, interface }) = comment {
                            self.miss(frames, interface);
                        }
                        ScanStep::Other
                    }
                }
            }
            ScanState::Blocks(reader) => {
                if let Some(bytes) = reader.collect(self.lines.head(), last) {
                    self.lines.consume(bytes);
                    return match last {
                        true => ScanStep::Other,
                        false => ScanStep::Starved,
                    };
                }
                let offset = self.lines.offset();
                let block = reader.block(self.lines.head(), last, frame);
                let place = reader.place().unwrap_or(offset);
                self.block(place, block, last)
            }
        }
    }

    fn block(&mut self, offset: u64, block: NextBlock, last: bool) -> ScanStep {
        let place = LogPlace::Byte(offset);
        match block {
            NextBlock::More if last && (self.torn || !self.lines.head().is_empty()) => {
                self.lines.consume(usize::MAX);
                let torn = std::mem::take(&mut self.torn);
                self.wrong(place, if torn { TORN } else { CUT })
            }
            NextBlock::More => ScanStep::Starved,
            NextBlock::Other(size) => {
                self.skip = size;
                ScanStep::Other
            }
            NextBlock::Lossy(size, FrameLoss { frames, interface }) => {
                self.skip = size;
                self.miss(frames, interface);
                ScanStep::Other
            }
            NextBlock::Frame(size, got) => {
                self.lines.consume(size);
                self.found(place, &got)
            }
            NextBlock::Bad(size, fault) => {
                self.skip = size;
                self.wrong(place, fault)
            }
            NextBlock::Lost(fault) => {
                self.wrong(place, fault);
                let bad = BadLine { place, fault };
                self.state = ScanState::Lost(bad);
                ScanStep::Lost(bad)
            }
        }
    }

    fn wrong(&mut self, place: LogPlace, fault: LogFault) -> ScanStep {
        let bad = BadLine { place, fault };
        self.bad.add(bad);
        ScanStep::Bad(bad)
    }

    fn found(&mut self, place: LogPlace, got: &ParsedFrame) -> ScanStep {
        if self.only.is_some_and(|only| only != got.name) {
            self.elsewhere += 1;
            self.other.get_or_insert(got.name);
            self.miss(got.lost_anywhere, None);
            return ScanStep::Elsewhere(got.ns);
        }
        self.miss(got.lost, Some(got.name));
        self.miss(got.lost_anywhere, None);
        ScanStep::Frame(LoggedFrame {
            place,
            ns: got.ns,
            interface: got.name,
            direction: got.direction,
            comments: got.comments,
        })
    }
}
