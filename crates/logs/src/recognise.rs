//! Recognition of the format of a log by its beginning.

use crate::candump;
use crate::database::Database;
use crate::format::FileFormat;
use crate::lines::{line_end, without_file_end, without_marks};
use crate::read::{FormatRecognition, HeadVerdict};
use std::fmt;

/// Maximum number of bytes of a log that are examined.
const EXAMINED_BYTES: usize = 32 * 1024;

/// Maximum number of lines that may not be frames before one is.
const LINES: usize = 64;

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
    /// A log of a binary format that ends within its header.
    Cut(FileFormat),
    /// A database of messages and signals.
    Database(Database),
    /// A known kind of file, with advice.
    Known(&'static str, &'static str),
}

impl fmt::Display for OtherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("it is empty; to read a log without frames, name its format")
            }
            Self::Zeros => f.write_str("it begins with nothing but zero bytes"),
            Self::Binary => f.write_str("it looks like binary data of no known kind"),
            Self::Text => f.write_str(
                "it looks like text, but none of its first lines is a frame in a known \
                 format",
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
                "it is a log, but not in the format that was named: it looks like {format}"
            ),
            Self::Cut(format) => write!(
                f,
                "it looks like {format} that is cut off within its header: copy it again, completely"
            ),
            Self::Database(database) => write!(f, "it looks like {database}"),
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

const UTF_16: OtherKind = OtherKind::Known("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW");

const UTF_32: OtherKind = OtherKind::Known("text in UTF-32", "iconv -f UTF-32 -t UTF-8 FILE > NEW");

/// The beginnings of other kinds of file, with advice.
const OTHERS: [(&[u8], OtherKind); 14] = [
    (
        &[0x1F, 0x8B],
        OtherKind::Known(
            "gzip, which is unpacked only from files",
            "zcat FILE | cangate …",
        ),
    ),
    (
        &[0x28, 0xB5, 0x2F, 0xFD],
        OtherKind::Known(
            "Zstandard, which is unpacked only from files",
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
        &[0x04, 0x22, 0x4D, 0x18],
        OtherKind::Known("LZ4", "unpack it with unlz4"),
    ),
    (
        b"7z\xBC\xAF\x27\x1C",
        OtherKind::Known("a 7z archive", "unpack it"),
    ),
    (&[0xFF, 0xFE, 0, 0], UTF_32),
    (&[0, 0, 0xFE, 0xFF], UTF_32),
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
    let last = last && head.len() <= EXAMINED_BYTES;
    let head = head.get(..EXAMINED_BYTES).unwrap_or(head);
    let enough = last || head.len() >= EXAMINED_BYTES;
    if head.len() < 4 && !enough {
        return FormatVerdict::More;
    }
    if head.is_empty() {
        return FormatVerdict::No(OtherKind::Empty);
    }
    if let Some(verdict) = by_bytes(head, last) {
        return verdict;
    }
    if let Some((_, looks)) = OTHERS.iter().find(|(begin, _)| head.starts_with(begin)) {
        return FormatVerdict::No(*looks);
    }
    match Database::recognise(head) {
        Some(database) => return FormatVerdict::No(OtherKind::Database(database)),
        None if Database::is_open(head) && !enough => return FormatVerdict::More,
        None => {}
    }
    if let Some(looks) = utf_16(head) {
        return FormatVerdict::No(looks);
    }
    let mut lines = WholeLines { head, last };
    let mut seen = 0;
    while let Some(line) = lines.next() {
        let so_far = head.len() - lines.head.len();
        match LineKind::classify(line) {
            LineKind::Empty => continue,
            // A line that looks like a frame among bytes that are not text is there by chance.
            LineKind::Is(_) | LineKind::NoTimes if !is_text(head.get(..so_far).unwrap_or(head)) => {
                return FormatVerdict::No(unknown(head));
            }
            LineKind::Is(FileFormat::CandumpZero) => {
                let mut all = std::iter::once(line).chain(lines);
                return match candump::is_delta(&mut all, enough) {
                    None => FormatVerdict::More,
                    Some(true) => FormatVerdict::Is(FileFormat::CandumpDelta),
                    Some(false) => FormatVerdict::Is(FileFormat::CandumpZero),
                };
            }
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

/// Asks the binary formats.
fn by_bytes(head: &[u8], last: bool) -> Option<FormatVerdict> {
    FileFormat::ALL.iter().find_map(|format| {
        let FormatRecognition::Bytes(verdict) = format.spec().reading?.recognition else {
            return None;
        };
        match verdict(head) {
            HeadVerdict::Other => None,
            HeadVerdict::More if last => Some(FormatVerdict::No(OtherKind::Cut(*format))),
            HeadVerdict::More => Some(FormatVerdict::More),
            HeadVerdict::Yes => Some(FormatVerdict::Is(*format)),
            HeadVerdict::LinkType(link) => Some(FormatVerdict::No(OtherKind::LinkType(link))),
            HeadVerdict::Variant(what, todo) => {
                Some(FormatVerdict::No(OtherKind::Known(what, todo)))
            }
        }
    })
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
        FormatVerdict::No(OtherKind::Known(..) | OtherKind::Database(_) | OtherKind::Cut(_)) => {
            verdict
        }
        FormatVerdict::No(OtherKind::Zeros) if head.len() >= EXAMINED_BYTES => verdict,
        FormatVerdict::No(_) if format.is_text() => named,
        FormatVerdict::No(_) => verdict,
        // A few more bytes can still show another format or a database.
        FormatVerdict::More
            if head.len() < 4 || by_bytes(head, last).is_some() || Database::is_open(head) =>
        {
            FormatVerdict::More
        }
        // One line is enough; a pipe is not read any further before the decision.
        FormatVerdict::More if format.is_text() && line_end(head, last).is_ok() => named,
        FormatVerdict::More => FormatVerdict::More,
    }
}

fn is_text(head: &[u8]) -> bool {
    // The escape character is used by candump's colours; Ctrl-Z ends files of DOS.
    let is_allowed = |b: u8| b.is_ascii_whitespace() || matches!(b, 0x1A | 0x1B);
    head.iter().all(|b| !b.is_ascii_control() || is_allowed(*b))
}

/// Recognises UTF-16 without a byte order mark: the first characters, of which there are several,
/// are ASCII.
fn utf_16(head: &[u8]) -> Option<OtherKind> {
    const FEWEST: usize = 8;
    let pairs = head.as_chunks::<2>().0;
    let pairs = pairs.get(..FEWEST)?;
    let is_ascii = |b: u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    let all = |high: usize| {
        let fits = |pair: &[u8; 2]| pair.get(high) == Some(&0) && pair.iter().any(|b| is_ascii(*b));
        pairs.iter().all(fits)
    };
    let cure = match (all(0), all(1)) {
        (true, _) => "iconv -f UTF-16BE -t UTF-8 FILE > NEW",
        (_, true) => "iconv -f UTF-16LE -t UTF-8 FILE > NEW",
        _ => return None,
    };
    Some(OtherKind::Known(
        "text in UTF-16 without a byte order mark",
        cure,
    ))
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
}

impl<'a> Iterator for WholeLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (line, rest) = match line_end(self.head, self.last) {
            Ok((end, next)) => (self.head.get(..end)?, self.head.get(next..)?),
            Err(_) if self.last && !self.head.is_empty() => (without_file_end(self.head), &[][..]),
            Err(_) => return None,
        };
        self.head = rest;
        Some(without_marks(line))
    }
}

enum LineKind {
    Empty,
    Is(FileFormat),
    NoTimes,
    Unknown,
}

impl LineKind {
    /// Returns the kind of a line, even if the line has mistakes.
    fn classify(line: &[u8]) -> Self {
        let line = &*candump::without_colours(line);
        match line.trim_ascii_start() {
            [] | [b'#', ..] => return Self::Empty,
            _ => {}
        }
        let is = |format: &&FileFormat| match format.spec().reading {
            Some(reading) => match reading.recognition {
                FormatRecognition::Line(is_line) => is_line(line),
                FormatRecognition::Bytes(_) | FormatRecognition::Name => false,
            },
            None => false,
        };
        match FileFormat::ALL.iter().find(is) {
            Some(format) => Self::Is(*format),
            None if candump::has_no_time(line) => Self::NoTimes,
            None => Self::Unknown,
        }
    }
}
