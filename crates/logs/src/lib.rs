//! Log files of many programs, read and written.
//!
//! ```text
//! bytes ──► gzip, Zstandard ──► which format? ──► lines, or blocks ──► frames with their stamps
//!           UnpackedInput       LogScanner        read.rs
//! frames ──► lines, or blocks ──► bytes
//!            write.rs
//! ```
//!
//! * [`LogReader`]: from beginning to end, for callers that may block.
//! * [`LogScanner`]: piece by piece, for callers that must not block.
//! * [`FileFormat::writer`]: a [`FrameWriter`]; [`FormatLimits`]: the properties of a frame that
//!   its format cannot express.
//!
//! A log is recognised by its first lines or bytes; a file that is not a log fails before any frame
//! is returned, and [`OtherKind`] describes what it looks like. Memory is bounded, however long the
//! log is; only an MF4 file is read into memory as a whole, up to 1 GiB.
//!
//! # A format
//! Each format is a folder (`asc/`, `pcapng/`, …), which knows no other format:
//!
//! * `mod.rs` has a constant `FORMAT` of type `FormatSpec`: name, title, and how it is read and
//!   written (`FormatReading`, `FormatWriting`; a format can lack one of them).
//! * `read.rs` has a reader: a `LineReader` for lines or a `BlockReader` for blocks, which gets the
//!   input piece by piece. `FormatRecognition` tells how the beginning of a log shows the format.
//! * `write.rs` has a `FrameWriter`, and a function that returns what it cannot express.
//!
//! One line in the list at the end of this file (`Asc = asc::FORMAT,`) and `mod asc;` register it.
//! Commands, help, the schema and the fuzz target take it from [`FileFormat::ALL`]; a test compares
//! the tables of docs/files.md with it. If files of the format were refused by name before
//! (`OTHERS` in `recognise.rs`), that entry goes.
//!
//! # Times
//! All times are nanoseconds since 1970, if the log states when it began; otherwise since its own
//! beginning. A date without a time zone (`candump -t A`, ASC, TRC) is interpreted as UTC.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod answer;
mod asc;
mod bad;
mod blf;
mod busmaster;
mod byte_order;
mod candump;
mod channels;
mod csv;
mod database;
mod draft;
mod format;
mod limits;
mod lines;
mod loss;
mod mf4;
mod name;
mod parquet;
mod pcap;
mod pcapng;
mod read;
mod reader;
mod recognise;
mod scanner;
mod shortfall;
mod time;
mod time_words;
mod trc;
mod unpack;
mod words;
mod write;
mod zstd;

pub use answer::{ONLY_A_SIMULATION_WAITS, asks_to_wait};
pub use bad::{BadLine, BadLines, LogFault, LogPlace};
pub use database::Database;
pub use limits::FormatLimits;
pub use lines::MAX_LINE;
pub use loss::words as loss_words;
pub use name::InterfaceName;
pub use read::PassedRecords;
pub use reader::{LogEntry, LogError, LogReader};
pub use recognise::OtherKind;
pub use scanner::{LogScanner, LoggedFrame, MissingFrames, ScanStep};
pub use shortfall::Shortfall;
pub use unpack::{UnpackedInput, is_torn};
pub use write::{FrameEntry, FrameWriter, LossEntry, WriteError, WriteOptions};

// All formats, each with its definition.
format::formats! {
    /// The lines of `candump -L` and `candump -l`.
    Log = candump::LOG,
    /// The output of `candump -t a` or `-t A`.
    Candump = candump::ABSOLUTE,
    /// The output of `candump -t z`: times count from the first frame.
    CandumpZero = candump::ZERO,
    /// The output of `candump -t d`: times count from the previous frame.
    CandumpDelta = candump::DELTA,
    /// Vector ASC.
    Asc = asc::FORMAT,
    /// PEAK TRC, 1.0 to 2.1.
    Trc = trc::FORMAT,
    /// CSV of python-can or SavvyCAN.
    Csv = csv::FORMAT,
    /// BUSMASTER's own logs.
    Busmaster = busmaster::FORMAT,
    /// pcapng.
    Pcapng = pcapng::FORMAT,
    /// pcap, of libpcap and tcpdump.
    Pcap = pcap::FORMAT,
    /// Vector BLF.
    Blf = blf::FORMAT,
    /// ASAM MF4: the bus logging of MDF 4.
    Mf4 = mf4::FORMAT,
    /// Parquet, a row for each frame.
    Parquet = parquet::FORMAT,
}
