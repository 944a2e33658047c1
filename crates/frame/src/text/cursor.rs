//! A place in a text.

use super::{Expected, Found, ParseError};

/// No hex digit, in [`NIBBLE`].
const NONE: u8 = 0xFF;

/// The value of each byte as a hex digit.
static NIBBLE: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut n = 0;
    while n < 16 {
        table[b"0123456789ABCDEF"[n] as usize] = n as u8;
        table[b"0123456789abcdef"[n] as usize] = n as u8;
        n += 1;
    }
    table
};

/// Reads a text from left to right and knows the column for errors.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the first byte that is no blank. Blanks and line ends after the text are left out.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let mut cursor = Self {
            text: text.trim_ascii_end(),
            at: 0,
        };
        cursor.skip_blanks();
        cursor
    }

    /// The byte here.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The byte `ahead` of here.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at.saturating_add(ahead)).copied()
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes on by some bytes.
    pub(super) fn advance(&mut self, by: usize) {
        self.at = self.at.saturating_add(by);
    }

    /// The hex digit here, if there is one.
    pub(super) fn nibble(&self) -> Option<u8> {
        self.nibble_at(0)
    }

    /// The hex digit `ahead` of here, if there is one.
    pub(super) fn nibble_at(&self, ahead: usize) -> Option<u8> {
        let value = NIBBLE[usize::from(self.peek_at(ahead)?)];
        (value != NONE).then_some(value)
    }

    /// Takes pairs of hex digits as bytes, as long as there are any and `room` has room; how
    /// many.
    pub(super) fn take_pairs(&mut self, room: &mut [u8]) -> usize {
        let mut taken = 0;
        for (pair, place) in self.rest().chunks_exact(2).zip(room) {
            let &[high, low] = pair else { break };
            let (high, low) = (NIBBLE[usize::from(high)], NIBBLE[usize::from(low)]);
            if high | low == NONE {
                break;
            }
            *place = high << 4 | low;
            taken += 1;
        }
        self.at += 2 * taken;
        taken
    }

    /// Takes the hex digit here.
    pub(super) fn take_nibble(&mut self, expected: Expected) -> Result<u8, ParseError> {
        let value = self.nibble().ok_or_else(|| self.fail(expected))?;
        self.at += 1;
        Ok(value)
    }

    /// Takes this byte where it stands here.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Takes this byte or says what was expected.
    pub(super) fn require(&mut self, byte: u8, expected: Expected) -> Result<(), ParseError> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.fail(expected))
        }
    }

    /// Goes on to the next byte that is no blank; how many blanks there were.
    pub(super) fn skip_blanks(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at - from
    }

    /// At the end of the text?
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// At a blank or the end of the text?
    pub(super) fn at_word_end(&self) -> bool {
        matches!(self.peek(), None | Some(b' ' | b'\t'))
    }

    /// An error here.
    #[cold]
    pub(super) fn fail(&self, expected: Expected) -> ParseError {
        self.fail_at(0, expected)
    }

    /// An error `ahead` of here.
    #[cold]
    pub(super) fn fail_at(&self, ahead: usize, expected: Expected) -> ParseError {
        let at = self.at.saturating_add(ahead).min(self.text.len());
        ParseError {
            column: at.saturating_add(1),
            expected,
            found: self.text.get(at).map_or(Found::End, |b| Found::Byte(*b)),
        }
    }

    /// An error about a number whose first digit stood `back` bytes before here.
    #[cold]
    pub(super) fn fail_number(&self, back: usize, number: u64, expected: Expected) -> ParseError {
        ParseError {
            column: self.at.saturating_sub(back).saturating_add(1),
            expected,
            found: Found::Number(number),
        }
    }
}
