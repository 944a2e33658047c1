//! The parser for one frame, in cansend's grammar.

use super::cursor::TextCursor;
use super::{ExpectedText, ParseError};
use crate::{CanId, Frame, FrameBuf, Header, Kind, XlFields};
use core::str::FromStr;

/// Reads one frame of any kind into `frame`. Blanks and line ends around it are allowed.
///
/// # Errors
/// [`ParseError`] where the text is not a frame; `frame` then holds an unspecified frame.
///
/// ```
/// use frame::{FrameBuf, Kind, text};
/// let mut buf = FrameBuf::new();
/// text::parse_frame(b"123##1AABB", &mut buf)?;
/// assert_eq!(buf.header().kind(), Kind::Fd);
/// assert!(buf.header().is_brs());
/// # Ok::<(), text::ParseError>(())
/// ```
pub fn parse_frame(text: &[u8], frame: &mut FrameBuf) -> Result<(), ParseError> {
    let mut cursor = TextCursor::new(text);
    read(&mut cursor, frame)?;
    if cursor.at_end() {
        Ok(())
    } else {
        // A blank, and something after it.
        cursor.skip_blanks();
        Err(cursor.fail(ExpectedText::FrameEnd))
    }
}

/// Reads the frame at the cursor, up to a blank or the end of the text.
pub(super) fn read(c: &mut TextCursor<'_>, frame: &mut FrameBuf) -> Result<(), ParseError> {
    let mut number: u32 = 0;
    let mut digits = 0;
    while digits < 8 {
        let Some(nibble) = c.nibble() else { break };
        number = number << 4 | u32::from(nibble);
        digits += 1;
        c.advance(1);
    }
    if c.peek() != Some(b'#') || !matches!(digits, 3 | 5 | 8) {
        return Err(c.fail(ExpectedText::Id));
    }
    let id = match digits {
        3 => CanId::sff(number).map_err(|_| ExpectedText::SffId),
        8 if number >> 29 == 1 => Ok(CanId::from_raw(number)),
        8 => CanId::eff(number).map_err(|_| ExpectedText::EffId),
        _ => CanId::sff(number & 0xFFF).map_err(|_| ExpectedText::XlPriority),
    }
    .map_err(|expected| c.fail_number(digits, u64::from(number), expected))?;
    c.advance(1);

    let vcid = match digits {
        5 => Some((number >> 12) as u8),
        // ':' occurs in no other kind of frame.
        3 if c.peek_at(2) == Some(b':') => Some(0),
        _ => None,
    };
    if let Some(vcid) = vcid {
        xl(c, frame, id, vcid)
    } else {
        match c.peek() {
            Some(b'R' | b'r' | b'#') if id.is_err() => Err(c.fail(ExpectedText::ErrorFrameData)),
            Some(b'R' | b'r') => remote(c, frame, id),
            Some(b'#') => fd(c, frame, id),
            _ => classic(c, frame, id),
        }
    }
}

fn classic(c: &mut TextCursor<'_>, frame: &mut FrameBuf, id: CanId) -> Result<(), ParseError> {
    let len = data(c, frame, Kind::Classic, ExpectedText::ClassicEnd)?;
    let raw_dlc = raw_dlc(c, len)?;
    word_end(c, ExpectedText::Data)?;
    finish(c, frame, Kind::Classic, id, len, |h| {
        h.with_len8_dlc(raw_dlc)
    })
}

fn remote(c: &mut TextCursor<'_>, frame: &mut FrameBuf, id: CanId) -> Result<(), ParseError> {
    c.advance(1);
    let mut len = 0;
    if !c.at_word_end() && c.peek() != Some(b'_') {
        len = match c.nibble() {
            Some(n @ 0..=8) => usize::from(n),
            _ => return Err(c.fail(ExpectedText::RemoteLength)),
        };
        c.advance(1);
    }
    let raw_dlc = raw_dlc(c, len)?;
    word_end(c, ExpectedText::FrameEnd)?;
    frame.zero_past(Kind::Classic, 0);
    finish(c, frame, Kind::Classic, id.with_rtr(), len, |h| {
        h.with_len8_dlc(raw_dlc)
    })
}

fn fd(c: &mut TextCursor<'_>, frame: &mut FrameBuf, id: CanId) -> Result<(), ParseError> {
    c.advance(1);
    let flags = c.take_nibble(ExpectedText::FdFlags)?;
    let len = data(c, frame, Kind::Fd, ExpectedText::FdEnd)?;
    word_end(c, ExpectedText::Data)?;
    finish(c, frame, Kind::Fd, id, len, |h| h.with_flags(flags))
}

fn xl(c: &mut TextCursor<'_>, frame: &mut FrameBuf, id: CanId, vcid: u8) -> Result<(), ParseError> {
    let flags = hex(c, 2, ExpectedText::XlFlags)? as u8;
    c.require(b':', ExpectedText::XlFlags)?;
    let sdt = hex(c, 2, ExpectedText::XlSdt)? as u8;
    c.require(b':', ExpectedText::XlSdt)?;
    let af = hex(c, 8, ExpectedText::XlAf)?;
    c.require(b'#', ExpectedText::XlAf)?;
    let len = data(c, frame, Kind::Xl, ExpectedText::XlEnd)?;
    if len == 0 {
        return Err(c.fail(ExpectedText::XlData));
    }
    word_end(c, ExpectedText::Data)?;
    finish(c, frame, Kind::Xl, id, len, |h| {
        h.with_flags(flags).with_xl(XlFields { vcid, sdt, af })
    })
}

/// Adds the header to the payload that [`data`] has read.
fn finish(
    c: &TextCursor<'_>,
    frame: &mut FrameBuf,
    kind: Kind,
    id: CanId,
    len: usize,
    change: impl FnOnce(Header) -> Header,
) -> Result<(), ParseError> {
    // The lengths have been checked already; an error cannot occur here and needs no message of its
    // own.
    let header = Header::new(kind, id, len).map_err(|_| c.fail(ExpectedText::Data))?;
    frame.set_header(change(header));
    Ok(())
}

/// Reads payload bytes as far as they go, zeroes the rest of the kind's buffer and returns their
/// number.
fn data(
    c: &mut TextCursor<'_>,
    frame: &mut FrameBuf,
    kind: Kind,
    full: ExpectedText,
) -> Result<usize, ParseError> {
    let room = frame.room_mut(kind);
    let mut len = 0;
    loop {
        len += c.take_pairs(room.get_mut(len..).unwrap_or_default());
        // At the cursor is a dot, the end, one digit too few or too many, or a wrong byte.
        let dot = usize::from(c.peek() == Some(b'.'));
        if c.nibble_at(dot).is_none() {
            if dot == 1 {
                return Err(c.fail_at(1, ExpectedText::Data));
            }
            break;
        }
        if len == room.len() {
            return Err(c.fail_at(dot, full));
        }
        if c.nibble_at(dot + 1).is_none() {
            return Err(c.fail_at(dot + 1, ExpectedText::SecondDigit));
        }
        c.advance(dot);
    }
    frame.zero_past(kind, len);
    Ok(len)
}

/// Reads `_` and a raw DLC if they are present; returns 0 otherwise.
fn raw_dlc(c: &mut TextCursor<'_>, len: usize) -> Result<u8, ParseError> {
    if c.peek() != Some(b'_') {
        return Ok(0);
    }
    if len != 8 {
        return Err(c.fail(ExpectedText::EightBytes));
    }
    c.advance(1);
    match c.nibble() {
        Some(dlc @ 9..=15) => {
            c.advance(1);
            if c.at_word_end() {
                Ok(dlc)
            } else {
                Err(c.fail(ExpectedText::FrameEnd))
            }
        }
        _ => Err(c.fail(ExpectedText::RawDlc)),
    }
}

/// Reads exactly `digits` hex digits.
fn hex(c: &mut TextCursor<'_>, digits: usize, expected: ExpectedText) -> Result<u32, ParseError> {
    let mut value = 0;
    for _ in 0..digits {
        value = value << 4 | u32::from(c.take_nibble(expected)?);
    }
    Ok(value)
}

fn word_end(c: &TextCursor<'_>, expected: ExpectedText) -> Result<(), ParseError> {
    if c.at_word_end() {
        Ok(())
    } else {
        Err(c.fail(expected))
    }
}

impl FromStr for Frame {
    type Err = ParseError;

    /// Reads a classic or FD frame in cansend's grammar.
    ///
    /// ```
    /// use frame::Frame;
    /// let frame: Frame = "12345678#DEADBEEF".parse()?;
    /// assert!(frame.id().is_eff());
    /// assert_eq!(frame.to_string(), "12345678#DEADBEEF");
    /// # Ok::<(), frame::text::ParseError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut buf = FrameBuf::new();
        parse_frame(text.as_bytes(), &mut buf)?;
        Self::from_view(buf.view())
            .ok_or_else(|| TextCursor::new(text.as_bytes()).fail(ExpectedText::NoXl))
    }
}
