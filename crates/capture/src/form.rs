//! The output of a record, and the selection of its format by a file's name.

use crate::databases::FrameDatabases;
use crate::pack::Packing;
use logs::{FileFormat, WriteOptions};
use std::path::{Path, PathBuf};

/// The output of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureOutput {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// The format of the file.
    pub format: FileFormat,
    /// The compression of the file.
    pub packing: Packing,
    /// The options of the format.
    pub options: WriteOptions,
    /// The databases of the messages that are written with the frames; none by default.
    databases: FrameDatabases,
    /// The end of the name, which follows the number of a file.
    pub(crate) ending: String,
}

/// Error: a name that does not determine the format, or a format that cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormError {
    /// The name does not determine the format.
    #[error(
        "{0}: the name selects no format: end it in {list} (.gz or .zst appended compresses all but \
         {packed}), or name the format",
        list = endings(|_| true),
        packed = endings(FileFormat::is_packed)
    )]
    Unknown(String),
    /// The format has its own compression.
    #[error("{0}: {1} is compressed already: leave out {2}")]
    Packed(String, FileFormat, &'static str),
    /// The format is only read.
    #[error("{0}: {1} can only be read: write {list}", list = endings(|_| true))]
    ReadOnly(String, FileFormat),
    /// This program cannot write the format.
    #[error(
        "{0}: {1} is not in this build: this program was built without the feature `{feature}`; write \
         another format: {list}",
        feature = .1.name(),
        list = endings(FileFormat::is_built)
    )]
    NotBuilt(String, FileFormat),
    /// The format cannot be written to this output.
    #[error(
        "{0} cannot be written to standard output, because it is not written in order: name a \
         file, or write another format: {list}",
        list = endings(|format| !format.is_packed())
    )]
    Stream(FileFormat),
    /// The format has no place for the messages of frames.
    #[error(
        "{0} has no place for the names of messages: leave out the database, or write {list}",
        list = endings(FileFormat::has_messages)
    )]
    Messages(FileFormat),
}

/// Returns the first ends of names of these formats that are written, in words.
fn endings(which: fn(FileFormat) -> bool) -> String {
    let formats = FileFormat::written().filter(|format| which(*format));
    let all: Vec<_> = formats
        .filter_map(|format| format.endings().first())
        .collect();
    match all.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            let first: Vec<&str> = first.iter().map(|one| **one).collect();
            format!("{} or {last}", first.join(", "))
        }
        all => all.iter().map(|one| **one).collect(),
    }
}

impl CaptureOutput {
    /// Returns the output for a name; `format` takes precedence over its ending.
    ///
    /// # Errors
    /// [`FormError`]
    pub fn from_path(path: &Path, format: Option<FileFormat>) -> Result<Self, FormError> {
        let name = path.to_string_lossy();
        let mut stem: &str = &name;
        let mut packing = Packing::None;
        for one in [Packing::Gzip, Packing::Zstd] {
            if let Some(rest) = stem.strip_suffix(one.ending()) {
                (stem, packing) = (rest, one);
                break;
            }
        }
        let mut endings = FileFormat::written()
            .flat_map(|format| format.endings().iter().map(move |ending| (*ending, format)));
        let selected = endings.find(|(ending, _)| stem.ends_with(ending));
        let ending = selected.map_or("", |(ending, _)| ending);
        let Some(format) = format.or(selected.map(|(_, format)| format)) else {
            return Err(FormError::Unknown(name.into_owned()));
        };
        if !format.is_written() {
            return Err(FormError::ReadOnly(name.into_owned(), format));
        }
        if !format.is_built() {
            return Err(FormError::NotBuilt(name.into_owned(), format));
        }
        if format.is_packed() && packing != Packing::None {
            return Err(FormError::Packed(
                name.into_owned(),
                format,
                packing.ending(),
            ));
        }
        let output = Self {
            path: path.to_owned(),
            format,
            packing,
            options: WriteOptions::default(),
            databases: FrameDatabases::default(),
            ending: format!("{ending}{}", packing.ending()),
        };
        if output.is_stream() && format.is_packed() {
            return Err(FormError::Stream(format));
        }
        Ok(output)
    }

    /// Returns the same output with the messages of frames by these databases.
    ///
    /// # Errors
    /// [`FormError::Messages`] if the format has no messages.
    pub fn with_databases(mut self, databases: FrameDatabases) -> Result<Self, FormError> {
        if !databases.is_empty() && !self.format.has_messages() {
            return Err(FormError::Messages(self.format));
        }
        self.options.messages = !databases.is_empty();
        self.databases = databases;
        Ok(self)
    }

    /// Returns the databases of the messages that are written.
    #[must_use]
    pub(crate) const fn databases(&self) -> &FrameDatabases {
        &self.databases
    }

    /// Returns whether it is standard output.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.path == Path::new("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_states_the_form() {
        let of = |name: &str| CaptureOutput::from_path(Path::new(name), None);
        let message = |name: &str| of(name).map(|o| (o.format, o.packing, o.ending));
        let is = |form, packing, ending: &str| Ok((form, packing, ending.to_owned()));
        assert_eq!(
            message("a/b.log"),
            is(FileFormat::Log, Packing::None, ".log")
        );
        assert_eq!(
            message("b.pcapng.zst"),
            is(FileFormat::Pcapng, Packing::Zstd, ".pcapng.zst")
        );
        assert_eq!(
            message("b.log.gz"),
            is(FileFormat::Log, Packing::Gzip, ".log.gz")
        );
        assert_eq!(
            message("b.asc.gz"),
            is(FileFormat::Asc, Packing::Gzip, ".asc.gz")
        );
        let unknown = message("b.pcap").unwrap_err();
        assert!(matches!(unknown, FormError::Unknown(_)));
        let text = unknown.to_string();
        for format in FileFormat::written() {
            assert!(text.contains(format.endings()[0]), "{text}");
        }
        let read = CaptureOutput::from_path(Path::new("b.log"), Some(FileFormat::Pcap));
        assert!(matches!(
            read,
            Err(FormError::ReadOnly(_, FileFormat::Pcap))
        ));
        let other = CaptureOutput::from_path(Path::new("b.zst"), Some(FileFormat::Pcapng)).unwrap();
        assert_eq!(
            (other.packing, other.ending.as_str()),
            (Packing::Zstd, ".zst")
        );
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_goes_into_files_and_packs_itself() {
        let of = |name: &str, format| {
            CaptureOutput::from_path(Path::new(name), format).map(|o| (o.format, o.ending))
        };
        let is = Ok((FileFormat::Parquet, ".parquet".to_owned()));
        assert_eq!(of("b.parquet", None), is);
        let packed = of("b.parquet.gz", None);
        assert!(matches!(
            packed,
            Err(FormError::Packed(_, FileFormat::Parquet, ".gz"))
        ));
        assert_eq!(
            of("-", Some(FileFormat::Parquet)),
            Err(FormError::Stream(FileFormat::Parquet))
        );
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_that_is_not_built_in_is_refused_with_the_reason() {
        for (name, form) in [
            ("b.parquet", None),
            ("b.parquet.gz", None),
            ("-", Some(FileFormat::Parquet)),
        ] {
            let error = CaptureOutput::from_path(Path::new(name), form).unwrap_err();
            assert_eq!(
                error,
                FormError::NotBuilt(name.to_owned(), FileFormat::Parquet)
            );
            let message = error.to_string();
            assert!(
                message.contains("without the feature `parquet`"),
                "{message}"
            );
        }
    }
}
