//! The scanner, which turns bytes into frames, independently of their source and of the time at
//! which they arrive.

use crate::bad::{BadLine, BadLines, Fault, Place};
use crate::format::Format;
use crate::lines::{Lines, Text};
use crate::loss::Loss;
use crate::name::InterfaceName;
use crate::pcap::classic::{self, Pcap};
use crate::pcap::{Block, ng::Pcapng};
use crate::recognise::{Looks, Verdict, begins, recognise};
use crate::text::{Event, Got, Lined};
use frame::text::Direction;
use frame::{FrameBuf, Nanos};
use std::io::{self, Read};

/// The information of a log in addition to the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// Its position.
    pub place: Place,
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
pub struct Missing {
    /// Their interface; `None` where the log does not know it.
    pub interface: Option<InterfaceName>,
    /// Number of frames.
    pub frames: u64,
}

/// Maximum number of separate [`Missing`] entries until the caller takes them; further ones are
/// added up.
const MOST_MISSING: usize = 64;

/// The result for one line or block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A frame; it is in the buffer.
    Frame(Logged),
    /// The line or block is wrong and was left out.
    Bad(BadLine),
    /// Empty, a comment, or another event that is known not to be a frame.
    Other,
    /// A frame of an interface that is not selected, with its stamp.
    Elsewhere(Nanos),
    /// More input is needed ([`Scanner::fill`]).
    Starved,
    /// The input is not a log; nothing of it will be read.
    Unknown(Looks),
    /// Nothing after this place can be read.
    Lost(BadLine),
}

/// The fault where packed bytes break off.
const TORN: Fault = Fault::Said(
    "what gzip or Zstandard has packed breaks off or is damaged: the rest of the log cannot be read",
);

/// The fault where the last block is not complete.
const CUT: Fault = Fault::Said("the log ends within this block: was it cut off?");

enum State {
    /// The format is not known yet.
    Unknown,
    No(Looks),
    Lines(Lined),
    Pcapng(Box<Pcapng>),
    Pcap(Pcap),
    /// The rest cannot be read.
    Lost(BadLine),
}

/// Reads a log piece by piece, in bounded memory. It never blocks: [`Scanner::step`] reports when
/// it needs more bytes, and the caller decides when to [`Scanner::fill`].
pub struct Scanner {
    lines: Lines,
    state: State,
    format: Option<Format>,
    /// Number of bytes of a long block that still have to be skipped.
    skip: u64,
    bad: BadLines,
    only: Option<InterfaceName>,
    elsewhere: u64,
    other: Option<InterfaceName>,
    missing: Vec<Missing>,
    all_missing: u64,
    /// The input broke off, or is damaged, after the part that was read.
    torn: bool,
}

impl Scanner {
    /// Creates a scanner for this format; `None`: for the one that is recognised from the beginning
    /// of the log. A format given by name is accepted unless the beginning is clearly something
    /// else.
    #[must_use]
    pub fn new(format: Option<Format>) -> Self {
        Self {
            lines: Lines::new(),
            state: State::Unknown,
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
        self.format().is_some() || !self.lines.head().is_empty()
    }

    /// Returns the frames that are missing according to the log, since the last call: they were
    /// lost before the frame that was returned last, or after all frames.
    pub fn take_missing(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.missing)
    }

    /// Returns the number of frames that are missing so far, according to the log.
    #[must_use]
    pub const fn all_missing(&self) -> u64 {
        self.all_missing
    }

    fn miss(&mut self, frames: u64, interface: Option<InterfaceName>) {
        let mine = self.only.is_none() || interface.is_none() || interface == self.only;
        if frames == 0 || !mine {
            return;
        }
        self.all_missing = self.all_missing.saturating_add(frames);
        let same = |missing: &&mut Missing| missing.interface == interface;
        if let Some(known) = self.missing.iter_mut().find(same) {
            known.frames = known.frames.saturating_add(frames);
        } else if self.missing.len() < MOST_MISSING {
            self.missing.push(Missing { interface, frames });
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
    pub const fn format(&self) -> Option<Format> {
        match self.state {
            State::Unknown | State::No(_) => None,
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

    /// Determines the format; returns false where more input is needed. `last`: no more input will
    /// follow.
    pub fn recognise(&mut self, last: bool) -> bool {
        if matches!(self.state, State::Unknown) {
            if !self.lines.begin(last) {
                return false;
            }
            let head = self.lines.head();
            let verdict = match self.format {
                Some(named) => begins(named, head, last),
                None => recognise(head, last),
            };
            match verdict {
                Verdict::More => return false,
                Verdict::No(looks) => self.state = State::No(looks),
                Verdict::Is(format) => self.begin(format),
            }
        }
        true
    }

    fn begin(&mut self, format: Format) {
        self.format = Some(format);
        self.state = match format {
            Format::Pcapng => State::Pcapng(Box::new(Pcapng::new())),
            Format::Pcap => match Pcap::new(self.lines.head()) {
                Some(pcap) => {
                    self.lines.consume(classic::FILE_HEADER);
                    State::Pcap(pcap)
                }
                None => State::No(Looks::Binary),
            },
            format => State::Lines(Lined::new(format)),
        };
    }

    /// Processes one line or block. `last`: no more input will follow.
    pub fn step(&mut self, frame: &mut FrameBuf, last: bool) -> Step {
        if self.skip > 0 {
            let most = usize::try_from(self.skip).unwrap_or(usize::MAX);
            self.skip -= self.lines.consume(most) as u64;
            if self.skip > 0 && last {
                self.skip = 0;
                let place = Place::Byte(self.lines.offset());
                let torn = std::mem::take(&mut self.torn);
                return self.wrong(place, if torn { TORN } else { CUT });
            }
            if self.skip > 0 {
                return Step::Starved;
            }
        }
        let (place, done) = match &mut self.state {
            State::Unknown => {
                return if self.recognise(last) {
                    Step::Other
                } else {
                    Step::Starved
                };
            }
            State::No(looks) => return Step::Unknown(*looks),
            State::Lost(bad) => return Step::Lost(*bad),
            State::Lines(lined) => {
                let done = match self.lines.next(last && !self.torn) {
                    None if last && self.torn => {
                        self.torn = false;
                        self.lines.consume(usize::MAX);
                        let place = Place::Line(self.lines.number() + 1);
                        return self.wrong(place, TORN);
                    }
                    None => return Step::Starved,
                    Some(Text::TooLong) => Err(Fault::TooLong),
                    Some(Text::Whole(line)) => lined.line(line, frame),
                };
                (Place::Line(self.lines.number()), done)
            }
            State::Pcapng(pcapng) => {
                let place = self.lines.offset();
                let block = pcapng.block(self.lines.head(), frame);
                return self.block(place, block, last);
            }
            State::Pcap(pcap) => {
                let place = self.lines.offset();
                let block = pcap.record(self.lines.head(), frame);
                return self.block(place, block, last);
            }
        };
        match done {
            Err(fault) => self.wrong(place, fault),
            Ok(Event::Other) => Step::Other,
            Ok(Event::Loss(Loss { frames, interface })) => {
                self.miss(frames, interface);
                Step::Other
            }
            Ok(Event::Frame(got)) => self.found(place, &got),
        }
    }

    fn block(&mut self, offset: u64, block: Block, last: bool) -> Step {
        let place = Place::Byte(offset);
        match block {
            Block::More if last && (self.torn || !self.lines.head().is_empty()) => {
                self.lines.consume(usize::MAX);
                let torn = std::mem::take(&mut self.torn);
                self.wrong(place, if torn { TORN } else { CUT })
            }
            Block::More => Step::Starved,
            Block::Other(size) => {
                self.skip = size;
                Step::Other
            }
            Block::Lossy(size, Loss { frames, interface }) => {
                self.skip = size;
                self.miss(frames, interface);
                Step::Other
            }
            Block::Frame(size, got) => {
                self.lines.consume(size);
                self.found(place, &got)
            }
            Block::Bad(size, fault) => {
                self.skip = size;
                self.wrong(place, fault)
            }
            Block::Lost(fault) => {
                self.wrong(place, fault);
                let bad = BadLine { place, fault };
                self.state = State::Lost(bad);
                Step::Lost(bad)
            }
        }
    }

    fn wrong(&mut self, place: Place, fault: Fault) -> Step {
        let bad = BadLine { place, fault };
        self.bad.add(bad);
        Step::Bad(bad)
    }

    fn found(&mut self, place: Place, got: &Got) -> Step {
        if self.only.is_some_and(|only| only != got.name) {
            self.elsewhere += 1;
            self.other.get_or_insert(got.name);
            self.miss(got.lost_anywhere, None);
            return Step::Elsewhere(got.ns);
        }
        self.miss(got.lost, Some(got.name));
        self.miss(got.lost_anywhere, None);
        Step::Frame(Logged {
            place,
            ns: got.ns,
            interface: got.name,
            direction: got.direction,
            comments: got.comments,
        })
    }
}
