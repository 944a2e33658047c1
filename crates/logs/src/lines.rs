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
    /// Its bytes, without marks ([`without_marks`]).
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
}

/// The byte order mark of UTF-8, with which Windows programs begin texts. Where texts were put
/// together, a line in the middle can begin with it.
const MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// The end-of-file character of old DOS programs (Ctrl-Z).
const FILE_END: &[u8] = &[0x1A];

/// Maximum number of `\r` before a `\n` that are one line end together with it: some programs
/// write two.
const MOST_RETURNS: usize = 8;

/// Returns the place of the next line end, and that behind it: `\n`, `\r\n`, or, in files of old
/// programs, `\r` alone; a file can have all of them. `Err`: the number of bytes before which
/// there is none; `last`: nothing follows `text`.
pub(crate) fn line_end(text: &[u8], last: bool) -> Result<(usize, usize), usize> {
    let found = memchr::memchr2(b'\n', b'\r', text);
    let at = found.ok_or(text.len())?;
    let rest = text.get(at..).unwrap_or_default();
    let returns = rest.iter().take(MOST_RETURNS).take_while(|b| **b == b'\r');
    let returns = returns.count();
    match rest.get(returns) {
        Some(b'\n') if returns < MOST_RETURNS => Ok((at, at + returns + 1)),
        None if !last && returns < MOST_RETURNS => Err(at),
        _ => Ok((at, at + 1)),
    }
}

/// Returns a line without the marks before its text: byte order marks, and end-of-file characters
/// of texts before it.
pub(crate) fn without_marks(line: &[u8]) -> &[u8] {
    let marks = [MARK, FILE_END];
    let begin = |line| {
        marks
            .into_iter()
            .find_map(|mark| <[u8]>::strip_prefix(line, mark))
    };
    let mut line = line;
    while let Some(rest) = begin(line) {
        line = rest;
    }
    line
}

/// Returns the last line of a text, which has no line end, without the end-of-file character.
/// Elsewhere this byte is a damaged one.
pub(crate) fn without_file_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(FILE_END).unwrap_or(line)
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
        }
    }

    /// Called before the first line: skips a byte order mark. Returns false where more input is
    /// needed.
    pub(crate) fn begin(&mut self, last: bool) -> bool {
        let head = self.head();
        if self.offset == 0 && MARK.starts_with(head) && head.len() < MARK.len() && !last {
            return false;
        }
        if self.offset == 0 && head.starts_with(MARK) {
            self.consume(MARK.len());
        }
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
        let open = self.buffer.get(self.scanned..self.end).unwrap_or_default();
        let (end, next) = match line_end(open, last) {
            Ok((end, next)) => (self.scanned + end, self.scanned + next),
            Err(searched) => {
                self.scanned += searched;
                if self.scanned - self.start > MAX_LINE {
                    self.skipping = true;
                    self.consume(self.scanned - self.start);
                }
                if last && (self.start < self.end || self.skipping) {
                    return Some(self.cut(self.end, self.end));
                }
                return None;
            }
        };
        Some(self.cut(end, next))
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
        let text = &self.buffer[line];
        LineText::Whole(without_marks(match end == next {
            true => without_file_end(text),
            false => text,
        }))
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
        let (mut parts, mut part, mut rest) = (Vec::new(), Vec::new(), input);
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            let others = after.iter().take(MOST_RETURNS);
            let others = others.take_while(|b| **b == b'\r').count();
            match first {
                b'\n' => parts.push(std::mem::take(&mut part)),
                b'\r' => {
                    if others + 1 < MOST_RETURNS && after.get(others) == Some(&b'\n') {
                        rest = &after[others + 1..];
                    }
                    parts.push(std::mem::take(&mut part));
                }
                other => part.push(*other),
            }
        }
        if !part.is_empty() {
            if part.last() == Some(&0x1A) && part.len() <= MAX_LINE {
                part.pop();
            }
            parts.push(part);
        }
        let fits = |part: &Vec<u8>| part.len() <= MAX_LINE;
        let text = |part: Vec<u8>| without_marks(&part).to_vec();
        parts
            .into_iter()
            .map(|part| Some(part).filter(fits).map(text))
            .collect()
    }

    #[test]
    fn ends_of_lines_and_of_the_input() {
        assert_eq!(split(b"", 9), reference(b""));
        let line = |text: &[u8]| Some(text.to_vec());
        assert_eq!(split(b"a\r\n\nb", 1), [line(b"a"), line(b""), line(b"b")]);
        assert_eq!(split(b"a\n", 100), [line(b"a")]);
        for step in [1, 100] {
            let mixed = b"a\rb\r\nc\r\r\nd\n\re\r";
            let lines = [&b"a"[..], b"b", b"c", b"d", b"", b"e"].map(line);
            assert_eq!(split(mixed, step), lines);
        }
    }

    #[test]
    fn marks_are_no_part_of_a_line() {
        let text = b"\xEF\xBB\xBFa\n\x1A\xEF\xBB\xBFb\n\x1A\nc\x1A";
        let lines = [&b"a"[..], b"b", b"", b"c"].map(|text| Some(text.to_vec()));
        assert_eq!(split(text, 1), lines);
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
