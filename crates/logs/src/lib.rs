//! Log files, whatever program wrote them.
//!
//! ```text
//! bytes ──► gzip, Zstandard ──► which format? ──► lines, or blocks ──► frames with their stamps
//!           Unpacked            Scanner
//! ```
//!
//! * [`LogReader`]: from beginning to end, for whoever may wait.
//! * [`Scanner`]: piece by piece, for whoever must not.
//!
//! Formats are those of [`Format`]. A log is recognised by its first lines or bytes; what is none
//! fails before any frame is given, and [`Looks`] says what it looks like. Memory is bounded,
//! however long the log is.
//!
//! # Times
//! All are nanoseconds since 1970, as far as the log says when it began; otherwise since its own
//! beginning. A date without a time zone (`candump -t A`, ASC, TRC) is taken as UTC.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bad;
mod draft;
mod format;
mod lines;
mod loss;
mod name;
mod pcap;
mod reader;
mod recognise;
mod scanner;
mod text;
mod unpack;
mod zstd;

pub use bad::{BadLine, BadLines, Fault, Place};
pub use format::Format;
pub use lines::MAX_LINE;
pub use name::InterfaceName;
pub use reader::{LogEntry, LogError, LogReader};
pub use recognise::Looks;
pub use scanner::{Logged, Missing, Scanner, Step};
pub use unpack::{Unpacked, is_torn};
