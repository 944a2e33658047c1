//! The file formats for frames, and their selection by a file's name.

use crate::asc::AscWriter;
use crate::chunk::{FrameGap, RecordedFrame};
use crate::names::KnownNames;
use crate::pack::Packing;
use crate::pcapng::PcapngWriter;
use crate::table::{FrameTable, ParquetError};
use crate::text::TextWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The format in which frames are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputFormat {
    /// candump's log format, `.log`.
    Text,
    /// Vector ASC, `.asc`.
    Asc,
    /// pcapng with link type 227, `.pcapng`.
    Pcapng,
    /// Parquet, a row for each frame, `.parquet`.
    Parquet,
}

impl OutputFormat {
    /// Returns the maximum time after which collected frames are written.
    #[must_use]
    pub const fn flush_every(self) -> Duration {
        match self {
            Self::Text | Self::Asc | Self::Pcapng => Duration::from_secs(1),
            Self::Parquet => Duration::from_secs(10),
        }
    }
}

/// The output of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureOutput {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// The format of the file.
    pub form: OutputFormat,
    /// The compression of the file.
    pub packing: Packing,
    /// candump's log has nine digits after the decimal point instead of six.
    pub nanos: bool,
    /// The end of the name, which follows the number of a file.
    pub(crate) ending: String,
}

/// Error: a name that does not determine the format, or a format that cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormError {
    /// The name does not determine the format.
    #[error(
        "{0}: the name says no format: end it in .log, .asc, .pcapng or .parquet (.gz or .zst behind \
         the first three compresses), or name the format"
    )]
    Unknown(String),
    /// Parquet has its own compression.
    #[error("{0}: Parquet is compressed by itself: leave out {1}")]
    Packed(String, &'static str),
    /// This program cannot write Parquet.
    #[error(
        "{0}: Parquet is not in this build: this program was built without the feature `parquet`; write \
         log, asc or pcapng"
    )]
    NotBuilt(String),
    /// Parquet cannot be written to this output.
    #[error(
        "Parquet cannot be written to standard output, which has no place to come back to: name a \
         file, or write log, asc or pcapng"
    )]
    Stream,
}

impl CaptureOutput {
    /// Returns the output for a name; `form` takes precedence over its ending.
    ///
    /// # Errors
    /// [`FormError`]
    pub fn of(path: &Path, form: Option<OutputFormat>) -> Result<Self, FormError> {
        let name = path.to_string_lossy();
        let mut stem: &str = &name;
        let mut packing = Packing::None;
        for one in [Packing::Gzip, Packing::Zstd] {
            if let Some(rest) = stem.strip_suffix(one.ending()) {
                (stem, packing) = (rest, one);
                break;
            }
        }
        let endings = [
            (".log", OutputFormat::Text),
            (".txt", OutputFormat::Text),
            (".asc", OutputFormat::Asc),
            (".pcapng", OutputFormat::Pcapng),
            (".parquet", OutputFormat::Parquet),
        ];
        let said = endings.into_iter().find(|(e, _)| stem.ends_with(e));
        let ending = said.map_or("", |(ending, _)| ending);
        let Some(form) = form.or(said.map(|(_, form)| form)) else {
            return Err(FormError::Unknown(name.into_owned()));
        };
        if form == OutputFormat::Parquet && !cfg!(feature = "parquet") {
            return Err(FormError::NotBuilt(name.into_owned()));
        }
        if form == OutputFormat::Parquet && packing != Packing::None {
            return Err(FormError::Packed(name.into_owned(), packing.ending()));
        }
        let output = Self {
            path: path.to_owned(),
            form,
            packing,
            nanos: false,
            ending: format!("{ending}{}", packing.ending()),
        };
        if output.is_stream() && form == OutputFormat::Parquet {
            return Err(FormError::Stream);
        }
        Ok(output)
    }

    /// Returns whether it is standard output.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.path == Path::new("-")
    }
}

/// A formatter: writes frames in one of the formats, as bytes of a file.
pub(crate) enum FormatWriter {
    Text(TextWriter),
    Asc(AscWriter),
    Pcapng(PcapngWriter),
    Table(Box<FrameTable>),
}

impl FormatWriter {
    pub(crate) fn new(output: &CaptureOutput) -> Result<Self, ParquetError> {
        Ok(match output.form {
            OutputFormat::Text => Self::Text(TextWriter::new(output.nanos)),
            OutputFormat::Asc => Self::Asc(AscWriter::default()),
            OutputFormat::Pcapng => Self::Pcapng(PcapngWriter::default()),
            OutputFormat::Parquet => Self::Table(Box::new(FrameTable::new()?)),
        })
    }

    /// Begins a file.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Text(_) => {}
            Self::Asc(asc) => asc.begin(),
            Self::Pcapng(pcapng) => pcapng.begin(out),
            Self::Table(table) => table.begin(),
        }
    }

    /// Adds a frame; `false` if its bytes are not a frame.
    #[inline]
    pub(crate) fn frame(
        &mut self,
        record: &RecordedFrame<'_>,
        names: &mut KnownNames,
        out: &mut Vec<u8>,
    ) -> bool {
        match self {
            Self::Text(text) => text.frame(record, names.get(record.interface), out),
            Self::Asc(asc) => asc.frame(record, names.get(record.interface), out),
            Self::Pcapng(pcapng) => pcapng.frame(record, names.get(record.interface), out),
            Self::Table(table) => table.frame(record),
        }
    }

    /// Adds a loss.
    pub(crate) fn gap(&mut self, gap: &FrameGap, names: &mut KnownNames, out: &mut Vec<u8>) {
        let name = gap.interface.map(|place| names.get(place));
        match self {
            Self::Text(_) => TextWriter::gap(gap, name, out),
            Self::Asc(_) => AscWriter::gap(gap, name, out),
            Self::Pcapng(pcapng) => pcapng.gap(gap, name, out),
            Self::Table(table) => table.gap(gap),
        }
    }

    /// Returns whether the collected frames must be written.
    pub(crate) fn is_full(&self, out: &[u8]) -> bool {
        match self {
            Self::Text(_) | Self::Asc(_) | Self::Pcapng(_) => out.len() >= 1 << 18,
            Self::Table(table) => table.is_full(),
        }
    }

    /// Adds the collected frames to `out`; returns the bytes that end the file until the next
    /// flush.
    pub(crate) fn flush(
        &mut self,
        names: &[Arc<str>],
        out: &mut Vec<u8>,
    ) -> Result<Vec<u8>, ParquetError> {
        match self {
            Self::Text(_) | Self::Asc(_) | Self::Pcapng(_) => Ok(Vec::new()),
            Self::Table(table) => table.flush(names, out),
        }
    }

    /// Ends the file.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Asc(asc) => asc.end(out),
            Self::Pcapng(pcapng) => pcapng.end(out),
            Self::Text(_) | Self::Table(_) => {}
        }
    }

    /// Returns whether the file can be continued after a piece of it could not be written.
    pub(crate) const fn goes_on(&self) -> bool {
        !matches!(self, Self::Table(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_form() {
        let of = |name: &str| CaptureOutput::of(Path::new(name), None);
        let said = |name: &str| of(name).map(|o| (o.form, o.packing, o.ending));
        let is = |form, packing, ending: &str| Ok((form, packing, ending.to_owned()));
        assert_eq!(
            said("a/b.log"),
            is(OutputFormat::Text, Packing::None, ".log")
        );
        assert_eq!(
            said("b.pcapng.zst"),
            is(OutputFormat::Pcapng, Packing::Zstd, ".pcapng.zst")
        );
        assert_eq!(
            said("b.log.gz"),
            is(OutputFormat::Text, Packing::Gzip, ".log.gz")
        );
        assert_eq!(
            said("b.asc.gz"),
            is(OutputFormat::Asc, Packing::Gzip, ".asc.gz")
        );
        assert!(matches!(said("b.pcap"), Err(FormError::Unknown(_))));
        let other = CaptureOutput::of(Path::new("b.zst"), Some(OutputFormat::Pcapng)).unwrap();
        assert_eq!(
            (other.packing, other.ending.as_str()),
            (Packing::Zstd, ".zst")
        );
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_goes_into_files_and_packs_itself() {
        let of =
            |name: &str, form| CaptureOutput::of(Path::new(name), form).map(|o| (o.form, o.ending));
        let is = Ok((OutputFormat::Parquet, ".parquet".to_owned()));
        assert_eq!(of("b.parquet", None), is);
        let packed = of("b.parquet.gz", None);
        assert!(matches!(packed, Err(FormError::Packed(_, ".gz"))));
        assert_eq!(of("-", Some(OutputFormat::Parquet)), Err(FormError::Stream));
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_that_is_not_built_in_is_refused_with_the_reason() {
        for (name, form) in [
            ("b.parquet", None),
            ("b.parquet.gz", None),
            ("-", Some(OutputFormat::Parquet)),
        ] {
            let error = CaptureOutput::of(Path::new(name), form).unwrap_err();
            assert_eq!(error, FormError::NotBuilt(name.to_owned()));
            let said = error.to_string();
            assert!(said.contains("without the feature `parquet`"), "{said}");
        }
    }
}
