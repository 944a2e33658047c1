//! Words of a line, with their columns.

use crate::bad::LogFault;
use frame::Nanos;
use std::borrow::Cow;

/// A word and the column of its first byte, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineWord<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) column: usize,
}

/// The rest of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineWords<'a> {
    rest: &'a [u8],
    column: usize,
}

impl<'a> LineWords<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self {
            rest: line,
            column: 1,
        }
    }

    /// Returns the next word, or an error with the expected element.
    pub(crate) fn need(&mut self, expected: &'static str) -> Result<LineWord<'a>, LogFault> {
        let column = self.column;
        self.next().ok_or(LogFault::Column(column, expected))
    }

    /// Returns an error where another hex byte follows the payload.
    pub(crate) fn no_further_byte(&self) -> Result<(), LogFault> {
        match self.peek() {
            Some(word) if word.text.len() == 2 && word.number(16).is_some() => {
                Err(word.wrong("no further byte: the line has all that the DLC states"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the next word without consuming it.
    pub(crate) fn peek(&self) -> Option<LineWord<'a>> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Reads exactly as many bytes as `into` has, in this base. Hex bytes of a line that have two
    /// digits with a zero in front all have two: one of a single digit was cut off.
    pub(crate) fn bytes(&mut self, into: &mut [u8], base: u32) -> Result<(), LogFault> {
        let (expected, digits) = match base {
            2 => ("a byte of the payload, eight binary digits", 8..=8),
            10 => ("a byte of the payload, 0 to 255", 1..=3),
            _ => ("a byte of the payload, two hex digits", 1..=2),
        };
        let mut is_filled = false;
        for place in into {
            let word = self.need(expected)?;
            is_filled |= matches!(word.text, [b'0', _]);
            if base == 16 && is_filled && word.text.len() == 1 {
                return Err(word.wrong(expected));
            }
            let value = word
                .number(base)
                .filter(|_| digits.contains(&word.text.len()));
            let value = value.and_then(|value| u8::try_from(value).ok());
            *place = value.ok_or(LogFault::Column(word.column, expected))?;
        }
        Ok(())
    }
}

impl<'a> Iterator for LineWords<'a> {
    type Item = LineWord<'a>;

    fn next(&mut self) -> Option<LineWord<'a>> {
        let blanks = self.rest.iter().take_while(|b| b.is_ascii_whitespace());
        let blanks = blanks.count();
        self.rest = self.rest.get(blanks..).unwrap_or_default();
        self.column += blanks;
        let len = self.rest.iter().take_while(|b| !b.is_ascii_whitespace());
        let (text, rest) = self.rest.split_at_checked(len.count())?;
        let word = LineWord {
            text,
            column: self.column,
        };
        self.rest = rest;
        self.column += text.len();
        (!text.is_empty()).then_some(word)
    }
}

impl LineWord<'_> {
    /// Returns the number that it represents, without a sign.
    pub(crate) fn number(&self, base: u32) -> Option<u32> {
        number(self.text, base)
    }

    /// Returns whether it is this text, regardless of the case of its letters.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text.as_bytes())
    }

    pub(crate) const fn wrong(&self, expected: &'static str) -> LogFault {
        LogFault::Column(self.column, expected)
    }
}

/// Parses a number that consists of digits only.
pub(crate) fn number(text: &[u8], base: u32) -> Option<u32> {
    let (first, rest) = text.split_first()?;
    let digit = |byte: u8| char::from(byte).to_digit(base);
    rest.iter().try_fold(digit(*first)?, |value, byte| {
        value.checked_mul(base)?.checked_add(digit(*byte)?)
    })
}

/// Parses a number with or without a fraction and returns it times 10 to the `scale`; further
/// digits are truncated.
pub(crate) fn decimal(text: &[u8], scale: u32) -> Option<Nanos> {
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let (whole, fraction) = text.split_at_checked(point)?;
    let fraction = fraction.get(1..).unwrap_or_default();
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let wanted = fraction.iter().copied().chain(std::iter::repeat(b'0'));
    let mut value: Nanos = 0;
    for digit in whole.iter().copied().chain(wanted.take(scale as usize)) {
        value = value
            .checked_mul(10)?
            .checked_add(Nanos::from(digit - b'0'))?;
    }
    Some(value)
}

/// Returns the text with a point where some countries write a comma.
pub(crate) fn with_point(text: &[u8]) -> Cow<'_, [u8]> {
    match text.contains(&b',') {
        true => Cow::Owned(
            text.iter()
                .map(|b| if *b == b',' { b'.' } else { *b })
                .collect(),
        ),
        false => Cow::Borrowed(text),
    }
}

/// Parses the same with or without a sign.
pub(crate) fn signed(text: &[u8], scale: u32) -> Option<i64> {
    let (digits, sign) = match text.strip_prefix(b"-") {
        Some(digits) => (digits, -1),
        None => (text, 1),
    };
    i64::try_from(decimal(digits, scale)?)
        .ok()?
        .checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_columns() {
        let mut words = LineWords::new(b"  a\tbc ");
        assert_eq!(words.next().unwrap().column, 3);
        let bc = words.next().unwrap();
        assert_eq!((bc.text, bc.column), (&b"bc"[..], 5));
        assert_eq!(words.need("x"), Err(LogFault::Column(7, "x")));
    }

    #[test]
    fn a_byte_that_was_cut_off_is_wrong() {
        let read = |text: &str| {
            let mut bytes = [0; 3];
            let read = LineWords::new(text.as_bytes()).bytes(&mut bytes, 16);
            read.map(|()| bytes)
        };
        for (text, bytes) in [
            ("0A 0B 0C", [0x0A, 0x0B, 0x0C]),
            ("A B 1C", [0x0A, 0x0B, 0x1C]),
            ("10 0 70", [0x10, 0, 0x70]),
        ] {
            assert_eq!(read(text), Ok(bytes), "{text}");
        }
        for text in ["0A 0B 0", "00 11 1", "0A B 0C", "0A 0B", "0A 0B 0CC"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal(b"1.5", 9), Some(1_500_000_000));
        assert_eq!(decimal(b"12", 3), Some(12_000));
        assert_eq!(signed(b"-0.5", 9), Some(-500_000_000));
        assert_eq!(signed(b"0.5", 9), Some(500_000_000));
        assert_eq!((signed(b"--1", 9), signed(b"-", 9)), (None, None));
        assert_eq!(decimal(b"0.1234567891", 9), Some(123_456_789));
        for wrong in ["", ".5", "1.-5", "-1.0", "99999999999999999999", "1.2.3"] {
            assert_eq!(decimal(wrong.as_bytes(), 9), None, "{wrong}");
        }
    }
}
