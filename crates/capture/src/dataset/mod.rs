//! Decoded signals as a dataset: a folder of Parquet files that DuckDB, pandas and Spark read as it
//! is, partitioned by day and message in the layout of Apache Hive.
//!
//! ```text
//! DIR/day=2026-11-26/message=EngineData/part-0.parquet
//!
//! frames ──► a buffer for each day and message ──► rows, sorted by signal ──► row groups of a part
//!            frames.rs, writer.rs                  rows.rs, columns.rs, runs.rs   part.rs
//! parts with temporary names ──► their places, when the dataset is finished
//!                                folder.rs, hive.rs
//! ```
//!
//! All files have one schema, whatever the message: a row for each signal of each frame
//! (docs/decisions/0031-signal-datasets.md has the reasons).
//!
//! * [`SignalDataset`]: takes frames, and writes the dataset in bounded memory.
//! * [`DatasetMessage`]: a message, and those of its signals that are written.
#![allow(
    clippy::indexing_slicing,
    reason = "indices of messages and rows are those that this module gave out"
)]

mod columns;
mod folder;
mod frames;
mod hive;
mod message;
mod part;
mod rows;
mod runs;
mod writer;

pub use folder::DatasetFolder;
pub use message::DatasetMessage;
pub use writer::{DatasetFrame, DatasetSummary, SignalDataset};

use std::io;
use std::path::PathBuf;

/// The reason why a dataset could not be written.
#[derive(thiserror::Error, Debug)]
pub enum DatasetError {
    /// The folder has files, and nothing may be added to them.
    #[error("{} is not empty: it has {entry}", folder.display())]
    Occupied {
        /// The folder of the dataset.
        folder: PathBuf,
        /// The name of one of its entries.
        entry: String,
    },
    /// The folder has an entry that no dataset has.
    #[error("{} is not a dataset of signals: it has {entry}", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The name of the entry.
        entry: String,
    },
    /// A file or a folder could not be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// The operation that failed.
        verb: &'static str,
        /// The file or the folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The name of a message is too long for the name of a folder.
    #[error(
        "the message {message} cannot have a folder: its name takes {bytes} of at most {MAX_NAME} bytes"
    )]
    Name {
        /// The message.
        message: String,
        /// The number of bytes of the folder's name.
        bytes: usize,
    },
    /// The frames have more interfaces than can be distinguished.
    #[error("more than {MAX_PORTS} interfaces: is this a log?")]
    Ports,
    /// Rows could not be encoded.
    #[error("cannot encode rows as Parquet: {0}")]
    Encode(#[from] parquet::errors::ParquetError),
}

/// The most bytes in the name of a file or a folder: `NAME_MAX` of Linux.
const MAX_NAME: usize = 255;

/// The most interfaces of a dataset.
const MAX_PORTS: usize = u16::MAX as usize;
