//! The definition of a format, and what the list of all formats (`lib.rs`) gives to its users.

pub(crate) use crate::FileFormat;
use crate::read::FormatReading;
use crate::write::{FormatWriting, FrameWriter, WriteError, WriteOptions};
use std::fmt;
use std::time::Duration;

/// The definition of a format.
#[derive(Clone, Copy)]
pub(crate) struct FormatSpec {
    /// The name that users give it: `--from asc`, `format = "asc"`.
    pub(crate) name: &'static str,
    /// Its name in sentences and tables.
    pub(crate) title: &'static str,
    /// How it is read; `None`: it is only written.
    pub(crate) reading: Option<FormatReading>,
    /// How it is written; `None`: it is only read.
    pub(crate) writing: Option<FormatWriting>,
}

/// Declares [`FileFormat`] from the list of all formats.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $spec:path,)*) => {
        /// The format of a log.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum FileFormat {
            $($(#[$doc])* $variant,)*
        }

        impl FileFormat {
            /// All formats. Where the beginning of a log could be of several formats, the first
            /// of them in this list counts.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) const fn spec(self) -> &'static $crate::format::FormatSpec {
                match self {
                    $(Self::$variant => &$spec,)*
                }
            }
        }
    };
}

pub(crate) use formats;

/// Number of formats that are read.
const READ: usize = {
    let (mut at, mut count) = (0, 0);
    while at < FileFormat::ALL.len() {
        count += FileFormat::ALL[at].is_read() as usize;
        at += 1;
    }
    count
};

impl FileFormat {
    /// The formats that are read, with the names that users give them.
    pub const NAMES: [(&'static str, Self); READ] = {
        let mut names = [("", Self::Log); READ];
        let (mut at, mut count) = (0, 0);
        while at < Self::ALL.len() {
            let format = Self::ALL[at];
            if format.is_read() {
                names[count] = (format.name(), format);
                count += 1;
            }
            at += 1;
        }
        names
    };

    /// Returns the titles of the formats that are read, for a sentence.
    #[must_use]
    pub fn read_titles() -> String {
        let titles = Self::NAMES.map(|(_, format)| format.spec().title);
        let (last, first) = titles.split_last().unwrap_or((&"", &[]));
        format!("{} and {last}", first.join(", "))
    }

    /// Returns the formats that are written.
    pub fn written() -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(|format| format.is_written())
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
    }

    /// Returns the name that users give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns whether logs of it are read.
    #[must_use]
    pub const fn is_read(self) -> bool {
        self.spec().reading.is_some()
    }

    /// Returns whether logs of it are written. A writer can be left out of this build
    /// ([`FileFormat::is_built`]).
    #[must_use]
    pub const fn is_written(self) -> bool {
        self.spec().writing.is_some()
    }

    /// Returns whether a log of it that is read consists of lines.
    #[must_use]
    pub fn is_text(self) -> bool {
        self.spec().reading.is_some_and(|reading| reading.is_text())
    }

    /// Returns the frames and properties that are read, in words; nothing if it is not read.
    #[must_use]
    pub fn contents(self) -> &'static str {
        self.spec().reading.map_or("", |reading| reading.contents)
    }

    /// Returns the ends of file names that select it for writing.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        self.spec().writing.map_or(&[], |writing| writing.endings)
    }

    /// Returns the description of what is written, for the help of a command.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.spec().writing.map_or("", |writing| writing.help)
    }

    /// Returns the properties of frames that it cannot express, in words; nothing if it expresses
    /// all of them.
    #[must_use]
    pub fn omissions(self) -> &'static str {
        self.spec().writing.map_or("", |writing| writing.omissions)
    }

    /// Returns whether a file of it is compressed internally and completed afterwards. Such a file
    /// cannot be compressed once more, nor be written to standard output.
    #[must_use]
    pub fn is_packed(self) -> bool {
        self.spec().writing.is_some_and(|writing| writing.is_packed)
    }

    /// Returns whether a file of it can state that frames are missing.
    #[must_use]
    pub fn has_losses(self) -> bool {
        self.spec()
            .writing
            .is_some_and(|writing| writing.has_losses)
    }

    /// Returns whether a file of it can have the message of each frame, with its signals.
    #[must_use]
    pub fn has_messages(self) -> bool {
        self.spec()
            .writing
            .is_some_and(|writing| writing.has_messages)
    }

    /// Returns whether this build of the program can write it.
    #[must_use]
    pub fn is_built(self) -> bool {
        self.spec().writing.is_some_and(|writing| writing.is_built)
    }

    /// Returns the maximum time after which collected frames are written.
    #[must_use]
    pub fn flush_every(self) -> Duration {
        let writing = self.spec().writing;
        writing.map_or(Duration::ZERO, |writing| writing.flush_every)
    }

    /// Creates a writer of one file after the other.
    ///
    /// # Errors
    /// [`WriteError`] where the format is only read, or its writer is not in this build.
    pub fn writer(self, options: WriteOptions) -> Result<Box<dyn FrameWriter>, WriteError> {
        match self.spec().writing {
            Some(writing) => (writing.create)(options),
            None => Err(WriteError::new(format!("{self} is only read"))),
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_endings_are_unique() {
        let names: BTreeSet<_> = FileFormat::ALL.iter().map(|format| format.name()).collect();
        assert_eq!(names.len(), FileFormat::ALL.len());
        let endings: Vec<_> = FileFormat::written()
            .flat_map(FileFormat::endings)
            .collect();
        assert_eq!(endings.iter().collect::<BTreeSet<_>>().len(), endings.len());
        for format in FileFormat::ALL {
            assert_eq!(FileFormat::named(format.name()), Some(*format));
            assert!(format.is_read() || format.is_written(), "{format}");
            assert_eq!(
                format.is_written(),
                !format.endings().is_empty(),
                "{format}"
            );
        }
    }
}
