//! One line of candump's log format.

use super::cursor::TextCursor;
use super::{ExpectedText, ParseError, one};
use crate::{FrameBuf, Nanos};

/// The longest name of a Linux interface, in bytes (`IFNAMSIZ` less its terminating zero).
const INTERFACE_MAX: usize = 15;

/// The highest second that fits into [`Nanos`] with any fraction.
const SECONDS_MAX: u64 = Nanos::MAX / 1_000_000_000 - 1;

/// The direction of a frame, as seen from the machine that wrote the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Received from the bus (`R`).
    Received,
    /// Sent by the machine that wrote the log (`T`).
    Sent,
}

/// The contents of a line apart from the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineDetails<'a> {
    /// The time: nanoseconds since the log's epoch, nearly always Unix's.
    pub stamp: Nanos,
    /// The interface.
    pub interface: &'a str,
    /// The direction, where the log has it.
    pub direction: Option<Direction>,
}

/// Reads a line of a log and stores its frame in `frame`. Returns `Ok(None)` for an empty line and
/// for a comment, which begins with `#`.
///
/// Never panics, for any input bytes.
///
/// # Errors
/// [`ParseError`] where the line is none of these; `frame` then holds an unspecified frame.
pub fn parse_line<'a>(
    line: &'a [u8],
    frame: &mut FrameBuf,
) -> Result<Option<LineDetails<'a>>, ParseError> {
    let mut c = TextCursor::new(line);
    if matches!(c.peek(), None | Some(b'#')) {
        return Ok(None);
    }
    let stamp = time(&mut c)?;
    blanks(&mut c, ExpectedText::Interface)?;
    let interface = interface(&mut c)?;
    blanks(&mut c, ExpectedText::Frame)?;
    one::read(&mut c, frame)?;
    c.skip_blanks();
    let direction = match c.peek() {
        None => None,
        Some(b'R') => Some(Direction::Received),
        Some(b'T') => Some(Direction::Sent),
        Some(_) => return Err(c.fail(ExpectedText::DirectionOrEnd)),
    };
    c.advance(usize::from(direction.is_some()));
    if !c.at_end() {
        return Err(c.fail(ExpectedText::DirectionOrEnd));
    }
    Ok(Some(LineDetails {
        stamp,
        interface,
        direction,
    }))
}

/// Reads `(seconds.fraction)`.
fn time(c: &mut TextCursor<'_>) -> Result<Nanos, ParseError> {
    if !c.eat(b'(') {
        return Err(c.fail(if c.rest().starts_with(b"DROPCOUNT:") {
            ExpectedText::NoDroppedFrames
        } else {
            ExpectedText::TimeOpen
        }));
    }
    let (seconds, digits) = decimal(c, usize::MAX);
    if digits == 0 {
        return Err(c.fail(ExpectedText::Seconds));
    }
    if seconds > SECONDS_MAX {
        return Err(c.fail_number(digits, seconds, ExpectedText::SecondsInRange));
    }
    c.require(b'.', ExpectedText::Point)?;
    let (mut fraction, digits) = decimal(c, 9);
    if digits == 0 {
        return Err(c.fail(ExpectedText::Fraction));
    }
    for _ in digits..9 {
        fraction *= 10;
    }
    c.require(b')', ExpectedText::TimeClose)?;
    Ok(seconds * 1_000_000_000 + fraction)
}

/// Reads at most `max` decimal digits; returns their value, which saturates at `u64::MAX`, and
/// their number.
fn decimal(c: &mut TextCursor<'_>, max: usize) -> (u64, usize) {
    let mut value: u64 = 0;
    let mut digits = 0;
    while digits < max {
        let Some(digit @ b'0'..=b'9') = c.peek() else {
            break;
        };
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'));
        digits += 1;
        c.advance(1);
    }
    (value, digits)
}

fn interface<'a>(c: &mut TextCursor<'a>) -> Result<&'a str, ParseError> {
    let rest = c.rest();
    let len = rest
        .iter()
        .position(|b| matches!(b, b' ' | b'\t'))
        .unwrap_or(rest.len());
    if len > INTERFACE_MAX {
        return Err(c.fail_at(INTERFACE_MAX, ExpectedText::InterfaceShort));
    }
    let name = rest.get(..len).unwrap_or_default();
    if let Some(at) = name.iter().position(|b| *b == b'/' || b.is_ascii_control()) {
        return Err(c.fail_at(at, ExpectedText::InterfaceByte));
    }
    match core::str::from_utf8(name) {
        Ok("." | "..") => Err(c.fail(ExpectedText::InterfaceByte)),
        Ok(text) => {
            c.advance(len);
            Ok(text)
        }
        Err(e) => Err(c.fail_at(e.valid_up_to(), ExpectedText::InterfaceByte)),
    }
}

/// Skips at least one blank, with something after it.
fn blanks(c: &mut TextCursor<'_>, then: ExpectedText) -> Result<(), ParseError> {
    if c.at_end() {
        return Err(c.fail(then));
    }
    if c.skip_blanks() == 0 {
        return Err(c.fail(ExpectedText::Blank));
    }
    Ok(())
}
