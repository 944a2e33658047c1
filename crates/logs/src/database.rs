//! Databases of messages and signals, which are sometimes given in place of a log or of a DBC.

use std::fmt;

/// A kind of database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Database {
    /// AUTOSAR's system description.
    Arxml,
    /// Kayak's database.
    Kcd,
    /// ASAM's FIBEX.
    Fibex,
    /// PEAK's symbol file.
    Sym,
    /// Vector's database.
    Dbc,
}

/// Number of bytes in which the first element of an XML file is searched for.
const SEARCHED_BYTES: usize = 4096;

impl Database {
    /// Returns the kind of a file with this beginning, if it is one of a database.
    #[must_use]
    pub fn recognise(head: &[u8]) -> Option<Self> {
        let head = first_bytes(head);
        if head.starts_with(b"FormatVersion=") {
            return Some(Self::Sym);
        }
        if head.starts_with(b"VERSION \"") {
            return Some(Self::Dbc);
        }
        if !head.starts_with(b"<") {
            return None;
        }
        let elements: [(&[u8], Self); 3] = [
            (b"<AUTOSAR", Self::Arxml),
            (b"<NetworkDefinition", Self::Kcd),
            (b"FIBEX", Self::Fibex),
        ];
        let has = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
        let found = elements.iter().find(|(element, _)| has(element));
        found.map(|(_, database)| *database)
    }

    /// Returns whether a file that was not recognised can still be one, depending on the bytes that
    /// follow this beginning.
    pub(crate) fn is_open(head: &[u8]) -> bool {
        let head = first_bytes(head);
        head.starts_with(b"<") && head.len() < SEARCHED_BYTES
    }

    /// Returns the name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arxml => "ARXML, a system description of AUTOSAR",
            Self::Kcd => "KCD, a database of messages",
            Self::Fibex => "FIBEX, a database of messages",
            Self::Sym => "PEAK SYM, a database of messages",
            Self::Dbc => "DBC, a database of messages",
        }
    }

    /// Returns what to do with it.
    #[must_use]
    pub const fn cure(self) -> &'static str {
        match self {
            Self::Fibex => {
                "convert it to DBC with another program, such as canmatrix's canconvert, and give it to \
                 `cangate decode --database` or `cangate bound --from-dbc`"
            }
            Self::Arxml | Self::Kcd | Self::Sym | Self::Dbc => {
                "`cangate decode --database` and `cangate bound --from-dbc` read it; give a recording here"
            }
        }
    }
}

/// Returns the bytes that are examined.
fn first_bytes(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let head = head.trim_ascii_start();
    head.get(..SEARCHED_BYTES).unwrap_or(head)
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.cure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_their_beginning() {
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- x -->\n";
        for (text, expected) in [
            (
                format!("{xml}<AUTOSAR xmlns=\"http://autosar.org/schema/r4.0\">"),
                Database::Arxml,
            ),
            (format!("\u{feff}{xml}<NetworkDefinition>"), Database::Kcd),
            (format!("{xml}<fx:FIBEX xmlns:fx=\"x\">"), Database::Fibex),
            (
                "FormatVersion=6.0 // Do not edit this line!\n".to_owned(),
                Database::Sym,
            ),
            ("\r\nVERSION \"\"\n\nNS_ :\n".to_owned(), Database::Dbc),
        ] {
            assert_eq!(
                Database::recognise(text.as_bytes()),
                Some(expected),
                "{text}"
            );
        }
        for other in ["", "<", "<html>", "date Wed", "(1.0) can0 123#"] {
            assert_eq!(Database::recognise(other.as_bytes()), None, "{other}");
        }
    }
}
