//! A text and its name.

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 64 << 20;

/// A text and its name in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceText {
    /// The file's name, or `<stdin>`.
    pub name: String,
    /// All of the text.
    pub text: String,
}

impl SourceText {
    /// Creates a text with a name.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// Returns the line and the column of a byte of the text, both from 1; the column counts
    /// characters. An offset past the end counts as the end.
    #[must_use]
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let start = self.line_start(offset);
        let before = self.text.get(..start).unwrap_or_default();
        let offset = self.floor(offset);
        let column = self.text.get(start..offset).unwrap_or_default();
        (
            before.bytes().filter(|&b| b == b'\n').count() + 1,
            column.chars().count() + 1,
        )
    }

    /// Returns the start of the line that contains this byte.
    pub(crate) fn line_start(&self, offset: usize) -> usize {
        let before = self.text.get(..self.floor(offset)).unwrap_or_default();
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns the end of the line that contains this byte, without its line ending.
    pub(crate) fn line_end(&self, offset: usize) -> usize {
        let offset = self.floor(offset);
        let rest = self.text.get(offset..).unwrap_or_default();
        let end = rest.find('\n').map_or(self.text.len(), |n| offset + n);
        let line = self.text.get(offset..end).unwrap_or_default();
        end - usize::from(line.ends_with('\r'))
    }

    /// Returns the nearest offset at or before this one that does not split a character.
    pub(crate) fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one() {
        let source = SourceText::new("x", "ab\näöü\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(2), (1, 3));
        assert_eq!(source.line_column(3), (2, 1));
        assert_eq!(source.line_column(5), (2, 2));
        assert_eq!(source.line_column(6), (2, 2), "inside ö");
        assert_eq!(source.line_column(999), (3, 1));
    }

    #[test]
    fn a_line_ends_before_its_line_end() {
        let source = SourceText::new("x", "ab\r\ncd");
        assert_eq!(source.line_end(1), 2);
        assert_eq!(source.line_end(4), 6);
    }
}
