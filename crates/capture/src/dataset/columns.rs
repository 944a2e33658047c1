//! The columns of a dataset, and the writing of rows as row groups.

use super::rows::{OptionalColumn, SignalRows};
use super::runs::TextRuns;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// The columns, in the order in which they are written. Each type is read by DuckDB, pandas and
/// Spark as it is: Spark refuses time stamps in nanoseconds, and its long has 64 bits with a sign.
const SCHEMA: &str = "message signals {
    required int64 time (TIMESTAMP(MICROS,true));
    required int32 nanos;
    required binary port (STRING);
    required binary signal (STRING);
    optional int64 raw;
    optional binary raw_text (STRING);
    required double value;
    optional binary value_name (STRING);
    required binary unit (STRING);
}";

/// Columns of integers that mostly grow or stay: differences are short.
const DIFFERENCES: [&str; 3] = ["time", "nanos", "raw"];

/// The most bytes of different values for which a column of values has a dictionary. Analog
/// signals have more, and their dictionary would be longer than the values.
const VALUE_DICTIONARY: usize = 1 << 15;

/// Returns the schema of all files.
pub(crate) fn schema() -> Result<TypePtr, ParquetError> {
    Ok(Arc::new(parse_message_type(SCHEMA)?))
}

/// Returns the encodings of all files. Snappy, because every reader has this codec.
pub(crate) fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("cangate ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_column_dictionary_page_size_limit(ColumnPath::from("value"), VALUE_DICTIONARY);
    for name in DIFFERENCES {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::from(name), false)
            .set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Writes the rows of some signals as one row group. `columns`: the description of the schema;
/// `ports`: the names of the ports, by their numbers.
pub(crate) fn write<W: Write + Send>(
    group: SerializedRowGroupWriter<'_, W>,
    columns: &SchemaDescriptor,
    signals: &[SignalRows<'_>],
    ports: &[ByteArray],
) -> Result<(), ParquetError> {
    let mut writer = GroupWriter {
        group,
        columns,
        signals,
        next: 0,
    };
    writer.put(|column, rows| put::<Int64Type>(column, &rows.time))?;
    writer.put(|column, rows| put::<Int32Type>(column, &rows.nanos))?;
    writer.put_runs(|runs, rows| push_ports(runs, &rows.port, ports))?;
    writer.put_runs(|runs, rows| runs.push(&rows.signal.name, rows.len() as u32))?;
    writer.put(|column, rows| put_optional::<Int64Type>(column, &rows.raw))?;
    writer.put(|column, rows| put_optional::<ByteArrayType>(column, &rows.raw_text))?;
    writer.put(|column, rows| put::<DoubleType>(column, &rows.value))?;
    writer.put(|column, rows| put_optional::<ByteArrayType>(column, &rows.value_name))?;
    writer.put_runs(|runs, rows| runs.push(&rows.signal.unit, rows.len() as u32))?;
    writer.group.close()?;
    Ok(())
}

/// Writes columns one after the other, in the schema's order.
struct GroupWriter<'g, 's, W: Write> {
    group: SerializedRowGroupWriter<'g, W>,
    columns: &'s SchemaDescriptor,
    signals: &'s [SignalRows<'s>],
    /// The index of the next column.
    next: usize,
}

impl<W: Write + Send> GroupWriter<'_, '_, W> {
    fn put(
        &mut self,
        put: impl Fn(&mut SerializedColumnWriter<'_>, &SignalRows<'_>) -> Result<(), ParquetError>,
    ) -> Result<(), ParquetError> {
        self.next += 1;
        let Some(mut column) = self.group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".into(),
            ));
        };
        for rows in self.signals {
            put(&mut column, rows)?;
        }
        column.close()
    }

    fn put_runs(
        &mut self,
        push: impl Fn(&mut TextRuns, &SignalRows<'_>),
    ) -> Result<(), ParquetError> {
        let mut runs = TextRuns::default();
        for rows in self.signals {
            push(&mut runs, rows);
        }
        let (bytes, close) = runs.encode(self.columns.column(self.next))?;
        self.next += 1;
        self.group.append_column(&bytes, close)
    }
}

fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(values, None, None)?;
    Ok(())
}

fn put_optional<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    rows: &OptionalColumn<T::T>,
) -> Result<(), ParquetError> {
    let (values, levels) = (&rows.values, &rows.levels);
    column
        .typed::<T>()
        .write_batch(values, Some(levels), None)?;
    Ok(())
}

/// Adds the names of ports.
fn push_ports(runs: &mut TextRuns, numbers: &[u16], ports: &[ByteArray]) {
    for run in numbers.chunk_by(|one, other| one == other) {
        let name = run
            .first()
            .and_then(|number| ports.get(usize::from(*number)));
        runs.push(name.unwrap_or(&ByteArray::default()), run.len() as u32);
    }
}
