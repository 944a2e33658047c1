//! In which form frames are written, and how a file's name says it.

use crate::asc::Asc;
use crate::chunk::{Gap, Record};
use crate::names::Known;
use crate::pack::Packing;
use crate::pcapng::Pcapng;
use crate::table::{ParquetError, Table};
use crate::text::Text;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// In which form frames are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// candump's log format, `.log`.
    Text,
    /// Vector ASC, `.asc`.
    Asc,
    /// pcapng with link type 227, `.pcapng`.
    Pcapng,
    /// Parquet, a row for each frame, `.parquet`.
    Parquet,
}

impl Form {
    /// Collected frames are written at least so often.
    #[must_use]
    pub const fn flush_every(self) -> Duration {
        match self {
            Self::Text | Self::Asc | Self::Pcapng => Duration::from_secs(1),
            Self::Parquet => Duration::from_secs(10),
        }
    }
}

/// Where frames are written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// In which form.
    pub form: Form,
    /// How it is compressed.
    pub packing: Packing,
    /// candump's log has nine digits behind the point in place of six.
    pub nanos: bool,
    /// The end of the name, which stays behind a number.
    pub(crate) ending: String,
}

/// A name that does not say the form, or a form that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormError {
    /// The name says nothing.
    #[error(
        "{0}: the name says no format: end it in .log, .asc, .pcapng or .parquet (.gz or .zst behind \
         the first three compresses), or name the format"
    )]
    Unknown(String),
    /// Parquet is compressed inside.
    #[error("{0}: Parquet is compressed by itself: leave out {1}")]
    Packed(String, &'static str),
    /// This program writes no Parquet.
    #[error(
        "{0}: Parquet is not in this build: this program was built without the feature `parquet`; write \
         log, asc or pcapng"
    )]
    NotBuilt(String),
    /// Parquet cannot go there.
    #[error(
        "Parquet cannot be written to standard output, which has no place to come back to: name a \
         file, or write log, asc or pcapng"
    )]
    Stream,
}

impl Output {
    /// What a name says; `form` wins over its ending.
    ///
    /// # Errors
    /// [`FormError`]
    pub fn of(path: &Path, form: Option<Form>) -> Result<Self, FormError> {
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
            (".log", Form::Text),
            (".txt", Form::Text),
            (".asc", Form::Asc),
            (".pcapng", Form::Pcapng),
            (".parquet", Form::Parquet),
        ];
        let said = endings.into_iter().find(|(e, _)| stem.ends_with(e));
        let ending = said.map_or("", |(ending, _)| ending);
        let Some(form) = form.or(said.map(|(_, form)| form)) else {
            return Err(FormError::Unknown(name.into_owned()));
        };
        if form == Form::Parquet && !cfg!(feature = "parquet") {
            return Err(FormError::NotBuilt(name.into_owned()));
        }
        if form == Form::Parquet && packing != Packing::None {
            return Err(FormError::Packed(name.into_owned(), packing.ending()));
        }
        let output = Self {
            path: path.to_owned(),
            form,
            packing,
            nanos: false,
            ending: format!("{ending}{}", packing.ending()),
        };
        if output.is_stream() && form == Form::Parquet {
            return Err(FormError::Stream);
        }
        Ok(output)
    }

    /// Is it standard output?
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.path == Path::new("-")
    }
}

/// Frames in one of the forms, as bytes of a file.
pub(crate) enum Format {
    Text(Text),
    Asc(Asc),
    Pcapng(Pcapng),
    Table(Box<Table>),
}

impl Format {
    pub(crate) fn new(output: &Output) -> Result<Self, ParquetError> {
        Ok(match output.form {
            Form::Text => Self::Text(Text::new(output.nanos)),
            Form::Asc => Self::Asc(Asc::default()),
            Form::Pcapng => Self::Pcapng(Pcapng::default()),
            Form::Parquet => Self::Table(Box::new(Table::new()?)),
        })
    }

    /// A file begins.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Text(_) => {}
            Self::Asc(asc) => asc.begin(),
            Self::Pcapng(pcapng) => pcapng.begin(out),
            Self::Table(table) => table.begin(),
        }
    }

    /// Adds a frame; `false` where its bytes are none.
    #[inline]
    pub(crate) fn frame(
        &mut self,
        record: &Record<'_>,
        names: &mut Known,
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
    pub(crate) fn gap(&mut self, gap: &Gap, names: &mut Known, out: &mut Vec<u8>) {
        let name = gap.interface.map(|place| names.get(place));
        match self {
            Self::Text(_) => Text::gap(gap, name, out),
            Self::Asc(_) => Asc::gap(gap, name, out),
            Self::Pcapng(pcapng) => pcapng.gap(gap, name, out),
            Self::Table(table) => table.gap(gap),
        }
    }

    /// Must what was collected be written?
    pub(crate) fn is_full(&self, out: &[u8]) -> bool {
        match self {
            Self::Text(_) | Self::Asc(_) | Self::Pcapng(_) => out.len() >= 1 << 18,
            Self::Table(table) => table.is_full(),
        }
    }

    /// Adds what was collected; gives what stands at the end of the file until the next time.
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

    /// The file ends.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Asc(asc) => asc.end(out),
            Self::Pcapng(pcapng) => pcapng.end(out),
            Self::Text(_) | Self::Table(_) => {}
        }
    }

    /// Can the file go on after a piece of it could not be written?
    pub(crate) const fn goes_on(&self) -> bool {
        !matches!(self, Self::Table(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_form() {
        let of = |name: &str| Output::of(Path::new(name), None);
        let said = |name: &str| of(name).map(|o| (o.form, o.packing, o.ending));
        let is = |form, packing, ending: &str| Ok((form, packing, ending.to_owned()));
        assert_eq!(said("a/b.log"), is(Form::Text, Packing::None, ".log"));
        assert_eq!(
            said("b.pcapng.zst"),
            is(Form::Pcapng, Packing::Zstd, ".pcapng.zst")
        );
        assert_eq!(said("b.log.gz"), is(Form::Text, Packing::Gzip, ".log.gz"));
        assert_eq!(said("b.asc.gz"), is(Form::Asc, Packing::Gzip, ".asc.gz"));
        assert!(matches!(said("b.pcap"), Err(FormError::Unknown(_))));
        let other = Output::of(Path::new("b.zst"), Some(Form::Pcapng)).unwrap();
        assert_eq!(
            (other.packing, other.ending.as_str()),
            (Packing::Zstd, ".zst")
        );
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_goes_into_files_and_packs_itself() {
        let of = |name: &str, form| Output::of(Path::new(name), form).map(|o| (o.form, o.ending));
        let is = Ok((Form::Parquet, ".parquet".to_owned()));
        assert_eq!(of("b.parquet", None), is);
        let packed = of("b.parquet.gz", None);
        assert!(matches!(packed, Err(FormError::Packed(_, ".gz"))));
        assert_eq!(of("-", Some(Form::Parquet)), Err(FormError::Stream));
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_that_is_not_built_in_is_refused_with_the_reason() {
        for (name, form) in [
            ("b.parquet", None),
            ("b.parquet.gz", None),
            ("-", Some(Form::Parquet)),
        ] {
            let error = Output::of(Path::new(name), form).unwrap_err();
            assert_eq!(error, FormError::NotBuilt(name.to_owned()));
            let said = error.to_string();
            assert!(said.contains("without the feature `parquet`"), "{said}");
        }
    }
}
