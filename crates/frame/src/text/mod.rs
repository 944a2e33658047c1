//! Frames as text: parser and printer for cansend's grammar of one frame and for candump's log
//! lines.
//!
//! # One frame
//! ```text
//! 123#DEADBEEF            classic, SFF            123#DE.AD.BE.EF    the same, dots are allowed
//! 12345678#               classic, EFF, no data   20000080#00…       error frame (2…, 3…)
//! 123#R  123#R5           remote, asks for 0, 5   123#11…88_F        raw DLC F on 8 bytes
//! 123##1AABB              FD, flags digit 1 = BRS  123#R8_E          remote with raw DLC E
//! 45123#81:00:12345678#AA XL: VCID 45, priority 123, flags, SDT, AF, 1 to 2048 bytes
//! 123#80:00:12345678#AA   XL without VCID
//! ```
//! Hex digits may be lower or upper case. Text that cansend of can-utils accepts has the same
//! meaning here, except that text which cansend ignores silently is an error: anything after the
//! frame, a remote length or raw DLC out of range, SFF identifiers above 7FF, EFF identifiers above
//! 1FFFFFFF, error frames that are remote or FD.
//!
//! # One line of a log
//! ```text
//! (1398128223.803317) can0 166#D0320009
//! (1398128223.803317000) can0 166#D0320009 R
//! ```
//! Seconds with up to nine digits of fraction, the interface (blanks before it, as candump pads),
//! the frame, and, where candump ran with `-x`, the direction. Line ends may be LF or CRLF. Empty
//! lines and lines that begin with `#` are neither frames nor errors.
//!
//! ```
//! use frame::{FrameBuf, text};
//!
//! let mut buf = FrameBuf::new();
//! let line = b"(1398128223.803317) can0 166#D0320009";
//! let entry = text::parse_line(line, &mut buf)?.expect("a frame, no comment");
//! assert_eq!(entry.interface, "can0");
//! assert_eq!(entry.stamp, 1_398_128_223_803_317_000);
//! assert_eq!(buf.view().data(), [0xD0, 0x32, 0x00, 0x09]);
//!
//! let again = text::LogLine {
//!     stamp: entry.stamp,
//!     interface: entry.interface,
//!     frame: buf.view(),
//!     direction: None,
//! };
//! assert_eq!(again.to_string().as_bytes(), line);
//!
//! let wrong = text::parse_frame(b"123#DEADB", &mut buf).unwrap_err();
//! assert_eq!(wrong.column, 10);
//! # Ok::<(), text::ParseError>(())
//! ```

mod cursor;
mod error;
mod line;
mod one;
mod print;

pub use error::{ExpectedText, FoundText, ParseError};
pub use line::{Direction, LineDetails, parse_line};
pub use one::parse_frame;
pub use print::LogLine;
