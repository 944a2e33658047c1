//! Parquet: a row for each frame.
//!
//! Rows are collected and written as row groups. The footer is written after each row group, and
//! the next row group overwrites the footer: so the file can be read whenever no write is in
//! progress.

mod messages;

use crate::write::{FrameEntry, FrameWriter, LossEntry, WriteError};
use ::parquet::basic::Compression;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use bytes::Bytes;
use frame::Kind;
use frame::text::Direction;
use messages::MessageColumns;
use signals::DecodedFrame;
use std::sync::Arc;

/// The columns, in the order in which they are written; without the end.
const SCHEMA: &str = "message capture {
    required int64 time (TIMESTAMP(NANOS,true));
    required binary interface (STRING);
    optional boolean sent;
    required binary kind (STRING);
    required int32 id (INTEGER(32,false));
    required boolean eff;
    required boolean rtr;
    required boolean error;
    required int32 flags (INTEGER(8,false));
    required int32 dlc (INTEGER(16,false));
    required int32 len (INTEGER(16,false));
    required int32 vcid (INTEGER(8,false));
    required int32 sdt (INTEGER(8,false));
    required int32 af (INTEGER(32,false));
    required binary data;
    required int64 lost_before (INTEGER(64,false));
";

/// The columns of messages: the name, and the physical values of the signals by their names.
const MESSAGE_SCHEMA: &str = "
    optional binary message (STRING);
    optional group signals (MAP) {
        repeated group key_value {
            required binary key (STRING);
            required double value;
        }
    }
";

/// Number of rows of a full row group.
const GROUP: usize = 1 << 16;
/// Number of payload bytes of a full row group.
const MOST_BYTES: usize = 1 << 22;

/// Number of values of signals of a full row group.
const MOST_VALUES: usize = 1 << 19;

/// Collects rows and writes them.
pub(crate) struct FrameTable {
    writer: SerializedFileWriter<Vec<u8>>,
    rows: TableRows,
    /// The columns of messages, if the file has them.
    messages: Option<MessageColumns>,
    /// The names of the interfaces, by their numbers.
    names: Vec<Option<ByteArray>>,
    /// Frames lost since the last frame.
    gap: u64,
    lost: u64,
    broken: Option<ParquetError>,
}

#[derive(Default)]
struct TableRows {
    time: Vec<i64>,
    interface: Vec<u16>,
    /// The values for frames whose direction is known.
    sent: Vec<bool>,
    /// 1: the direction is known, 0: it is not (definition levels).
    sent_known: Vec<i16>,
    kind: Vec<Kind>,
    id: Vec<i32>,
    eff: Vec<bool>,
    rtr: Vec<bool>,
    error: Vec<bool>,
    flags: Vec<i32>,
    dlc: Vec<i32>,
    len: Vec<i32>,
    vcid: Vec<i32>,
    sdt: Vec<i32>,
    af: Vec<i32>,
    data: Vec<u8>,
    /// End of each payload in `data`.
    ends: Vec<usize>,
    lost_before: Vec<i64>,
}

impl FrameTable {
    /// Creates a writer of files with the columns of messages, or without them.
    pub(crate) fn new(messages: bool) -> Result<Self, WriteError> {
        Self::begun(messages).map_err(|error| WriteError::new(error.to_string()))
    }

    fn begun(messages: bool) -> Result<Self, ParquetError> {
        Ok(Self {
            writer: writer(messages)?,
            rows: TableRows::default(),
            messages: messages.then(MessageColumns::default),
            names: Vec::new(),
            gap: 0,
            lost: 0,
            broken: None,
        })
    }

    fn footer(&self) -> Result<Vec<u8>, ParquetError> {
        let groups = self.writer.flushed_row_groups().to_vec();
        let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let schema = self.writer.schema_descr().clone();
        let program = concat!("cangate ", env!("CARGO_PKG_VERSION"));
        let lost = KeyValue::new("cangate.lost".to_owned(), self.lost.to_string());
        let file = FileMetaData::new(
            2,
            rows,
            Some(program.to_owned()),
            Some(vec![lost]),
            Arc::new(schema),
            None,
        );
        let mut footer = Vec::new();
        let meta = ParquetMetaData::new(file, groups);
        ParquetMetaDataWriter::new(&mut footer, &meta).finish()?;
        Ok(footer)
    }

    /// Adds the rows' group to `out`, and returns the footer that follows it.
    fn group(&mut self, out: &mut Vec<u8>) -> Result<Vec<u8>, ParquetError> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if !self.rows.time.is_empty() {
            let group = self.writer.next_row_group()?;
            let done = self.rows.write(group, &self.names, self.messages.as_ref());
            self.rows.clear();
            if let Some(messages) = &mut self.messages {
                messages.clear();
            }
            done?;
        }
        self.writer.flush().map_err(ParquetError::from)?;
        out.append(self.writer.inner_mut());
        self.footer()
    }
}

impl FrameWriter for FrameTable {
    /// Starts a file: rows that were collected and not written are discarded.
    fn begin(&mut self, _: &mut Vec<u8>) {
        let (gap, names) = (self.gap, std::mem::take(&mut self.names));
        match Self::begun(self.messages.is_some()) {
            Ok(new) => *self = Self { gap, names, ..new },
            Err(error) => self.broken = Some(error),
        }
    }

    #[inline]
    fn frame(&mut self, entry: &FrameEntry<'_>, _: &mut Vec<u8>) -> bool {
        let place = usize::from(entry.interface);
        if self.names.len() <= place {
            self.names.resize(place + 1, None);
        }
        if let Some(name @ None) = self.names.get_mut(place) {
            *name = Some(ByteArray::from(entry.name));
        }
        let (header, rows) = (entry.frame.header(), &mut self.rows);
        let (id, xl) = (header.id(), header.xl());
        rows.time.push(entry.stamp.cast_signed());
        rows.interface.push(entry.interface);
        rows.sent
            .extend(entry.direction.map(|one| one == Direction::Sent));
        rows.sent_known.push(entry.direction.is_some().into());
        rows.kind.push(header.kind());
        rows.id.push(id.number().cast_signed());
        rows.eff.push(id.is_eff());
        rows.rtr.push(header.is_rtr());
        rows.error.push(id.is_err());
        rows.flags.push(i32::from(header.flags()));
        rows.dlc.push(i32::from(header.dlc()));
        rows.len.push(header.len() as i32);
        rows.vcid.push(i32::from(xl.vcid));
        rows.sdt.push(i32::from(xl.sdt));
        rows.af.push(xl.af.cast_signed());
        rows.data.extend_from_slice(entry.frame.data());
        rows.ends.push(rows.data.len());
        rows.lost_before
            .push(std::mem::take(&mut self.gap).cast_signed());
        if let Some(messages) = &mut self.messages {
            messages.begin_row();
        }
        true
    }

    fn message(&mut self, decoded: &DecodedFrame<'_>, _: &mut Vec<u8>) {
        if let Some(messages) = &mut self.messages {
            messages.set(decoded);
        }
    }

    fn loss(&mut self, loss: &LossEntry<'_>, _: &mut Vec<u8>) {
        self.gap += loss.frames;
        self.lost += loss.frames;
    }

    /// Returns whether a row group is full.
    fn is_full(&self, _: &[u8]) -> bool {
        let values = self.messages.as_ref().map_or(0, MessageColumns::values);
        self.rows.time.len() >= GROUP || self.rows.data.len() >= MOST_BYTES || values >= MOST_VALUES
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> Result<Vec<u8>, WriteError> {
        self.group(out)
            .map_err(|error| WriteError::new(error.to_string()))
    }

    fn is_resumable(&self) -> bool {
        false
    }
}

fn writer(messages: bool) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
    let more = if messages { MESSAGE_SCHEMA } else { "" };
    let schema = Arc::new(parse_message_type(&format!("{SCHEMA}{more}}}"))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))
}

impl TableRows {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn write(
        &self,
        group: SerializedRowGroupWriter<'_, Vec<u8>>,
        names: &[Option<ByteArray>],
        messages: Option<&MessageColumns>,
    ) -> Result<(), ParquetError> {
        let unknown = ByteArray::from("?");
        let interfaces = self.interface.iter().map(|place| {
            let name = names.get(usize::from(*place));
            name.and_then(Option::as_ref).unwrap_or(&unknown).clone()
        });
        let kinds = [Kind::Classic, Kind::Fd, Kind::Xl].map(|kind| {
            let text = match kind {
                Kind::Classic => "classic",
                Kind::Fd => "fd",
                Kind::Xl => "xl",
            };
            ByteArray::from(text)
        });
        let kinds = self
            .kind
            .iter()
            .filter_map(|kind| kinds.get(*kind as usize));
        // The payloads are slices of one buffer.
        let all = Bytes::copy_from_slice(&self.data);
        let begins = std::iter::once(&0).chain(&self.ends);
        let data = begins
            .zip(&self.ends)
            .map(|(from, to)| ByteArray::from(all.slice(*from..*to)));

        let mut columns = ColumnWriter(group);
        columns.put::<Int64Type>(&self.time)?;
        columns.put::<ByteArrayType>(&interfaces.collect::<Vec<_>>())?;
        columns.put_known::<BoolType>(&self.sent, &self.sent_known)?;
        columns.put::<ByteArrayType>(&kinds.cloned().collect::<Vec<_>>())?;
        columns.put::<Int32Type>(&self.id)?;
        columns.put::<BoolType>(&self.eff)?;
        columns.put::<BoolType>(&self.rtr)?;
        columns.put::<BoolType>(&self.error)?;
        columns.put::<Int32Type>(&self.flags)?;
        columns.put::<Int32Type>(&self.dlc)?;
        columns.put::<Int32Type>(&self.len)?;
        columns.put::<Int32Type>(&self.vcid)?;
        columns.put::<Int32Type>(&self.sdt)?;
        columns.put::<Int32Type>(&self.af)?;
        columns.put::<ByteArrayType>(&data.collect::<Vec<_>>())?;
        columns.put::<Int64Type>(&self.lost_before)?;
        if let Some(messages) = messages {
            messages.write(&mut columns)?;
        }
        columns.0.close()?;
        Ok(())
    }
}

/// Writes columns one after the other, in the schema's order.
pub(super) struct ColumnWriter<'a>(SerializedRowGroupWriter<'a, Vec<u8>>);

impl ColumnWriter<'_> {
    fn put<T: DataType>(&mut self, values: &[T::T]) -> Result<(), ParquetError> {
        self.write::<T>(values, None, None)
    }

    /// Writes a column in which some rows have no value.
    pub(super) fn put_known<T: DataType>(
        &mut self,
        values: &[T::T],
        known: &[i16],
    ) -> Result<(), ParquetError> {
        self.write::<T>(values, Some(known), None)
    }

    /// Writes a column of a list, by its definition and repetition levels.
    pub(super) fn put_listed<T: DataType>(
        &mut self,
        values: &[T::T],
        definition: &[i16],
        repetition: &[i16],
    ) -> Result<(), ParquetError> {
        self.write::<T>(values, Some(definition), Some(repetition))
    }

    fn write<T: DataType>(
        &mut self,
        values: &[T::T],
        known: Option<&[i16]>,
        repeated: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = self.0.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".into(),
            ));
        };
        column.typed::<T>().write_batch(values, known, repeated)?;
        column.close()
    }
}

#[cfg(test)]
mod tests;
