//! Statements of a file: the text is split where a line begins with a keyword, so that each
//! statement is parsed alone. The memory and the time for a file are thereby proportional to its
//! length, and a statement that the grammar does not know can be passed over.

use alloc::collections::BTreeSet;
use can_dbc_pest::{Pair, Rule};
use core::cell::Cell;

/// Keywords that begin a statement. `SG_` is part of a `BO_`.
const KEYWORDS: [&str; 30] = [
    "BA_",
    "BA_DEF_",
    "BA_DEF_DEF_",
    "BA_DEF_DEF_REL_",
    "BA_DEF_REL_",
    "BA_DEF_SGTYPE_",
    "BA_REL_",
    "BA_SGTYPE_",
    "BO_",
    "BO_TX_BU_",
    "BS_",
    "BU_",
    "CAT_",
    "CAT_DEF_",
    "CM_",
    "ENVVAR_DATA_",
    "EV_",
    "EV_DATA_",
    "FILTER",
    "NS_",
    "SGTYPE_",
    "SGTYPE_VAL_",
    "SG_MUL_VAL_",
    "SIGTYPE_VALTYPE_",
    "SIG_GROUP_",
    "SIG_TYPE_REF_",
    "SIG_VALTYPE_",
    "VAL_",
    "VAL_TABLE_",
    "VERSION",
];

/// Keywords of statements that do not change what a frame means: if the grammar does not accept one
/// of them, it is passed over.
const PASSED_OVER: [&str; 17] = [
    "BA_DEF_SGTYPE_",
    "BA_SGTYPE_",
    "BS_",
    "CAT_",
    "CAT_DEF_",
    "CM_",
    "ENVVAR_DATA_",
    "EV_",
    "EV_DATA_",
    "FILTER",
    "NS_",
    "SGTYPE_",
    "SGTYPE_VAL_",
    "SIGTYPE_VALTYPE_",
    "SIG_GROUP_",
    "SIG_TYPE_REF_",
    "VAL_TABLE_",
];

/// Keywords whose words can follow on indented lines.
const INDENTED: [&str; 2] = ["BU_", "NS_"];

/// A part of the text that begins with a keyword, and ends before the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement<'a> {
    /// Its text, with what follows it up to the next keyword.
    pub(super) text: &'a str,
    /// The index of its first byte in the file.
    pub(super) start: usize,
    /// Its keyword; empty for what is before the first one.
    keyword: &'a str,
}

impl<'a> Statement<'a> {
    /// Returns the ID and the name in a `BO_` whose ID is not a whole number.
    pub(super) fn without_id(&self) -> Option<(&'a str, &'a str)> {
        let mut words = self.text.split_ascii_whitespace();
        words.next().filter(|word| *word == "BO_")?;
        let is_part = |b: u8| b.is_ascii_hexdigit() || b"xX.+-".contains(&b);
        let is_wrong = |id: &&str| !id.bytes().all(|b| b.is_ascii_digit());
        let id = words
            .next()
            .filter(is_wrong)
            .filter(|id| id.bytes().all(is_part))?;
        let name = words.next()?.trim_end_matches(':');
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        (id.bytes().any(|b| b.is_ascii_digit()) && name.bytes().all(fits)).then_some((id, name))
    }

    /// Returns whether one of its words is one of these.
    pub(super) fn has_word(&self, words: &BTreeSet<&str>) -> bool {
        let mut all = self.text.split_ascii_whitespace();
        all.any(|word| words.contains(word))
    }

    /// Returns whether it can be passed over. Only one on a single line can: a text whose end was
    /// not found contains other statements.
    pub(super) fn can_be_passed_over(&self) -> bool {
        let mut lines = self.text.trim_end().split(['\n', '\r']);
        PASSED_OVER.contains(&self.keyword) && lines.nth(1).is_none()
    }
}

/// The statements of a file, in its order.
pub(super) struct Statements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Statements<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Statements<'a> {
    type Item = Statement<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let text = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let keyword = keyword_of(text, "").unwrap_or_default();
        let mut lines = LineStarts::new(text);
        let end = lines.find(|at| keyword_of(&text[*at..], keyword).is_some());
        let end = end.unwrap_or(text.len());
        self.at = start + end;
        Some(Statement {
            text: &text[..end],
            start,
            keyword,
        })
    }
}

/// Returns the keyword with which a line begins, in or after a statement with the keyword `of`.
fn keyword_of<'a>(line: &'a str, of: &str) -> Option<&'a str> {
    let trimmed = line.trim_start_matches([' ', '\t']);
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let length = trimmed.bytes().take_while(|byte| is_part(*byte)).count();
    let word = &trimmed[..length];
    let is_indented = trimmed.len() < line.len();
    // In a list of names, each one can be a keyword.
    let is_name = is_indented && INDENTED.contains(&of);
    let ends = trimmed[length..].starts_with([' ', '\t', ':']);
    (KEYWORDS.contains(&word) && ends && !is_name).then_some(word)
}

/// The places behind line breaks that are not in a text in quotation marks or in a comment.
struct LineStarts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> LineStarts<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    /// Moves behind a text whose opening mark has been passed.
    fn pass_text(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match (byte, self.bytes.get(self.at)) {
                (b'\\', Some(b'"')) => self.at += 1,
                (b'"', _) => return,
                _ => {}
            }
        }
    }
}

impl Iterator for LineStarts<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match (byte, self.bytes.get(self.at)) {
                (b'"', _) => self.pass_text(),
                (b'/', Some(b'/')) => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
                    self.at += rest.iter().position(is_end).unwrap_or(rest.len());
                }
                (b'\r', Some(b'\n')) => {}
                (b'\n' | b'\r', Some(_)) => return Some(self.at),
                _ => {}
            }
        }
        None
    }
}

/// Finds the places of statements and their parts in a file.
pub(super) struct FilePlaces<'a> {
    text: &'a str,
    /// The index of the statement's first byte.
    start: usize,
    /// An index, and its line and column. Places that are asked for in their order are found in one
    /// pass over the text.
    known: Cell<(usize, usize, usize)>,
}

impl<'a> FilePlaces<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            known: Cell::new((0, 1, 1)),
        }
    }

    /// Sets the statement to which places are relative.
    pub(super) fn enter(&mut self, statement: &Statement<'_>) {
        self.start = statement.start;
    }

    /// Returns the line and the column of a part of the statement, both from 1.
    pub(super) fn of(&self, pair: &Pair<'_, Rule>) -> (usize, usize) {
        self.at(pair.as_span().start())
    }

    /// Returns the line of a part of the statement, from 1.
    pub(super) fn line(&self, pair: &Pair<'_, Rule>) -> usize {
        self.of(pair).0
    }

    /// Returns the line and the column of an index in the statement.
    pub(super) fn at(&self, index: usize) -> (usize, usize) {
        let index = self.start + index;
        let (mut known, mut line, mut column) = self.known.get();
        if index < known {
            (known, line, column) = (0, 1, 1);
        }
        let between = self.text.get(known..index).unwrap_or_default();
        let mut characters = between.chars().peekable();
        while let Some(character) = characters.next() {
            let is_end = match character {
                '\n' => true,
                '\r' => characters.peek() != Some(&'\n'),
                _ => false,
            };
            (line, column) = if is_end {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
        self.known.set((index, line, column));
        (line, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn keywords(text: &str) -> Vec<&str> {
        let statements: Vec<Statement<'_>> = Statements::new(text).collect();
        let whole: alloc::string::String = statements.iter().map(|one| one.text).collect();
        assert_eq!(whole, text);
        statements.iter().map(|one| one.keyword).collect()
    }

    #[test]
    fn statements_begin_with_a_keyword_outside_of_texts_and_lists() {
        let text =
            "VERSION \"\"\r\nNS_ :\r\n\tCM_\r\n\tBA_ \r\nBU_: A\n BO_ B\nBO_ 1 M: 8 A\n SG_ x\n";
        assert_eq!(keywords(text), ["VERSION", "NS_", "BU_", "BO_"]);
        let comments = "CM_ \"a\nBO_ 1\n\\\"\nBO_ 2\";\n// \"\nBO_ 3\n";
        assert_eq!(keywords(comments), ["CM_", "BO_"]);
        assert_eq!(
            keywords("\n\rVAL_ 1\rVAL_TABLE_ x\r"),
            ["", "VAL_", "VAL_TABLE_"]
        );
        assert_eq!(keywords("BO_TX 1\n  BO_ 1\nBO_"), ["", "BO_"]);
        assert!(keywords("").is_empty());
    }

    #[test]
    fn a_place_is_found_from_any_other() {
        let text = "a\r\nb\u{e9}c\rd\n";
        let places = FilePlaces::new(text);
        let expected = [
            (0, (1, 1)),
            (3, (2, 1)),
            (6, (2, 3)),
            (8, (3, 1)),
            (3, (2, 1)),
            (10, (4, 1)),
        ];
        for (index, place) in expected {
            assert_eq!(places.at(index), place, "{index}");
        }
    }
}
