//! Parse errors: the mistake, its place and its remedy.

use core::fmt;

/// The error for a text that is not a frame or not a line of a log: the place, what was found
/// there, and what was expected. `Display` prints all three and the remedy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The place, counted in bytes from 1. One past the end where something is missing.
    pub column: usize,
    /// The element that was expected there.
    pub expected: ExpectedText,
    /// The element that was found there.
    pub found: FoundText,
}

/// The element found where something else was expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundText {
    /// The text ended.
    End,
    /// This byte.
    Byte(u8),
    /// A number that begins there and is out of range.
    Number(u64),
}

/// The element that a text should have had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExpectedText {
    /// An identifier of 3, 5 or 8 hex digits and a `#`.
    Id,
    /// An SFF identifier of at most 7FF.
    SffId,
    /// An EFF identifier of at most 1FFFFFFF, or an error frame from 20000000 to 3FFFFFFF.
    EffId,
    /// An XL priority of at most 7FF.
    XlPriority,
    /// Payload bytes, or the end of the frame.
    Data,
    /// The second hex digit of a payload byte.
    SecondDigit,
    /// The end of a classic frame, which has its 8 bytes.
    ClassicEnd,
    /// The end of an FD frame, which has its 64 bytes.
    FdEnd,
    /// The end of an XL frame, which has its 2048 bytes.
    XlEnd,
    /// After `R`: a length of 0 to 8 or the end of the frame.
    RemoteLength,
    /// After `_`: a raw DLC of 9 to F.
    RawDlc,
    /// 8 bytes before a raw DLC.
    EightBytes,
    /// A data frame: error frames are never remote or FD.
    ErrorFrameData,
    /// After `##`: one hex digit of FD flags.
    FdFlags,
    /// Two hex digits of XL flags and a `:`.
    XlFlags,
    /// Two hex digits of XL service data unit type and a `:`.
    XlSdt,
    /// Eight hex digits of XL acceptance field and a `#`.
    XlAf,
    /// At least one byte of XL payload.
    XlData,
    /// The end of the frame.
    FrameEnd,
    /// The `(` before the time.
    TimeOpen,
    /// A frame, where candump reports that it lost some (`DROPCOUNT: …`).
    NoDroppedFrames,
    /// Digits of seconds.
    Seconds,
    /// Seconds that fit into 64 bits of nanoseconds.
    SecondsInRange,
    /// The `.` after the seconds.
    Point,
    /// One to nine digits of fraction.
    Fraction,
    /// The `)` after the time.
    TimeClose,
    /// A blank between two parts of the line.
    Blank,
    /// An interface's name.
    Interface,
    /// A name of at most 15 bytes.
    InterfaceShort,
    /// A byte that is allowed in an interface's name.
    InterfaceByte,
    /// A frame after the interface.
    Frame,
    /// `R`, `T` or the end of the line.
    DirectionOrEnd,
    /// A classic or FD frame, where XL is not allowed.
    NoXl,
}

impl ExpectedText {
    /// Returns the text for the expected element, and the remedy.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Id => (
                "an ID of 3 hex digits (SFF), 8 (EFF, error frame) or 5 (XL: VCID and priority) and a '#'",
                "fill up with zeros: SFF 7 is written 007#",
            ),
            Self::SffId => (
                "an SFF ID of at most 7FF",
                "write 8 digits for an EFF ID: 00000800#",
            ),
            Self::EffId => (
                "an EFF ID of at most 1FFFFFFF, or an error frame from 20000000 to 3FFFFFFF",
                "leave out SocketCAN's flag bits 80000000 and 40000000: 8 digits mean EFF, 'R' means remote",
            ),
            Self::XlPriority => (
                "an XL priority of at most 7FF",
                "of five digits the first two are the VCID, the last three the priority",
            ),
            Self::Data => (
                "payload bytes of two hex digits, or the end of the frame",
                "remove what does not belong to the payload; only a single '.' may separate bytes",
            ),
            Self::SecondDigit => (
                "the second hex digit of this byte",
                "write two digits for each byte, as in 0A",
            ),
            Self::ClassicEnd => (
                "the end of the frame: a classic frame carries at most 8 bytes",
                "remove bytes, or write '##' and a flags digit for an FD frame",
            ),
            Self::FdEnd => (
                "the end of the frame: an FD frame carries at most 64 bytes",
                "remove bytes",
            ),
            Self::XlEnd => (
                "the end of the frame: an XL frame carries at most 2048 bytes",
                "remove bytes",
            ),
            Self::RemoteLength => (
                "a length of 0 to 8 or the end of the frame",
                "write R for a remote frame that asks for nothing, R8 for 8 bytes",
            ),
            Self::RawDlc => (
                "a raw DLC of 9 to F",
                "leave out '_' and what follows for the ordinary DLC 8",
            ),
            Self::EightBytes => (
                "8 bytes before a raw DLC",
                "give 8 bytes (R8 for a remote frame), or leave out '_' and what follows",
            ),
            Self::ErrorFrameData => (
                "the data of an error frame, which is never remote and never FD",
                "remove 'R' or '##' and flags, or use an ID below 20000000",
            ),
            Self::FdFlags => (
                "one hex digit of FD flags",
                "write 0, or 1 for BRS, 2 for ESI, 3 for both",
            ),
            Self::XlFlags => (
                "two hex digits of XL flags and a ':'",
                "write 80: where no flag is set; an ID of 5 digits always means XL",
            ),
            Self::XlSdt => (
                "two hex digits of XL service data unit type and a ':'",
                "write 00: where it does not matter",
            ),
            Self::XlAf => (
                "eight hex digits of XL acceptance field and a '#'",
                "write 00000000# where it does not matter",
            ),
            Self::XlData => (
                "at least one byte of payload",
                "an XL frame without payload does not exist: add a byte",
            ),
            Self::FrameEnd => (
                "the end of the frame",
                "remove what follows, or put a blank before it in a log",
            ),
            Self::TimeOpen => (
                "a '(' and the time",
                "a log line is \"(seconds.fraction) interface frame\"; a comment begins with '#'",
            ),
            Self::NoDroppedFrames => (
                "a frame: candump notes here that it lost frames",
                "the log has a gap; record again with a larger receive buffer (candump -r)",
            ),
            Self::Seconds => (
                "digits of seconds",
                "times are never negative: write seconds since an epoch, as in (0000000012.500000)",
            ),
            Self::SecondsInRange => (
                "at most 18446744072 seconds",
                "correct the time: it is past the year 2554",
            ),
            Self::Point => ("a '.' and the fraction of the second", "add .000000"),
            Self::Fraction => (
                "one to nine digits of fraction",
                "write six digits, as candump does",
            ),
            Self::TimeClose => (
                "a ')' after at most nine digits of fraction",
                "end the time with ')'",
            ),
            Self::Blank => ("a blank", "put a blank between time, interface and frame"),
            Self::Interface => (
                "an interface's name and a frame",
                "a log line is \"(seconds.fraction) interface frame\"",
            ),
            Self::InterfaceShort => (
                "the end of the interface's name: Linux allows 15 bytes",
                "shorten the name",
            ),
            Self::InterfaceByte => (
                "an interface's name in UTF-8 without '/' and control characters",
                "correct the name; '.' and '..' are not valid names either",
            ),
            Self::Frame => ("a frame", "add it, as in 123#DEADBEEF"),
            Self::DirectionOrEnd => (
                "'R' (received), 'T' (sent) or the end of the line",
                "remove what follows the frame",
            ),
            Self::NoXl => (
                "a classic or FD frame",
                "an XL frame has no place here; use 123#… or 123##…",
            ),
        }
    }
}

impl fmt::Display for ExpectedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words().0)
    }
}

impl fmt::Display for FoundText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("the end of the text"),
            Self::Byte(b' ') => f.write_str("a blank"),
            Self::Byte(b) if b.is_ascii_graphic() => write!(f, "'{}'", char::from(*b)),
            Self::Byte(b) => write!(f, "byte {b:02X} (hex)"),
            Self::Number(n) => write!(f, "{n:X}"),
        }
    }
}

impl ParseError {
    /// Returns the remedy, in a few words.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.expected.words().1
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: found ", self.column)?;
        match (self.found, self.expected) {
            // Times are the only decimal number.
            (FoundText::Number(n), ExpectedText::SecondsInRange) => write!(f, "{n}")?,
            (found, _) => write!(f, "{found}")?,
        }
        write!(f, ", expected {}; {}", self.expected, self.hint())
    }
}

impl core::error::Error for ParseError {}
