//! A file of a dataset while it is written.

use super::DatasetError;
use super::columns;
use super::frames::FrameBuffer;
use super::message::DatasetMessage;
use super::rows::SignalRows;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of rows from which a row group takes no further signal. Readers skip row groups by
/// the range of their signals' names, and work on several at once.
const GROUP_ROWS: usize = 1 << 16;

/// A file that row groups are appended to. It is open only while they are written, so that any
/// number of them need one descriptor.
pub(crate) struct PartFile {
    path: PathBuf,
    writer: SerializedFileWriter<Vec<u8>>,
    counts: PartCounts,
}

/// Counts of the content of a file.
#[derive(Clone, Copy, Default)]
pub(crate) struct PartCounts {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Values that are absent because their frames are too short.
    pub(crate) too_short: u64,
}

impl PartFile {
    /// Begins a file; it is created with its first row group.
    pub(crate) fn new(path: PathBuf) -> Result<Self, DatasetError> {
        let properties = Arc::new(columns::properties());
        Ok(Self {
            path,
            writer: SerializedFileWriter::new(Vec::new(), columns::schema()?, properties)?,
            counts: PartCounts::default(),
        })
    }

    /// Returns the number of row groups.
    pub(crate) fn groups(&self) -> usize {
        self.writer.flushed_row_groups().len()
    }

    /// Returns the number of bytes that were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts.bytes
    }

    /// Decodes frames and appends their rows.
    pub(crate) fn write(
        &mut self,
        message: &DatasetMessage<'_>,
        frames: &FrameBuffer,
        ports: &[ByteArray],
    ) -> Result<(), DatasetError> {
        let (mut group, mut rows) = (Vec::new(), 0);
        for signal in &message.signals {
            let (decoded, too_short) = SignalRows::decode(message, signal, frames);
            self.counts.too_short += too_short;
            if decoded.len() == 0 {
                continue;
            }
            rows += decoded.len();
            group.push(decoded);
            if rows >= GROUP_ROWS {
                self.write_group(&group, ports)?;
                (group, rows) = (Vec::new(), 0);
            }
        }
        match rows {
            0 => Ok(()),
            _ => self.write_group(&group, ports),
        }
    }

    fn write_group(
        &mut self,
        group: &[SignalRows<'_>],
        ports: &[ByteArray],
    ) -> Result<(), DatasetError> {
        let schema = self.writer.schema_descr().clone();
        columns::write(self.writer.next_row_group()?, &schema, group, ports)?;
        self.counts.rows += group.iter().map(|rows| rows.len() as u64).sum::<u64>();
        self.writer
            .flush()
            .map_err(parquet::errors::ParquetError::from)?;
        let bytes = std::mem::take(self.writer.inner_mut());
        append(&self.path, &bytes)?;
        self.counts.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Completes the file; returns `None` if it has no rows, and then does not exist.
    pub(crate) fn finish(self) -> Result<(PartCounts, Option<PathBuf>), DatasetError> {
        let mut counts = self.counts;
        if counts.rows == 0 {
            return Ok((counts, None));
        }
        let footer = self.writer.into_inner()?;
        append(&self.path, &footer)?;
        counts.bytes += footer.len() as u64;
        Ok((counts, Some(self.path)))
    }
}

fn append(path: &PathBuf, bytes: &[u8]) -> Result<(), DatasetError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(|source| DatasetError::File {
            verb: "write",
            path: path.clone(),
            source,
        })
}
