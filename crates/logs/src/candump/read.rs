//! candump's log format, and its output on a terminal with time stamps: `candump -t a|A|d|z`, with
//! or without `-x`.

use crate::bad::LogFault;
use crate::draft::{self, FrameDraft};
use crate::name::InterfaceName;
use crate::read::{LineReader, ParsedFrame};
use crate::time::{clock, iso_day};
use crate::words::{LineWord, LineWords, decimal, number};
use frame::text::{Direction, parse_line};
use frame::{CanId, FrameBuf, Nanos};
use std::borrow::Cow;

/// A reader of the lines of `candump -L`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandumpLogReader;

impl LineReader for CandumpLogReader {
    #[inline]
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        let entry = parse_line(line, frame).map_err(LogFault::Text)?;
        Ok(entry.map(|entry| {
            // The parser accepts no name that is longer than InterfaceName::MAX.
            let name = InterfaceName::new(entry.interface).unwrap_or_default();
            ParsedFrame::new(entry.stamp, entry.direction, name)
        }))
    }
}

/// A reader of lines of candump's output.
#[derive(Clone, Debug)]
pub(crate) struct CandumpReader {
    /// The sum of the times of the lines so far, where they are differences.
    sum: Option<Nanos>,
}

impl CandumpReader {
    /// Creates a reader of lines whose times are differences, or not.
    pub(crate) fn new(is_delta: bool) -> Self {
        Self {
            sum: is_delta.then_some(0),
        }
    }
}

impl LineReader for CandumpReader {
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        let plain = without_colours(line);
        let line = &*plain;
        // After an error frame, `candump -e` explains it.
        if matches!(line.first(), None | Some(b'\t' | b'#')) || line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut words = LineWords::new(line);
        let stamp = stamp(&mut words)?;
        // Also for a line that is left out: the next one counts from it.
        let (BracketStamp::Relative(ns) | BracketStamp::Absolute(ns)) = stamp;
        let ns = match &mut self.sum {
            None => ns,
            Some(sum) => {
                *sum = sum.saturating_add(ns);
                *sum
            }
        };
        let interface = words.need("an interface's name")?;
        let name = str::from_utf8(interface.text)
            .ok()
            .and_then(InterfaceName::new);
        let name = name.ok_or(interface.wrong("an interface's name of at most 15 bytes"))?;
        let (mut direction, mut brs, mut esi) = (None, false, false);
        if let Some(word) = words.peek().filter(|word| word.is("RX") || word.is("TX")) {
            direction = Some(if word.is("RX") {
                Direction::Received
            } else {
                Direction::Sent
            });
            words.next();
            (brs, esi) = (
                flag(&mut words, b"B", "'-' or 'B' (BRS)")?,
                flag(&mut words, b"E", "'-' or 'E' (ESI)")?,
            );
        }
        read(&mut words, brs, esi)?.put(frame)?;
        Ok(Some(ParsedFrame::new(ns, direction, name)))
    }
}

/// Returns the line without the escape sequences by which `candump -c` colours a terminal: ESC,
/// `[`, numbers, `m`.
pub(crate) fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1B;
    if !line.contains(&ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let code = after.strip_prefix(b"[").filter(|_| *first == ESCAPE);
        let digits = |code: &[u8]| {
            let others = code.iter().position(|b| !b.is_ascii_digit() && *b != b';');
            others.filter(|at| code.get(*at) == Some(&b'm'))
        };
        match code.and_then(|code| code.get(digits(code)? + 1..)) {
            Some(behind) => rest = behind,
            None => plain.push(*first),
        }
    }
    Cow::Owned(plain)
}

/// The contents of the brackets at the beginning of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BracketStamp {
    /// Time since 1970.
    Absolute(Nanos),
    /// Time since another frame.
    Relative(Nanos),
}

/// Reads the stamp of a line.
pub(crate) fn stamp(words: &mut LineWords<'_>) -> Result<BracketStamp, LogFault> {
    const EXPECTED: &str = "a time in brackets, as candump -t a writes it: (1436509052.249713)";
    let first = words.need(EXPECTED)?;
    let wrong = first.wrong(EXPECTED);
    let inner = first.text.strip_prefix(b"(").ok_or(wrong)?;
    if let Some(text) = inner.strip_suffix(b")") {
        let ns = decimal(text, 9).ok_or(wrong)?;
        // candump writes ten digits for a time since 1970, and at least three for a difference.
        let relative = text.iter().position(|b| *b == b'.').unwrap_or(text.len()) < 10;
        return Ok(if relative {
            BracketStamp::Relative(ns)
        } else {
            BracketStamp::Absolute(ns)
        });
    }
    let day = iso_day(inner).ok_or(wrong)?;
    let second = words.need("the time of day and ')'")?;
    let time = second.text.strip_suffix(b")").and_then(clock);
    Ok(BracketStamp::Absolute(
        day + time.ok_or(second.wrong("the time of day and ')'"))?,
    ))
}

fn flag(words: &mut LineWords<'_>, set: &[u8], expected: &'static str) -> Result<bool, LogFault> {
    let word = words.need(expected)?;
    match word.text {
        b"-" => Ok(false),
        text if text == set => Ok(true),
        _ => Err(word.wrong(expected)),
    }
}

/// Reads `123   [2]  11 22`.
fn read(words: &mut LineWords<'_>, brs: bool, esi: bool) -> Result<FrameDraft, LogFault> {
    const ID: &str = "an ID of 3 hex digits (SFF) or 8 (EFF, error frame)";
    const LEN: &str = "a length in brackets, as in [8]";
    const XL: &str =
        "a classic or FD frame: candump cuts XL frames off here; record with candump -L";
    let word = words.need(ID)?;
    let raw = word.number(16).ok_or(word.wrong(ID))?;
    let id = match word.text.len() {
        // The VCID and the priority of an XL frame.
        5 => return Err(word.wrong(XL)),
        3 => draft::id(raw, false),
        8 if raw >> 29 == 1 => Some(CanId::from_raw(raw)),
        8 => draft::id(raw, true),
        _ => None,
    };
    let mut draft = FrameDraft::new(id.ok_or(word.wrong(ID))?);
    let word = words.need(LEN)?;
    match length(&word).ok_or(word.wrong(LEN))? {
        LengthField::Classic(dlc) => draft = draft.with_dlc(dlc).ok_or(word.wrong(LEN))?,
        LengthField::Fd(len) => {
            draft = draft.fd(brs, esi);
            draft.len = len;
        }
        LengthField::Xl => {
            return Err(word.wrong(XL));
        }
    }
    if words.peek().is_some_and(|word| word.is("remote")) && !draft.id.is_err() {
        draft.id = draft.id.with_rtr();
        return Ok(draft);
    }
    let payload = draft.payload()?;
    // `candump -i` writes bits.
    let bits = words.peek().is_some_and(|word| word.text.len() == 8);
    words.bytes(payload, if bits { 2 } else { 16 })?;
    // The payload as ASCII in quotes, or ERRORFRAME, may follow.
    match words.next() {
        Some(word) if word.text.first() != Some(&b'\'') && !word.is("ERRORFRAME") => {
            Err(word.wrong("the end of the line: all bytes of the payload are there"))
        }
        _ => Ok(draft),
    }
}

enum LengthField {
    Classic(u32),
    Fd(usize),
    Xl,
}

/// Parses a length: `[8]` is classic, `{B}` classic with a raw DLC, `[08]` is FD, `[0008]` XL.
fn length(word: &LineWord<'_>) -> Option<LengthField> {
    match word.text {
        [b'[', digit, b']'] => Some(LengthField::Classic(u32::from(
            digit.checked_sub(b'0').filter(|n| *n <= 8)?,
        ))),
        [b'{', digit, b'}'] => char::from(*digit).to_digit(16).map(LengthField::Classic),
        [b'[', tens, ones, b']'] => {
            let len = number(&[*tens, *ones], 10)?;
            (len <= 64).then_some(LengthField::Fd(len as usize))
        }
        [b'[', _, _, _, _, b']'] => Some(LengthField::Xl),
        _ => None,
    }
}
