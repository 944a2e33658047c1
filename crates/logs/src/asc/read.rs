//! Lines of ASC, as CANalyzer, CANoe and other programs write them: classic and FD frames, error
//! frames.
//!
//! Channel N is the interface `can(N-1)`, as in SocketCAN and python-can, unless a comment written
//! by cangate gives its name (`// cangate: channel 1 is can0`).
//!
//! A line that is not a frame is skipped if it is known ([`known`]); any other is a mistake,
//! because it can be a damaged frame.

use super::known;
use crate::bad::LogFault;
use crate::channels::ChannelNames;
use crate::draft::{self, FrameDraft};
use crate::read::{LineReader, ParsedFrame};
use crate::time;
use crate::words::{LineWord, LineWords, number, signed, with_point};
use frame::text::Direction;
use frame::{CanId, FrameBuf, Nanos};

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// The longest time by which BUSMASTER's first frame can precede the time of day of its line
/// `date`: the date has whole seconds.
const ROUNDED: Nanos = 2 * SECOND;

/// A reader of ASC lines.
#[derive(Clone, Debug)]
pub(crate) struct AscReader {
    base: u32,
    /// Whether each time counts from the previous line.
    relative: bool,
    /// The start of the measurement; 0 where the file does not give it.
    start: Nanos,
    /// Whether the line `date` was present.
    dated: bool,
    /// The date of the block that has begun, until it is used.
    block: Option<Nanos>,
    /// Whether no line with a time has followed since the block began.
    first_of_block: bool,
    /// The time since the start; a few frames can come before it.
    at: i64,
    clock: AscClock,
    names: ChannelNames,
}

/// The reference of the times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AscClock {
    /// The start of the measurement.
    Start,
    /// Perhaps midnight, as in BUSMASTER's files: its line `base` does not state how times count.
    /// The first time decides.
    Open,
    /// Midnight.
    Midnight,
}

/// The circumstances of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct AscSighting {
    pub(super) ns: Nanos,
    pub(super) channel: u32,
    pub(super) direction: Option<Direction>,
}

impl AscReader {
    pub(crate) const fn new() -> Self {
        Self {
            base: 16,
            relative: false,
            start: 0,
            dated: false,
            block: None,
            first_of_block: false,
            at: 0,
            clock: AscClock::Start,
            names: ChannelNames::new(),
        }
    }
}

impl LineReader for AscReader {
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        let mut words = LineWords::new(line);
        let Some(first) = words.next() else {
            return Ok(None);
        };
        if !is_number(first.text) {
            return self.header(&first, words).map(|()| None);
        }
        let offset = time_of(first.text).ok_or(first.wrong("a time in seconds"))?;
        let first_of_block = std::mem::take(&mut self.first_of_block);
        let ns = self.time(offset, first_of_block);
        let event = words;
        let second = words.need("a channel, CANFD, CANXL or an event")?;
        let is_xl = second.is("CANXL");
        if is_xl || second.is("CANFD") {
            return match words.peek().is_some_and(|word| is_letters(word.text)) {
                true => self.event(words, first_of_block).map(|()| None),
                false if is_xl => self.extended(&mut words, ns, frame),
                false => self.flexible(&mut words, ns, frame),
            };
        }
        match second.number(10) {
            Some(channel) => self.classic(channel, &mut words, ns, frame),
            None => self.event(event, first_of_block).map(|()| None),
        }
    }
}

impl AscReader {
    /// Returns the time of a line, also of one that is not a frame.
    fn time(&mut self, offset: i64, first_of_block: bool) -> Nanos {
        if self.relative {
            self.at = self.at.saturating_add(offset);
            return self.start.saturating_add_signed(self.at);
        }
        if self.clock == AscClock::Open && offset >= 0 {
            let of_day = self.start % DAY;
            let midnight =
                self.dated && offset.unsigned_abs() + ROUNDED >= of_day && of_day > ROUNDED;
            self.clock = if midnight {
                AscClock::Midnight
            } else {
                AscClock::Start
            };
            if midnight {
                self.start -= of_day;
            }
        }
        let back = self.at.saturating_sub(offset);
        if self.clock == AscClock::Midnight && back > (DAY / 2).cast_signed() {
            self.start = self.start.saturating_add(DAY);
        }
        // Another measurement, whose beginning no line gives.
        if first_of_block
            && back > 0
            && let Some(block) = self.block
        {
            self.start = block;
        }
        self.at = offset;
        self.start.saturating_add_signed(offset)
    }

    /// Handles a line with a time that is not a frame.
    fn event(&mut self, words: LineWords<'_>, first_of_block: bool) -> Result<(), LogFault> {
        // In German, French or another language, a block begins with words, too: letters only.
        let is_start = known::is_start(words)
            || first_of_block
                && !known::is_event(words)
                && (2..=6).contains(&words.count())
                && words.clone().all(|word| is_letters(word.text));
        if is_start {
            if let Some(block) = self.block.take() {
                self.start = block.saturating_add_signed(self.at.saturating_neg());
                self.dated = true;
            }
            return Ok(());
        }
        match words.peek() {
            Some(word) if !known::is_event(words) => Err(word.wrong(
                "a channel, CANFD, CANXL or an event that is known: is this a frame that was damaged?",
            )),
            _ => Ok(()),
        }
    }

    /// Handles a line without a time.
    fn header(&mut self, first: &LineWord<'_>, mut words: LineWords<'_>) -> Result<(), LogFault> {
        if first.is("date") {
            self.start = time::date(words).ok_or(first.wrong(
                "a date, as in Wed Nov 28 14:57:33.123 2012; times count from 1970 otherwise",
            ))?;
            self.dated = true;
        } else if first.is("base") {
            let base = words.need("hex or dec")?;
            self.base = match base {
                base if base.is("hex") => 16,
                base if base.is("dec") || base.is("dez") => 10,
                _ => return Err(base.wrong("hex or dec")),
            };
            self.timestamps(words);
        } else if first.is("timestamps") {
            self.relative = words.any(|word| word.is("relative"));
            self.clock = AscClock::Start;
        } else if first.is("Begin") {
            words.next();
            self.block = time::date(words);
            self.first_of_block = true;
            // Without a line `date`, the first block gives the date.
            if let Some(start) = self.block.filter(|_| !self.dated) {
                self.start = start;
                self.dated = true;
            }
        } else if first.text.starts_with(b"//") {
            self.names.comment(words);
        } else if !known::is_header(first, words) {
            return Err(first.wrong(
                "a time in seconds, or a line that is known: is this a frame that was damaged?",
            ));
        }
        Ok(())
    }

    /// Reads how times count, after the base.
    fn timestamps(&mut self, words: LineWords<'_>) {
        let mut rest = words.skip_while(|word| !word.is("timestamps"));
        if rest.next().is_some() {
            self.relative = rest.any(|word| word.is("relative"));
            self.clock = AscClock::Start;
        } else {
            self.clock = AscClock::Open;
        }
    }

    /// Reads `1  123x  Rx  d 8 11 22 …`, after the channel.
    fn classic(
        &self,
        channel: u32,
        words: &mut LineWords<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<Option<ParsedFrame>, LogFault> {
        const KIND: &str = "d (data) or r (remote)";
        let id = words.need("an ID, or an event that is known")?;
        let mut seen = AscSighting {
            ns,
            channel,
            direction: None,
        };
        if id.is("ErrorFrame") {
            return self.put(&FrameDraft::error(), &seen, frame);
        }
        // The name of a message can contain a colon, too.
        let is_side = |word: LineWord<'_>| direction(&word).is_some();
        if known::is_of_channel(&id) && words.peek().is_none_or(|word| !is_side(word)) {
            return Ok(None);
        }
        let side = words.need("Rx or Tx")?;
        if known::is_request(&side) {
            return Ok(None);
        }
        seen.direction = Some(direction(&side).ok_or(side.wrong("Rx, Tx or TxRq"))?);
        let kind = words.need(KIND)?;
        let mut draft = FrameDraft::new(self.id(&id, *words)?);
        if kind.is("r") {
            draft.id = draft.id.with_rtr();
            let dlc = words.next().and_then(|word| dlc(&word));
            draft = dlc.and_then(|dlc| draft.with_dlc(dlc)).unwrap_or(draft);
        } else if kind.is("d") {
            let word = words.need("a DLC")?;
            draft = dlc(&word)
                .and_then(|value| draft.with_dlc(value))
                .ok_or(word.wrong("a DLC: one hex digit, or 10 to 15"))?;
            words.bytes(draft.payload()?, self.base)?;
            words.no_further_byte()?;
        } else {
            return Err(kind.wrong(KIND));
        }
        self.put(&draft, &seen, frame)
    }

    /// Reads `123` or `123x` in the file's base; for a symbolic name, which can look like a hex
    /// number, the number after `ID =` at the end.
    fn id(&self, word: &LineWord<'_>, rest: LineWords<'_>) -> Result<CanId, LogFault> {
        // Programs write it in decimal, regardless of the base. Most lines need no search.
        let at_end = || {
            let mut behind = rest.skip_while(|word| !word.is("ID"));
            behind.nth(2).and_then(|number| id_of(number.text, 10))
        };
        let is_letter = word.text.first().is_some_and(u8::is_ascii_alphabetic);
        let id = match id_of(word.text, self.base) {
            Some(id) if is_letter => match at_end() {
                Some(end) if end.number() != 0 && end.number() != id.number() => Some(end),
                _ => Some(id),
            },
            Some(id) => Some(id),
            None => at_end(),
        };
        id.ok_or(word.wrong(if self.base == 10 {
            "a decimal ID, with an x after an extended one, or a name and ID = at the end"
        } else {
            "a hex ID, with an x after an extended one, or a name and ID = at the end"
        }))
    }

    pub(super) fn put(
        &self,
        draft: &FrameDraft,
        seen: &AscSighting,
        frame: &mut FrameBuf,
    ) -> Result<Option<ParsedFrame>, LogFault> {
        draft.put(frame)?;
        Ok(Some(self.got(seen)))
    }

    pub(super) fn got(&self, seen: &AscSighting) -> ParsedFrame {
        let name = self.names.get(seen.channel);
        ParsedFrame::new(seen.ns, seen.direction, name)
    }
}

/// Returns whether a line is one of a header, or looks like that of a frame: a section cut out of a
/// log has no header.
pub(super) fn is_line(line: &[u8]) -> bool {
    let all: Vec<_> = LineWords::new(line).take(6).collect();
    let is = |at: usize, text: &str| all.get(at).is_some_and(|word| word.is(text));
    is(0, "date") && all.iter().any(|word| word.text.contains(&b':'))
        || is(0, "base") && (is(1, "hex") || is(1, "dec") || is(1, "dez"))
        || is(0, "Begin") && is(1, "Triggerblock")
        || is(0, "//") && is(1, "version")
        || is_frame(line)
}

/// Returns whether a line looks like that of a frame.
fn is_frame(line: &[u8]) -> bool {
    let mut words = LineWords::new(line);
    let timed = words.next().is_some_and(|word| {
        is_number(word.text) && word.text.contains(&b'.') && time_of(word.text).is_some()
    });
    let Some(second) = words.next().filter(|_| timed) else {
        return false;
    };
    if second.is("CANFD") || second.is("CANXL") {
        return true;
    }
    let channel = second.number(10).is_some();
    let id = words.next();
    let side = words.next().is_some_and(|word| direction(&word).is_some());
    let kind = words
        .next()
        .is_some_and(|word| word.is("d") || word.is("r"));
    channel && id.is_some() && side && kind
}

/// Returns whether it is a time, even a damaged one.
fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.first().is_some_and(u8::is_ascii_digit)
}

/// Parses a time and returns it in ns; some countries write it with a comma.
fn time_of(text: &[u8]) -> Option<i64> {
    signed(&with_point(text), 9)
}

/// Returns whether it consists of two letters or more, of any alphabet, with the marks that words
/// can have.
fn is_letters(text: &[u8]) -> bool {
    let fits = |b: &u8| b.is_ascii_alphabetic() || !b.is_ascii() || b"'.-".contains(b);
    text.len() >= 2 && text.iter().all(fits)
}

/// Parses a DLC: one hex digit, regardless of the base of the file; two digits are decimal.
pub(super) fn dlc(word: &LineWord<'_>) -> Option<u32> {
    let base = if word.text.len() == 1 { 16 } else { 10 };
    word.number(base).filter(|dlc| *dlc <= 15)
}

pub(super) fn id_of(text: &[u8], base: u32) -> Option<CanId> {
    let (digits, eff) = match text {
        [digits @ .., b'x' | b'X'] => (digits, true),
        digits => (digits, false),
    };
    number(digits, base).and_then(|id| draft::id(id, eff))
}

pub(super) fn direction(word: &LineWord<'_>) -> Option<Direction> {
    match word {
        word if word.is("Rx") => Some(Direction::Received),
        word if word.is("Tx") => Some(Direction::Sent),
        _ => None,
    }
}
