//! Lines from a stream of bytes, in bounded memory. Binary formats are read from the same buffer.

use std::io::{self, Read};

/// The maximum length of a line with a frame: an XL frame of 2048 bytes needs some 4200 characters.
/// Longer lines are skipped and reported as too long.
pub const MAX_LINE: usize = 8 * 1024;

/// Size of the buffer in bytes. Well above [`MAX_LINE`], so that there is always space after
/// compaction.
pub(crate) const BUFFER: usize = 64 * 1024;

/// A line without its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineText<'a> {
    /// Its bytes; neither `\n` nor a `\r` before it.
    Whole(&'a [u8]),
    /// The line is longer than [`MAX_LINE`].
    TooLong,
}

/// Splits the input into lines. The buffer is allocated once.
pub(crate) struct LineSplitter {
    buffer: Box<[u8]>,
    /// Unused bytes are `start..end`; there is no line end before `scanned`.
    start: usize,
    end: usize,
    scanned: usize,
    /// Whether the current line was too long, so that its beginning has been discarded.
    skipping: bool,
    number: u64,
    /// Number of bytes of the input before `start`.
    offset: u64,
    /// The byte that ends a line: `\n`, or, in some files of old programs, `\r` alone.
    ends: u8,
}

/// The byte order mark of UTF-8, with which Windows programs begin texts.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Number of bytes in which the first line end is searched for.
const FIRST_END: usize = 16 * 1024;

/// Returns the byte that ends the lines of a text with this beginning; `None` where more of it is
/// needed.
pub(crate) fn line_end(head: &[u8], last: bool) -> Option<u8> {
    let head = head.get(..FIRST_END).unwrap_or(head);
    // Lines of an old program end in `\r`; elsewhere it precedes a `\n`, sometimes several of them.
    let has = |byte: u8| head.contains(&byte);
    match (has(b'\n'), has(b'\r')) {
        (true, _) => Some(b'\n'),
        (false, true) if last || head.len() >= FIRST_END => Some(b'\r'),
        (false, _) if last || head.len() >= FIRST_END => Some(b'\n'),
        (false, _) => None,
    }
}

impl LineSplitter {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            scanned: 0,
            skipping: false,
            number: 0,
            offset: 0,
            ends: b'\n',
        }
    }

    /// Called before the first line: skips a byte order mark, and determines the byte that ends
    /// lines. Returns false where more input is needed.
    pub(crate) fn begin(&mut self, last: bool) -> bool {
        let head = self.head();
        if self.offset == 0 && MARK.starts_with(head) && head.len() < MARK.len() && !last {
            return false;
        }
        if self.offset == 0 && head.starts_with(&MARK) {
            self.consume(MARK.len());
        }
        self.ends = line_end(self.head(), last).unwrap_or(b'\n');
        true
    }

    /// Returns the bytes that were read and not used yet.
    pub(crate) fn head(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the position of [`LineSplitter::head`] in the input.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Consumes bytes of [`LineSplitter::head`], at most all of it; returns their number.
    pub(crate) fn consume(&mut self, bytes: usize) -> usize {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.scanned = self.scanned.max(self.start);
        self.offset += bytes as u64;
        bytes
    }

    /// Returns the number of the last line, from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Reads once. Returns 0 at the end of the input.
    pub(crate) fn fill(&mut self, input: &mut impl Read) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        let n = input.read(&mut self.buffer[self.end..])?;
        self.end += n;
        Ok(n)
    }

    /// Returns the next line, if it is complete. After the end of the input (`last`), the remaining
    /// bytes are a line, too.
    pub(crate) fn next(&mut self, last: bool) -> Option<LineText<'_>> {
        let end = self.buffer[self.scanned..self.end]
            .iter()
            .position(|&b| b == self.ends)
            .map(|at| self.scanned + at);
        let Some(end) = end else {
            self.scanned = self.end;
            if self.end - self.start > MAX_LINE {
                self.skipping = true;
                self.consume(self.end - self.start);
            }
            if last && (self.start < self.end || self.skipping) {
                return Some(self.cut(self.end, self.end));
            }
            return None;
        };
        Some(self.cut(end, end + 1))
    }

    /// Takes the line that ends before `end`; the next one begins at `next`.
    fn cut(&mut self, end: usize, next: usize) -> LineText<'_> {
        let line = self.start..end;
        self.offset += (next - self.start) as u64;
        self.start = next;
        self.scanned = next;
        self.number += 1;
        if std::mem::take(&mut self.skipping) || line.len() > MAX_LINE {
            return LineText::TooLong;
        }
        let line = &self.buffer[line];
        LineText::Whole(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns at most `step` bytes at a time.
    struct TrickleReader<'a>(&'a [u8], usize);

    impl Read for TrickleReader<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn split(input: &[u8], step: usize) -> Vec<Option<Vec<u8>>> {
        let mut input = TrickleReader(input, step);
        let (mut lines, mut out, mut last) = (LineSplitter::new(), Vec::new(), false);
        loop {
            while let Some(line) = lines.next(last) {
                out.push(match line {
                    LineText::Whole(bytes) => Some(bytes.to_vec()),
                    LineText::TooLong => None,
                });
            }
            if last {
                assert_eq!(lines.number(), out.len() as u64);
                return out;
            }
            last = lines.fill(&mut input).unwrap() == 0;
        }
    }

    /// The obvious method, with all of the input in memory.
    fn reference(input: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut parts: Vec<&[u8]> = input.split(|&b| b == b'\n').collect();
        if parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        let whole = |part: &[u8]| part.strip_suffix(b"\r").unwrap_or(part).to_vec();
        let fits = |part: &&[u8]| part.len() <= MAX_LINE;
        parts
            .into_iter()
            .map(|part| Some(part).filter(fits).map(whole))
            .collect()
    }

    #[test]
    fn ends_of_lines_and_of_the_input() {
        assert_eq!(split(b"", 9), reference(b""));
        let line = |text: &[u8]| Some(text.to_vec());
        assert_eq!(split(b"a\r\n\nb", 1), [line(b"a"), line(b""), line(b"b")]);
        assert_eq!(split(b"a\n", 100), [line(b"a")]);
    }

    #[test]
    fn a_line_may_be_just_as_long_as_allowed() {
        for (len, fits) in [(MAX_LINE, true), (MAX_LINE + 1, false), (BUFFER * 3, false)] {
            let mut input = vec![b'x'; len];
            input.extend_from_slice(b"\nnext\n");
            for step in [1000, usize::MAX] {
                let lines = split(&input, step);
                assert_eq!(lines.len(), 2);
                assert_eq!(lines[0].is_some(), fits, "{len} bytes");
                assert_eq!(lines[1], Some(b"next".to_vec()));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn same_as_splitting_in_memory(
            parts in prop::collection::vec(
                (prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], prop_oneof![
                    8 => 1usize..40, 1 => 8000usize..9000, 1 => 60_000usize..70_000]),
                0..20),
            step in prop_oneof![1usize..50, 1000usize..100_000],
        ) {
            let mut input = Vec::new();
            for (byte, times) in parts {
                input.extend(std::iter::repeat_n(byte, if byte == b'\n' { times % 3 } else { times }));
            }
            prop_assert_eq!(split(&input, step), reference(&input));
        }
    }
}
