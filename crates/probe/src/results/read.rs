//! Reading the results file.

use super::{FileSeal, KINDS, LAYOUT, keys, schema};
use crate::{
    FrameRecord, IncomingFrame, PayloadStore, RunDescription, RunResults, SentCopy, Status,
};
use bytes::Bytes;
use frame::{CanId, Kind};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::parser::parse_message_type;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The reason why the results could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("{path}: cannot read the results: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a Parquet file, or is cut off.
    #[error("{path}: not a Parquet file, or a damaged one: {source}", path = .path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error of the Parquet library.
        source: ParquetError,
    },
    /// A Parquet file, but not with results of cangate, of another layout, or changed since.
    #[error("{path}: {what}", path = .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The mistake and its remedy.
        what: String,
    },
}

/// A mistake, before the file's name is added to it.
enum ReadProblem {
    Parquet(ParquetError),
    Content(String),
}

impl From<ParquetError> for ReadProblem {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

fn content<T>(what: impl Into<String>) -> Result<T, ReadProblem> {
    Err(ReadProblem::Content(what.into()))
}

/// Reads a results file.
///
/// # Errors
/// [`ReadError`], with the file's name.
pub fn read(path: &Path) -> Result<RunResults, ReadError> {
    let data = std::fs::read(path).map_err(|source| ReadError::File {
        path: path.to_owned(),
        source,
    })?;
    read_bytes(path, data)
}

/// Reads a results file that is in memory; `path` is used only for errors.
///
/// # Errors
/// [`ReadError`], with the file's name.
pub fn read_bytes(path: &Path, data: Vec<u8>) -> Result<RunResults, ReadError> {
    decode(&Bytes::from(data)).map_err(|wrong| match wrong {
        ReadProblem::Parquet(source) => ReadError::Parquet {
            path: path.to_owned(),
            source,
        },
        ReadProblem::Content(what) => ReadError::Content {
            path: path.to_owned(),
            what,
        },
    })
}

fn decode(data: &Bytes) -> Result<RunResults, ReadProblem> {
    // Checked before anything is decoded: damaged data must not reach the decoder.
    FileSeal::check(data).or_else(content)?;
    let reader = SerializedFileReader::new(data.clone())?;
    let file = reader.metadata().file_metadata();
    let mut meta = HashMap::new();
    for pair in file.key_value_metadata().into_iter().flatten() {
        meta.insert(pair.key.as_str(), pair.value.as_deref().unwrap_or(""));
    }
    let Some(&layout) = meta.get(keys::LAYOUT) else {
        return content("a Parquet file, but not one with results of cangate");
    };
    let Some(schema) = schema(layout) else {
        return content(format!(
            "results of layout {layout}; this cangate reads layouts 1 to {LAYOUT}: read it with \
             the version that wrote it"
        ));
    };
    if *file.schema() != parse_message_type(&schema)? {
        return content("the columns are not those of cangate's results");
    }
    let mut results = RunResults {
        description: description(&meta)?,
        routes: names(&meta, keys::ROUTE),
        ports: names(&meta, keys::PORT),
        records: Vec::new(),
        payloads: PayloadStore::default(),
    };
    for group in 0..reader.num_row_groups() {
        read_group(reader.get_row_group(group)?.as_ref(), &mut results)?;
    }
    Ok(results)
}

fn number<T: FromStr>(meta: &HashMap<&str, &str>, key: &str) -> Result<T, ReadProblem> {
    match meta.get(key).map(|text| text.parse()) {
        Some(Ok(n)) => Ok(n),
        _ => content(format!("the metadata's {key} is missing or not a number")),
    }
}

fn names(meta: &HashMap<&str, &str>, prefix: &str) -> Vec<String> {
    (0..)
        .map_while(|index| meta.get(format!("{prefix}{index}").as_str()))
        .map(|name| (*name).to_owned())
        .collect()
}

fn description(meta: &HashMap<&str, &str>) -> Result<RunDescription, ReadProblem> {
    let text = |key: &str| meta.get(key).copied().unwrap_or("").to_owned();
    let mut more: Vec<(String, String)> = meta
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(keys::MORE)?, *value)))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    more.sort();
    Ok(RunDescription {
        title: text(keys::TITLE),
        version: text(keys::VERSION),
        command: text(keys::COMMAND),
        seed: number(meta, keys::SEED)?,
        config: text(keys::CONFIG),
        traffic: text(keys::TRAFFIC),
        bit_rates: text(keys::BIT_RATES),
        time_base: text(keys::TIME_BASE),
        stamp: text(keys::STAMP),
        blind_spots: text(keys::BLIND_SPOTS),
        more,
    })
}

/// Reads a column's values, `None` where there is none.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    index: usize,
) -> Result<Vec<Option<T::T>>, ReadProblem>
where
    T::T: Clone,
{
    let rows = group.metadata().num_rows();
    let optional = group
        .metadata()
        .column(index)
        .column_descr()
        .max_def_level()
        > 0;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(index)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    loop {
        let before = values.len() + levels.len();
        let (records, _, _) =
            reader.read_records(1 << 16, optional.then_some(&mut levels), None, &mut values)?;
        if records == 0 || values.len() + levels.len() == before {
            break;
        }
    }
    let column: Vec<Option<T::T>> = if optional {
        let mut values = values.into_iter();
        levels
            .iter()
            .map(|&level| if level > 0 { values.next() } else { None })
            .collect()
    } else {
        values.into_iter().map(Some).collect()
    };
    if column.len() as i64 == rows {
        Ok(column)
    } else {
        content(format!(
            "column {index} has {} rows instead of {rows}",
            column.len()
        ))
    }
}

/// Reads numbers of 16 bits, stored in 32.
fn shorts(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<u16>>, ReadProblem> {
    let column = column::<Int32Type>(group, index)?;
    let short =
        |n: i32| u16::try_from(n).or_else(|_| content(format!("column {index}: {n} does not fit")));
    column
        .into_iter()
        .map(|value| value.map(short).transpose())
        .collect()
}

fn longs(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<u64>>, ReadProblem> {
    let column = column::<Int64Type>(group, index)?;
    Ok(column
        .into_iter()
        .map(|v| v.map(i64::cast_unsigned))
        .collect())
}

fn ids(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<CanId>>, ReadProblem> {
    let column = column::<Int32Type>(group, index)?;
    let id = |n: i32| CanId::from_raw(n.cast_unsigned());
    Ok(column.into_iter().map(|v| v.map(id)).collect())
}

/// Reads kinds of frame; `None` for all rows in a layout that has no such column.
fn kinds(
    group: &dyn RowGroupReader,
    index: usize,
    rows: usize,
) -> Result<Vec<Option<Kind>>, ReadProblem> {
    if group.num_columns() <= index {
        return Ok(vec![None; rows]);
    }
    let parse = |text: ByteArray| {
        let word = text.as_utf8().unwrap_or("?");
        match KINDS.iter().find(|(_, of)| *of == word) {
            Some((kind, _)) => Ok(*kind),
            None => content(format!("unknown kind of frame “{word}”")),
        }
    };
    let column = column::<ByteArrayType>(group, index)?;
    column
        .into_iter()
        .map(|v| v.map(parse).transpose())
        .collect()
}

/// Reads payloads; `None` for all rows in a layout that has no such column.
fn data(
    group: &dyn RowGroupReader,
    index: usize,
    rows: usize,
) -> Result<Vec<Option<ByteArray>>, ReadProblem> {
    if group.num_columns() <= index {
        return Ok(vec![None; rows]);
    }
    column::<ByteArrayType>(group, index)
}

fn statuses(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<Status>>, ReadProblem> {
    let parse = |text: ByteArray| {
        let word = text.as_utf8().unwrap_or("?");
        word.parse()
            .or_else(|()| content(format!("unknown status “{word}”")))
    };
    let column = column::<ByteArrayType>(group, index)?;
    column
        .into_iter()
        .map(|v| v.map(parse).transpose())
        .collect()
}

fn read_group(group: &dyn RowGroupReader, results: &mut RunResults) -> Result<(), ReadProblem> {
    // Indices as in the schema; the omitted columns repeat others.
    let tag = longs(group, 0)?;
    let route = shorts(group, 1)?;
    let (source, destination) = (shorts(group, 3)?, shorts(group, 5)?);
    let (id_in, id_out) = (ids(group, 7)?, ids(group, 8)?);
    let (len_in, len_out) = (shorts(group, 9)?, shorts(group, 10)?);
    let (end_in, end_out) = (longs(group, 11)?, longs(group, 12)?);
    let duration = longs(group, 13)?;
    let status = statuses(group, 15)?;
    let processing = longs(group, 16)?;
    // Layout 1 ends here.
    let accesses = if group.num_columns() > 17 {
        column::<Int32Type>(group, 17)?
    } else {
        vec![None; tag.len()]
    };
    // Layout 2 ends here.
    let (kind_in, kind_out) = (kinds(group, 18, tag.len())?, kinds(group, 19, tag.len())?);
    let (data_in, data_out) = (data(group, 20, tag.len())?, data(group, 21, tag.len())?);
    for row in 0..tag.len() {
        let incoming = || {
            Some(IncomingFrame {
                port: source[row]?,
                id: id_in[row]?,
                kind: kind_in[row],
                len: len_in[row]?,
                end: end_in[row]?,
            })
        };
        let outgoing = || {
            Some(SentCopy {
                port: destination[row]?,
                id: id_out[row]?,
                kind: kind_out[row],
                len: len_out[row]?,
                end: end_out[row]?,
                duration: duration[row]?,
            })
        };
        let (Some(tag), Some(status)) = (tag[row], status[row]) else {
            return content(format!("row {row} has no tag or no status"));
        };
        let place = results.records.len();
        if let Some(payload) = &data_in[row] {
            results.payloads.set_incoming(place, payload.data());
        }
        if let Some(payload) = &data_out[row] {
            results.payloads.set_outgoing(place, payload.data());
        }
        results.records.push(FrameRecord {
            tag,
            route: route[row],
            incoming: incoming(),
            outgoing: outgoing(),
            status,
            processing: processing[row],
            accesses: accesses[row].map(i32::cast_unsigned),
        });
    }
    Ok(())
}
