//! Reading a database whose format is recognised by its beginning.

use crate::DatabaseError;
use crate::message::MessageDatabase;
use core::fmt;

/// The maximum length of a file that is read, bytes.
pub const MAX_FILE: usize = 64 << 20;

/// Number of bytes in which the first element of an XML file is searched for.
const LOOK: usize = 4096;

/// A format of databases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatabaseFormat {
    /// Vector's database.
    Dbc,
    /// Kayak's database.
    Kcd,
    /// AUTOSAR's system description.
    Arxml,
    /// PEAK's symbol file.
    Sym,
    /// ASAM's FIBEX, which is not read.
    Fibex,
}

/// The reason why a database is not read.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// The file is longer than [`MAX_FILE`].
    #[error("it has more than {} MiB", MAX_FILE >> 20)]
    TooLong,
    /// The format is read by builds with the feature of this name.
    #[error(
        "it looks like {0}, which this build does not read: build cangate with `--features {1}`, or \
         convert it to DBC with another program, such as canmatrix's canconvert"
    )]
    NotBuilt(DatabaseFormat, &'static str),
    /// The format is not read.
    #[error(
        "it looks like {0}, which cangate does not read: convert it to DBC with another program, such \
         as canmatrix's canconvert"
    )]
    NotRead(DatabaseFormat),
    /// A mistake in the file.
    #[error("{1}")]
    Mistake(DatabaseFormat, DatabaseError),
    /// The file has no message: only [`read_messages`] regards that as a mistake.
    #[error("no message in it")]
    Empty,
    /// A frame can represent none of the messages; this is the mistake of the first one.
    #[error("{0}")]
    Impossible(DatabaseError),
}

impl ReadError {
    /// Returns the cure, if there is one that the text of the error does not have.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLong => Some("name a DBC of one bus"),
            Self::Mistake(DatabaseFormat::Dbc, _) => Some(
                "a statement that is not about messages, signals and their attributes can be \
                 deleted in a copy of the file",
            ),
            Self::Empty => Some("a DBC has lines such as `BO_ 256 Speed: 8 Engine`"),
            Self::NotBuilt(..) | Self::NotRead(_) | Self::Mistake(..) | Self::Impossible(_) => None,
        }
    }
}

impl DatabaseFormat {
    /// Returns the format of a file with this beginning; a DBC if it is not one of the others.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let head = head.get(..LOOK).unwrap_or(head);
        // In UTF-16, each character of the words below has a zero.
        let mut plain = [0; LOOK];
        let mut length = 0;
        for byte in head.iter().filter(|byte| **byte != 0) {
            plain[length] = *byte;
            length += 1;
        }
        let head = &plain[..length];
        let head = head.strip_prefix(b"\xFF\xFE").unwrap_or(head);
        let head = head.strip_prefix(b"\xFE\xFF").unwrap_or(head);
        let mut head = head.trim_ascii_start();
        // A PEAK SYM can begin with comments.
        while head.starts_with(b"//") {
            let end = head.iter().position(|byte| *byte == b'\n');
            head = head.get(end.unwrap_or(head.len())..).unwrap_or_default();
            head = head.trim_ascii_start();
        }
        if head.starts_with(b"FormatVersion=") {
            return Self::Sym;
        }
        if !head.starts_with(b"<") {
            return Self::Dbc;
        }
        let elements: [(&[u8], Self); 3] = [
            (b"<AUTOSAR", Self::Arxml),
            (b"NetworkDefinition", Self::Kcd),
            (b"FIBEX", Self::Fibex),
        ];
        let has = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
        let found = elements.iter().find(|(element, _)| has(element));
        found.map_or(Self::Dbc, |(_, format)| *format)
    }
}

impl fmt::Display for DatabaseFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dbc => "a DBC",
            Self::Kcd => "a KCD",
            Self::Arxml => "an ARXML",
            Self::Sym => "a PEAK SYM",
            Self::Fibex => "a FIBEX",
        })
    }
}

/// Reads a database in any format of this build.
///
/// # Errors
/// [`ReadError`]. A message that no frame can represent does not fail the file
/// ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, ReadError> {
    if bytes.len() > MAX_FILE {
        return Err(ReadError::TooLong);
    }
    let format = DatabaseFormat::of(bytes);
    #[allow(unused_variables, reason = "a build without formats reads none")]
    let mistake = |error| ReadError::Mistake(format, error);
    match format {
        #[cfg(feature = "dbc")]
        DatabaseFormat::Dbc => crate::dbc::read(bytes).map_err(mistake),
        #[cfg(not(feature = "dbc"))]
        DatabaseFormat::Dbc => Err(ReadError::NotBuilt(format, "dbc")),
        #[cfg(feature = "kcd")]
        DatabaseFormat::Kcd => crate::kcd::read(bytes).map_err(mistake),
        #[cfg(not(feature = "kcd"))]
        DatabaseFormat::Kcd => Err(ReadError::NotBuilt(format, "kcd")),
        #[cfg(feature = "arxml")]
        DatabaseFormat::Arxml => crate::arxml::read(bytes).map_err(mistake),
        #[cfg(not(feature = "arxml"))]
        DatabaseFormat::Arxml => Err(ReadError::NotBuilt(format, "arxml")),
        #[cfg(feature = "sym")]
        DatabaseFormat::Sym => crate::sym::read(bytes).map_err(mistake),
        #[cfg(not(feature = "sym"))]
        DatabaseFormat::Sym => Err(ReadError::NotBuilt(format, "sym")),
        DatabaseFormat::Fibex => Err(ReadError::NotRead(format)),
    }
}

/// Reads a database as [`read`] does, for its messages: at least one is needed.
///
/// # Errors
/// [`ReadError`], also for a file without a message that a frame can represent.
pub fn read_messages(bytes: &[u8]) -> Result<MessageDatabase, ReadError> {
    let mut database = read(bytes)?;
    if !database.messages.is_empty() {
        return Ok(database);
    }
    match database.impossible.is_empty() {
        true => Err(ReadError::Empty),
        false => Err(ReadError::Impossible(
            database.impossible.swap_remove(0).error,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn formats_are_known_by_their_beginning() {
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- x -->\n";
        for (text, expected) in [
            (
                format!("{xml}<AUTOSAR xmlns=\"http://autosar.org/schema/r4.0\">"),
                DatabaseFormat::Arxml,
            ),
            (
                format!("\u{feff}{xml}<NetworkDefinition>"),
                DatabaseFormat::Kcd,
            ),
            (
                format!("{xml}<k:NetworkDefinition xmlns:k=\"x\">"),
                DatabaseFormat::Kcd,
            ),
            (
                format!("{xml}<fx:FIBEX xmlns:fx=\"x\">"),
                DatabaseFormat::Fibex,
            ),
            ("FormatVersion=6.0 // x\n".into(), DatabaseFormat::Sym),
            (
                "\n// a\n // b\nFormatVersion=6.0\n".into(),
                DatabaseFormat::Sym,
            ),
            ("\r\nVERSION \"\"\n".into(), DatabaseFormat::Dbc),
            ("".into(), DatabaseFormat::Dbc),
            ("//".into(), DatabaseFormat::Dbc),
            ("<html>".into(), DatabaseFormat::Dbc),
        ] {
            assert_eq!(DatabaseFormat::of(text.as_bytes()), expected, "{text}");
            let text = text.trim_start_matches('\u{feff}');
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let wide = [&[0xFF, 0xFE][..], &wide].concat();
            assert_eq!(DatabaseFormat::of(&wide), expected, "{text}");
        }
    }

    #[test]
    fn files_that_are_not_read_are_named() {
        let fibex = read(b"<FIBEX/>").unwrap_err();
        assert_eq!(fibex, ReadError::NotRead(DatabaseFormat::Fibex));
        assert!(
            fibex
                .to_string()
                .starts_with("it looks like a FIBEX, which cangate does not read")
        );
        assert_eq!(read(&vec![b' '; MAX_FILE + 1]), Err(ReadError::TooLong));
        let kcd = read(b"<NetworkDefinition>").unwrap_err().to_string();
        match cfg!(feature = "kcd") {
            true => assert!(kcd.starts_with("line 1, column 1: not XML"), "{kcd}"),
            false => assert!(kcd.contains("build cangate with `--features kcd`"), "{kcd}"),
        }
    }

    #[cfg(feature = "dbc")]
    #[test]
    fn a_file_without_messages_is_a_mistake_where_they_are_needed() {
        let text = b"BU_: A\n";
        assert!(read(text).unwrap().messages.is_empty());
        let error = read_messages(text).unwrap_err();
        assert_eq!(error.to_string(), "no message in it");
        assert!(error.hint().unwrap().contains("BO_ 256"));
        let error = read_messages(b"BO_ 256 M: -1 A\n").unwrap_err();
        assert!(matches!(error, ReadError::Impossible(_)), "{error:?}");
        assert!(error.to_string().contains("line 1"), "{error}");
        let error = read_messages(b"BO_ x\n").unwrap_err();
        assert!(
            error.hint().unwrap().contains("deleted in a copy"),
            "{error}"
        );
        assert_eq!(
            read_messages(b"BO_ 256 M: 8 A\n").unwrap().messages.len(),
            1
        );
    }
}
