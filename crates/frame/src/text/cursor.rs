//! A cursor in a text.

use super::{ExpectedText, FoundText, ParseError};

/// The entry of [`NIBBLE`] for a byte that is not a hex digit.
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

/// Reads a text from left to right and keeps the column for errors.
#[derive(Clone, Copy)]
pub(super) struct TextCursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> TextCursor<'a> {
    /// Creates a cursor at the first byte that is not a blank. Blanks and line ends after the text
    /// are left out.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let mut cursor = Self {
            text: text.trim_ascii_end(),
            at: 0,
        };
        cursor.skip_blanks();
        cursor
    }

    /// Returns the byte at the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns the byte `ahead` bytes after the cursor.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at.saturating_add(ahead)).copied()
    }

    /// Returns the bytes that have not been read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Advances by a number of bytes.
    pub(super) fn advance(&mut self, by: usize) {
        self.at = self.at.saturating_add(by);
    }

    /// Returns the hex digit at the cursor, if there is one.
    pub(super) fn nibble(&self) -> Option<u8> {
        self.nibble_at(0)
    }

    /// Returns the hex digit `ahead` bytes after the cursor, if there is one.
    pub(super) fn nibble_at(&self, ahead: usize) -> Option<u8> {
        let value = NIBBLE[usize::from(self.peek_at(ahead)?)];
        (value != NONE).then_some(value)
    }

    /// Reads pairs of hex digits as bytes, as long as there are any and `room` has space; returns
    /// their number.
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

    /// Reads the hex digit at the cursor.
    pub(super) fn take_nibble(&mut self, expected: ExpectedText) -> Result<u8, ParseError> {
        let value = self.nibble().ok_or_else(|| self.fail(expected))?;
        self.at += 1;
        Ok(value)
    }

    /// Reads this byte if it is at the cursor; returns whether it was.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Reads this byte, or returns an error with what was expected.
    pub(super) fn require(&mut self, byte: u8, expected: ExpectedText) -> Result<(), ParseError> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.fail(expected))
        }
    }

    /// Advances to the next byte that is not a blank; returns the number of blanks.
    pub(super) fn skip_blanks(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at - from
    }

    /// Returns whether the cursor is at the end of the text.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Returns whether the cursor is at a blank or at the end of the text.
    pub(super) fn at_word_end(&self) -> bool {
        matches!(self.peek(), None | Some(b' ' | b'\t'))
    }

    /// Returns an error at the cursor.
    #[cold]
    pub(super) fn fail(&self, expected: ExpectedText) -> ParseError {
        self.fail_at(0, expected)
    }

    /// Returns an error `ahead` bytes after the cursor.
    #[cold]
    pub(super) fn fail_at(&self, ahead: usize, expected: ExpectedText) -> ParseError {
        let at = self.at.saturating_add(ahead).min(self.text.len());
        ParseError {
            column: at.saturating_add(1),
            expected,
            found: self
                .text
                .get(at)
                .map_or(FoundText::End, |b| FoundText::Byte(*b)),
        }
    }

    /// Returns an error about a number whose first digit is `back` bytes before the cursor.
    #[cold]
    pub(super) fn fail_number(
        &self,
        back: usize,
        number: u64,
        expected: ExpectedText,
    ) -> ParseError {
        ParseError {
            column: self.at.saturating_sub(back).saturating_add(1),
            expected,
            found: FoundText::Number(number),
        }
    }
}
