//! Columns of texts in which many rows in a row have the same text. The library hashes and compares
//! the text of each row; here, a run is encoded once, whatever its length.
//!
//! The chunk has a dictionary page and one data page with the runs (Apache Parquet, encodings:
//! "Dictionary Encoding" and "Run Length Encoding / Bit-Packing Hybrid").

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The longest text that statistics contain, bytes: the library's own limit.
const LONGEST_STATISTIC: usize = 64;

/// The column of one row group. Its texts are not null.
#[derive(Default)]
pub(crate) struct TextRuns {
    texts: Vec<ByteArray>,
    /// Runs: the index of the text, and the number of rows.
    runs: Vec<(usize, u32)>,
    rows: u32,
}

impl TextRuns {
    /// Adds rows with the same text.
    pub(crate) fn push(&mut self, text: &ByteArray, rows: u32) {
        if rows == 0 {
            return;
        }
        self.rows += rows;
        if let Some((index, run)) = self.runs.last_mut()
            && self.texts.get(*index) == Some(text)
        {
            *run += rows;
            return;
        }
        // Few texts: the signals of a row group, their units, the ports of a message.
        let index = self.texts.iter().position(|known| known == text);
        let index = index.unwrap_or_else(|| {
            self.texts.push(text.clone());
            self.texts.len() - 1
        });
        self.runs.push((index, rows));
    }

    /// Returns the bytes of the column chunk, and their description.
    pub(crate) fn encode(
        &self,
        column: ColumnDescPtr,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let dictionary = self.dictionary();
        let length = dictionary.len();
        let page = Page::DictionaryPage {
            buf: dictionary.into(),
            num_values: self.texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let first = pages.write_page(CompressedPage::new(page, length))?;
        let indices = self.indices();
        let length = indices.len();
        let page = Page::DataPage {
            buf: indices.into(),
            num_values: self.rows,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let second = pages.write_page(CompressedPage::new(page, length))?;
        let bytes = first.bytes_written + second.bytes_written;
        let mut metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_total_compressed_size(bytes.cast_signed())
            .set_total_uncompressed_size(bytes.cast_signed())
            .set_num_values(self.rows.into())
            .set_dictionary_page_offset(Some(first.offset.cast_signed()))
            .set_data_page_offset(second.offset.cast_signed());
        if let Some(statistics) = self.statistics() {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes,
            rows_written: self.rows.into(),
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((sink.into_inner()?.into(), close))
    }

    /// Returns the texts: each with its length before it.
    fn dictionary(&self) -> Vec<u8> {
        let mut buffer = Vec::new();
        for text in &self.texts {
            buffer.extend_from_slice(&(text.len() as u32).to_le_bytes());
            buffer.extend_from_slice(text.data());
        }
        buffer
    }

    /// Returns the runs: the number of bits of an index, then for each run twice its length as a
    /// varint and the index in whole bytes.
    fn indices(&self) -> Vec<u8> {
        let highest = self.texts.len().saturating_sub(1);
        // A width of 0 bits is allowed, but few writers use it.
        let bits = (usize::BITS - highest.leading_zeros()).max(1);
        let width = bits.div_ceil(8) as usize;
        let mut buffer = vec![bits as u8];
        for (index, rows) in &self.runs {
            let mut header = u64::from(*rows) << 1;
            while header >= 0x80 {
                buffer.push(header as u8 | 0x80);
                header >>= 7;
            }
            buffer.push(header as u8);
            buffer.extend(index.to_le_bytes().iter().take(width));
        }
        buffer
    }

    fn statistics(&self) -> Option<Statistics> {
        let by_bytes = |one: &&ByteArray, other: &&ByteArray| one.data().cmp(other.data());
        let least = self.texts.iter().min_by(by_bytes)?.clone();
        let greatest = self.texts.iter().max_by(by_bytes)?.clone();
        let is_short = least.len().max(greatest.len()) <= LONGEST_STATISTIC;
        let distinct = Some(self.texts.len() as u64);
        is_short
            .then(|| Statistics::byte_array(Some(least), Some(greatest), distinct, Some(0), false))
    }
}
