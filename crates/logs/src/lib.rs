//! A reader for log files of many programs.
//!
//! ```text
//! bytes ──► gzip, Zstandard ──► which format? ──► lines, or blocks ──► frames with their stamps
//!           Unpacked            Scanner
//! ```
//!
//! * [`LogReader`]: from beginning to end, for callers that may block.
//! * [`LogScanner`]: piece by piece, for callers that must not block.
//!
//! The formats are those of [`FileFormat`]. A log is recognised by its first lines or bytes; a file
//! that is not a log fails before any frame is returned, and [`OtherKind`] describes what it looks
//! like. Memory is bounded, however long the log is; only MF4 is read into memory as a whole, up to
//! 1 GiB.
//!
//! # Times
//! All times are nanoseconds since 1970, if the log states when it began; otherwise since its own
//! beginning. A date without a time zone (`candump -t A`, ASC, TRC) is interpreted as UTC.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bad;
mod blf;
mod draft;
mod format;
mod lines;
mod loss;
mod mf4;
mod name;
mod pcap;
mod reader;
mod recognise;
mod scanner;
mod text;
mod unpack;
mod zstd;

pub use bad::{BadLine, BadLines, LogFault, LogPlace};
pub use format::FileFormat;
pub use lines::MAX_LINE;
pub use mf4::PassedRecords;
pub use name::InterfaceName;
pub use reader::{LogEntry, LogError, LogReader};
pub use recognise::OtherKind;
pub use scanner::{LogScanner, LoggedFrame, MissingFrames, ScanStep};
pub use unpack::{UnpackedInput, is_torn};
