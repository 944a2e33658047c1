//! Writing the results file.

use super::{FileChecksum, FileSeal, KINDS, LAYOUT, keys, schema};
use crate::{FrameRecord, RunResults};
use frame::Kind;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of rows of a row group, which a reader must hold in memory at once.
const GROUP: usize = 1 << 20;

/// The reason why the results could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be created.
    #[error("{path}: cannot write the results there: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The data could not be written.
    #[error("cannot write the results: {0}")]
    Parquet(#[from] ParquetError),
}

/// Writes the results into a file. The file gets its name when it is complete, so that a run that
/// is stopped leaves no incomplete file under that name.
///
/// # Errors
/// [`WriteError`], with the file's name.
pub fn write(path: &Path, results: &RunResults) -> Result<(), WriteError> {
    let at = |source| WriteError::File {
        path: path.to_owned(),
        source,
    };
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let file = BufWriter::new(File::create(&partial).map_err(at)?);
    let file = write_to(file, results)?;
    file.into_inner().map_err(|e| at(e.into_error()))?;
    std::fs::rename(&partial, path).map_err(at)
}

/// Computes the checksum of the data that is written through it, and holds the footer back until
/// the seal, which precedes the footer, is known.
struct SealingWriter<W> {
    inner: W,
    data: FileChecksum,
    footer: Option<Vec<u8>>,
}

impl<W: Write> Write for SealingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(footer) = &mut self.footer {
            footer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let n = self.inner.write(bytes)?;
        self.data.add(bytes.get(..n).unwrap_or(bytes));
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> SealingWriter<W> {
    fn finish(mut self) -> io::Result<W> {
        let footer = self.footer.unwrap_or_default();
        self.inner
            .write_all(&FileSeal::new(self.data, &footer).bytes())?;
        self.inner.write_all(&footer)?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}

/// Writes the results and returns the writer. The same results give the same bytes.
///
/// # Errors
/// [`WriteError::Parquet`].
pub fn write_to<W: Write + Send>(writer: W, results: &RunResults) -> Result<W, WriteError> {
    let schema = schema(LAYOUT).unwrap_or_default();
    let schema = Arc::new(parse_message_type(&schema)?);
    // Without page indexes, only the footer follows the data, and nothing in the footer refers to a
    // place after the data, so that the seal can be between the two.
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let sealing = SealingWriter {
        inner: writer,
        data: FileChecksum::new(),
        footer: None,
    };
    let mut file = SerializedFileWriter::new(sealing, schema, Arc::new(properties))?;
    for (chunk, records) in results.records.chunks(GROUP).enumerate() {
        let group = file.next_row_group()?;
        write_group(group, results, records, chunk * GROUP)?;
    }
    file.flush().map_err(ParquetError::from)?;
    file.inner_mut().footer = Some(Vec::new());
    let mut add = |key: &str, value: String| {
        file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    };
    add(keys::LAYOUT, LAYOUT.to_owned());
    let d = &results.description;
    for (key, value) in [
        (keys::TITLE, &d.title),
        (keys::VERSION, &d.version),
        (keys::COMMAND, &d.command),
        (keys::CONFIG, &d.config),
        (keys::TRAFFIC, &d.traffic),
        (keys::BIT_RATES, &d.bit_rates),
        (keys::TIME_BASE, &d.time_base),
        (keys::STAMP, &d.stamp),
        (keys::BLIND_SPOTS, &d.blind_spots),
    ] {
        add(key, value.clone());
    }
    add(keys::SEED, d.seed.to_string());
    for (key, value) in &d.more {
        add(&format!("{}{key}", keys::MORE), value.clone());
    }
    for (prefix, names) in [(keys::ROUTE, &results.routes), (keys::PORT, &results.ports)] {
        for (index, name) in names.iter().enumerate() {
            add(&format!("{prefix}{index}"), name.clone());
        }
    }
    let sealing = file.into_inner()?;
    Ok(sealing.finish().map_err(ParquetError::from)?)
}

/// Writes columns one after another, in the schema's order.
struct ColumnWriter<'a, 'b, W: Write + Send> {
    group: SerializedRowGroupWriter<'a, W>,
    records: &'b [FrameRecord],
}

impl<W: Write + Send> ColumnWriter<'_, '_, W> {
    fn put<T: DataType>(
        &mut self,
        optional: bool,
        of: impl Fn(&FrameRecord) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        self.put_numbered::<T>(optional, |_, record| of(record))
    }

    /// Writes a column from values that depend on each record's index in its group.
    fn put_numbered<T: DataType>(
        &mut self,
        optional: bool,
        of: impl Fn(usize, &FrameRecord) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = self.group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".into(),
            ));
        };
        let mut values = Vec::with_capacity(self.records.len());
        let mut levels = Vec::with_capacity(self.records.len());
        for (place, record) in self.records.iter().enumerate() {
            let value = of(place, record);
            levels.push(i16::from(value.is_some()));
            values.extend(value);
        }
        let levels = optional.then_some(levels.as_slice());
        column.typed::<T>().write_batch(&values, levels, None)?;
        column.close()
    }
}

fn write_group<W: Write + Send>(
    group: SerializedRowGroupWriter<'_, W>,
    results: &RunResults,
    records: &[FrameRecord],
    first: usize,
) -> Result<(), ParquetError> {
    let bytes = |names: &[String]| -> Vec<ByteArray> {
        names.iter().map(|n| ByteArray::from(n.as_str())).collect()
    };
    let (routes, ports) = (bytes(&results.routes), bytes(&results.ports));
    let name = |names: &[ByteArray], index: Option<u16>| names.get(usize::from(index?)).cloned();
    let source = |r: &FrameRecord| r.incoming.map(|f| f.port);
    let destination = |r: &FrameRecord| r.outgoing.map(|f| f.port);
    // Parquet stores unsigned numbers in the bits of the signed types.
    let u64 = |n: u64| n.cast_signed();

    let mut columns = ColumnWriter { group, records };
    columns.put::<Int64Type>(false, |r| Some(u64(r.tag)))?;
    columns.put::<Int32Type>(true, |r| r.route.map(i32::from))?;
    columns.put::<ByteArrayType>(true, |r| name(&routes, r.route))?;
    columns.put::<Int32Type>(true, |r| source(r).map(i32::from))?;
    columns.put::<ByteArrayType>(true, |r| name(&ports, source(r)))?;
    columns.put::<Int32Type>(true, |r| destination(r).map(i32::from))?;
    columns.put::<ByteArrayType>(true, |r| name(&ports, destination(r)))?;
    columns.put::<Int32Type>(true, |r| Some(r.incoming?.id.raw().cast_signed()))?;
    columns.put::<Int32Type>(true, |r| Some(r.outgoing?.id.raw().cast_signed()))?;
    columns.put::<Int32Type>(true, |r| Some(i32::from(r.incoming?.len)))?;
    columns.put::<Int32Type>(true, |r| Some(i32::from(r.outgoing?.len)))?;
    columns.put::<Int64Type>(true, |r| Some(u64(r.incoming?.end)))?;
    columns.put::<Int64Type>(true, |r| Some(u64(r.outgoing?.end)))?;
    columns.put::<Int64Type>(true, |r| Some(u64(r.outgoing?.duration)))?;
    columns.put::<Int64Type>(true, FrameRecord::latency)?;
    columns.put::<ByteArrayType>(false, |r| Some(ByteArray::from(r.status.as_str())))?;
    columns.put::<Int64Type>(true, |r| r.processing.map(u64))?;
    columns.put::<Int32Type>(true, |r| r.accesses.map(u32::cast_signed))?;
    let kind = |kind: Kind| {
        let known = KINDS.iter().find(|(of, _)| *of == kind);
        known.map(|(_, text)| ByteArray::from(*text))
    };
    columns.put::<ByteArrayType>(true, |r| kind(r.incoming?.kind?))?;
    columns.put::<ByteArrayType>(true, |r| kind(r.outgoing?.kind?))?;
    let payloads = &results.payloads;
    let data = |payload: &[u8]| ByteArray::from(payload.to_vec());
    columns.put_numbered::<ByteArrayType>(true, |place, r| {
        r.incoming?;
        payloads.incoming(first + place).map(data)
    })?;
    columns.put_numbered::<ByteArrayType>(true, |place, r| {
        r.outgoing?;
        payloads.outgoing(first + place).map(data)
    })?;
    columns.group.close()?;
    Ok(())
}
