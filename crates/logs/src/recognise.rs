//! Recognition of the format of a log by its beginning.

use crate::blf;
use crate::format::FileFormat;
use crate::lines::line_end;
use crate::mf4;
use crate::pcap::{HeadVerdict, classic, link::FrameLink, ng};
use crate::text::plain::{BracketStamp, stamp, without_colours};
use crate::text::words::LineWords;
use crate::text::{asc, trc};
use std::fmt;

/// Maximum number of bytes of a log that are examined.
const LOOK: usize = 32 * 1024;

/// Maximum number of lines that may not be frames before one is.
const LINES: usize = 64;

/// Number of times by which `candump -t z` is distinguished from `-t d`.
const TIMES: usize = 32;

/// A description of input that is not a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtherKind {
    /// No bytes.
    Empty,
    /// Only zero bytes.
    Zeros,
    /// Bytes that are not text.
    Binary,
    /// Text without a line that is a frame.
    Text,
    /// candump's lines without time stamps.
    NoTimes,
    /// pcap with a link type that carries no CAN frames.
    LinkType(u32),
    /// A log in another format than the given one.
    Other(FileFormat),
    /// A known kind of file, with advice.
    Known(&'static str, &'static str),
}

impl fmt::Display for OtherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("it is empty; where a log may be without a frame, name its format")
            }
            Self::Zeros => f.write_str("it begins with nothing but zero bytes"),
            Self::Binary => f.write_str("it looks like binary data of no known kind"),
            Self::Text => f.write_str(
                "it looks like text, but none of its first lines is a frame in a format that is \
                 known",
            ),
            Self::NoTimes => f.write_str(
                "it looks like what candump shows without time stamps: record with candump -L, or \
                 candump -t a",
            ),
            Self::LinkType(number) => write!(
                f,
                "it is pcap with link type {number}, which carries no CAN frames (227, 113, 276 and \
                 252 do)"
            ),
            Self::Other(format) => write!(
                f,
                "it is one, but not in the format that was named: it looks like {format}"
            ),
            Self::Known(what, todo) => write!(f, "it looks like {what}: {todo}"),
        }
    }
}

/// The result for the beginning of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FormatVerdict {
    /// More input is needed.
    More,
    /// A log of this format.
    Is(FileFormat),
    /// Not a log.
    No(OtherKind),
}

const TORN: OtherKind = OtherKind::Known(
    "Vector BLF or ASAM MDF that ends within its first block",
    "copy it again, completely",
);

const UTF_16: OtherKind = OtherKind::Known("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW");

/// The beginnings of other kinds of file, with advice.
const OTHERS: [(&[u8], OtherKind); 11] = [
    (
        &[0x1F, 0x8B],
        OtherKind::Known(
            "gzip, which is unpacked out of files only",
            "zcat FILE | cangate …",
        ),
    ),
    (
        &[0x28, 0xB5, 0x2F, 0xFD],
        OtherKind::Known(
            "Zstandard, which is unpacked out of files only",
            "zstdcat FILE | cangate …",
        ),
    ),
    (b"BZh", OtherKind::Known("bzip2", "unpack it with bunzip2")),
    (
        &[0xFD, b'7', b'z', b'X', b'Z'],
        OtherKind::Known("xz", "unpack it with unxz"),
    ),
    (
        b"PK\x03\x04",
        OtherKind::Known("a ZIP archive", "unpack it"),
    ),
    (
        b"MDF ",
        OtherKind::Known(
            "ASAM MDF of another version than 4",
            "write it as MDF 4 with another program, such as asammdf",
        ),
    ),
    (&[0xFF, 0xFE], UTF_16),
    (&[0xFE, 0xFF], UTF_16),
    (
        b"PAR1",
        OtherKind::Known("Parquet", "cangate writes it, and does not read it"),
    ),
    (
        b"\x7FELF",
        OtherKind::Known("a program (ELF)", "is the name right?"),
    ),
    (
        b"SQLite format 3",
        OtherKind::Known("an SQLite database", "is the name right?"),
    ),
];

/// Examines the beginning; `last`: there is nothing after it.
pub(crate) fn recognise(head: &[u8], last: bool) -> FormatVerdict {
    // The result must not depend on how much of the input has been read.
    let last = last && head.len() <= LOOK;
    let head = head.get(..LOOK).unwrap_or(head);
    let enough = last || head.len() >= LOOK;
    if head.len() < 4 && !enough {
        return FormatVerdict::More;
    }
    if head.is_empty() {
        return FormatVerdict::No(OtherKind::Empty);
    }
    if head.starts_with(&ng::SECTION) {
        return FormatVerdict::Is(FileFormat::Pcapng);
    }
    if classic::magic(head).is_some() {
        return match classic::link_type(head) {
            None if last => FormatVerdict::No(OtherKind::Binary),
            None => FormatVerdict::More,
            Some(link) if FrameLink::of(link).is_none() => {
                FormatVerdict::No(OtherKind::LinkType(link))
            }
            Some(_) => FormatVerdict::Is(FileFormat::Pcap),
        };
    }
    for (verdict, format) in [
        (blf::begins(head), FileFormat::Blf),
        (mf4::begins(head), FileFormat::Mf4),
    ] {
        match verdict {
            HeadVerdict::Yes => return FormatVerdict::Is(format),
            HeadVerdict::More if last => return FormatVerdict::No(TORN),
            HeadVerdict::More => return FormatVerdict::More,
            HeadVerdict::Other => {}
        }
    }
    if let Some((_, looks)) = OTHERS.iter().find(|(begin, _)| head.starts_with(begin)) {
        return FormatVerdict::No(*looks);
    }
    let ends = line_end(head, last).unwrap_or(b'\n');
    let mut lines = WholeLines { head, last, ends };
    let mut seen = 0;
    while let Some(line) = lines.next() {
        let so_far = head.len() - lines.head.len();
        match of_line(line) {
            LineKind::Empty => continue,
            // A line that looks like a frame among bytes that are not text is there by chance.
            LineKind::Is(_) | LineKind::NoTimes if !is_text(head.get(..so_far).unwrap_or(head)) => {
                return FormatVerdict::No(unknown(head));
            }
            LineKind::Is(FileFormat::CandumpZero) => return zero_or_delta(line, lines, enough),
            LineKind::Is(format) => return FormatVerdict::Is(format),
            LineKind::NoTimes => return FormatVerdict::No(OtherKind::NoTimes),
            LineKind::Unknown => seen += 1,
        }
        if seen == LINES {
            let seen = head.len() - lines.head.len();
            return FormatVerdict::No(unknown(head.get(..seen).unwrap_or(head)));
        }
    }
    match (enough, seen) {
        (false, _) => FormatVerdict::More,
        // Only comments: a log without a frame.
        (true, 0) if last => FormatVerdict::Is(FileFormat::Log),
        (true, _) => FormatVerdict::No(unknown(head)),
    }
}

/// Determines whether a log in this format, which the user named, can begin in this way. A text is
/// accepted with any garbage in it: each wrong line is reported. Only input that is clearly
/// something else is refused, because it would be read to its end in vain.
pub(crate) fn begins(format: FileFormat, head: &[u8], last: bool) -> FormatVerdict {
    let verdict = recognise(head, last);
    let named = FormatVerdict::Is(format);
    match verdict {
        FormatVerdict::Is(found) if found == format => named,
        FormatVerdict::Is(found) if found.is_text() && format.is_text() => named,
        FormatVerdict::Is(found) => FormatVerdict::No(OtherKind::Other(found)),
        FormatVerdict::No(OtherKind::Known(..)) => verdict,
        FormatVerdict::No(OtherKind::Zeros) if head.len() >= LOOK => verdict,
        FormatVerdict::No(_) if format.is_text() => named,
        FormatVerdict::No(_) => verdict,
        // One line is enough; a pipe is not read any further before the decision.
        FormatVerdict::More if format.is_text() && head.contains(&b'\n') => named,
        FormatVerdict::More => FormatVerdict::More,
    }
}

fn is_text(head: &[u8]) -> bool {
    // The escape character is used by candump's colours.
    head.iter()
        .all(|b| !b.is_ascii_control() || b.is_ascii_whitespace() || *b == 0x1B)
}

fn unknown(head: &[u8]) -> OtherKind {
    if head.iter().all(|b| *b == 0) {
        OtherKind::Zeros
    } else if is_text(head) {
        OtherKind::Text
    } else {
        OtherKind::Binary
    }
}

/// The lines that are complete.
struct WholeLines<'a> {
    head: &'a [u8],
    last: bool,
    ends: u8,
}

impl<'a> Iterator for WholeLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.head.iter().position(|b| *b == self.ends);
        let (line, rest) = match end {
            Some(end) => (self.head.get(..end)?, self.head.get(end + 1..)?),
            None if self.last && !self.head.is_empty() => (self.head, &[][..]),
            None => return None,
        };
        self.head = rest;
        Some(line)
    }
}

enum LineKind {
    Empty,
    Is(FileFormat),
    NoTimes,
    Unknown,
}

/// Returns the kind of a line, even if the line has mistakes.
fn of_line(line: &[u8]) -> LineKind {
    let plain = without_colours(line);
    let line = &*plain;
    let mut words = LineWords::new(line);
    let Some(first) = words.peek() else {
        return LineKind::Empty;
    };
    match first.text {
        [b'#', ..] => return LineKind::Empty,
        [b';', ..] => return LineKind::Is(FileFormat::Trc),
        [b'(', ..] => {
            let Ok(found) = stamp(&mut words) else {
                return LineKind::Unknown;
            };
            words.next();
            return match words.peek() {
                Some(word) if word.text.contains(&b'#') => LineKind::Is(FileFormat::Log),
                Some(_) if words.any(|word| is_length(word.text)) => LineKind::Is(match found {
                    BracketStamp::Absolute(_) => FileFormat::Candump,
                    BracketStamp::Relative(_) => FileFormat::CandumpZero,
                }),
                _ => LineKind::Unknown,
            };
        }
        _ => {}
    }
    let all: Vec<&[u8]> = words.take(6).map(|word| word.text).collect();
    let is = |at: usize, text: &str| {
        all.get(at)
            .is_some_and(|word| word.eq_ignore_ascii_case(text.as_bytes()))
    };
    let asc = is(0, "date") && all.iter().any(|word| word.contains(&b':'))
        || is(0, "base") && (is(1, "hex") || is(1, "dec"))
        || is(0, "Begin") && is(1, "Triggerblock")
        || is(0, "//") && is(1, "version");
    // A section cut out of a log has no header.
    if asc || asc::is_frame(line) {
        return LineKind::Is(FileFormat::Asc);
    }
    if trc::is_frame(line) {
        return LineKind::Is(FileFormat::Trc);
    }
    let hex = |at: usize| {
        all.get(at)
            .is_some_and(|word| word.iter().all(u8::is_ascii_hexdigit))
    };
    let bare = hex(1) && all.get(2).is_some_and(|word| is_length(word))
        || (is(1, "RX") || is(1, "TX")) && hex(4)
        || all.get(1).is_some_and(|word| {
            let mut parts = word.splitn(2, |b| *b == b'#');
            let id = parts.next().unwrap_or_default();
            parts.next().is_some()
                && matches!(id.len(), 3 | 5 | 8)
                && id.iter().all(u8::is_ascii_hexdigit)
        });
    if bare {
        LineKind::NoTimes
    } else {
        LineKind::Unknown
    }
}

/// Returns whether a word is a length: `[8]`, `{B}`, `[08]`.
fn is_length(word: &[u8]) -> bool {
    matches!(word, [b'[', .., b']'] | [b'{', .., b'}']) && word.len() <= 6
}

/// Times that count from the first frame nearly always grow; differences grow half of the time.
fn zero_or_delta(first: &[u8], lines: WholeLines<'_>, enough: bool) -> FormatVerdict {
    let times = std::iter::once(first).chain(lines);
    let times = times.filter_map(
        |line| match stamp(&mut LineWords::new(&without_colours(line))) {
            Ok(BracketStamp::Relative(ns)) => Some(ns),
            _ => None,
        },
    );
    let times: Vec<_> = times.take(TIMES).collect();
    if times.len() < TIMES && !enough {
        return FormatVerdict::More;
    }
    let steps = times.len().saturating_sub(1);
    let grows = times.iter().zip(times.iter().skip(1));
    let grows = grows.filter(|(a, b)| a < b).count();
    FormatVerdict::Is(if 4 * grows >= 3 * steps {
        FileFormat::CandumpZero
    } else {
        FileFormat::CandumpDelta
    })
}
