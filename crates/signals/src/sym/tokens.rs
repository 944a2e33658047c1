//! The words of a file.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// A part of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// A word or a number, also with a `-` before it.
    Word(&'a str),
    /// A text in quotation marks.
    Text(String),
    /// `/u:km` and the like: the key, and the value, which can be in quotation marks.
    Option(&'a str, String),
    /// One of `=`, `,`, `(`, `)`, `[`, `]`.
    Mark(char),
}

/// A statement: a line, or more lines within parentheses.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct SymStatement<'a> {
    /// The line in which it begins, from 1.
    pub(super) line: usize,
    pub(super) tokens: Vec<Token<'a>>,
    /// The text behind `//`.
    pub(super) comment: &'a str,
}

/// The statements of a file. Lines without one are passed over.
pub(super) struct SymStatements<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> SymStatements<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
        }
    }

    /// Returns the next characters for which this is so, and passes them.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }

    /// Returns a text whose opening mark has been passed. It ends with its line at the latest.
    fn text(&mut self) -> String {
        let mut text = String::new();
        loop {
            text.push_str(self.take(|c| !matches!(c, '"' | '\\' | '\n' | '\r')));
            if let Some(rest) = self.rest.strip_prefix("\\\"") {
                text.push('"');
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix('\\') {
                text.push('\\');
                self.rest = rest;
            } else {
                self.rest = self.rest.strip_prefix('"').unwrap_or(self.rest);
                return text;
            }
        }
    }

    /// Returns the next token of a line, without the blanks before it.
    fn token(&mut self) -> Option<Token<'a>> {
        let first = self.rest.chars().next()?;
        if matches!(first, '=' | ',' | '(' | ')' | '[' | ']') {
            self.rest = &self.rest[1..];
            return Some(Token::Mark(first));
        }
        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            return Some(Token::Text(self.text()));
        }
        // The key has no other characters, so that the search ends with it.
        let key = self.rest.strip_prefix('/').and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase())?;
            let (key, rest) = rest.split_at(end);
            Some((key, rest.strip_prefix(':')?))
        });
        if let Some((key, rest)) = key {
            self.rest = rest;
            let value = match self.rest.strip_prefix('"') {
                Some(rest) => {
                    self.rest = rest;
                    self.text()
                }
                None => self.take(|c| !c.is_whitespace()).to_string(),
            };
            return Some(Token::Option(key, value));
        }
        let ends =
            |c: char| c.is_whitespace() || matches!(c, '=' | ',' | '(' | ')' | '[' | ']' | '"');
        Some(Token::Word(self.take(|c| !ends(c))))
    }
}

impl<'a> Iterator for SymStatements<'a> {
    type Item = SymStatement<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut statement = SymStatement {
            line: self.line,
            tokens: Vec::new(),
            comment: "",
        };
        let mut depth = 0_usize;
        loop {
            self.take(|c| c.is_whitespace() && !matches!(c, '\n' | '\r'));
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment;
                statement.comment = self.take(|c| !matches!(c, '\n' | '\r')).trim();
            }
            if self.rest.is_empty() {
                return (!statement.tokens.is_empty()).then_some(statement);
            }
            if self.rest.starts_with(['\n', '\r']) {
                let end = if self.rest.starts_with("\r\n") { 2 } else { 1 };
                self.rest = &self.rest[end..];
                self.line += 1;
                if statement.tokens.is_empty() {
                    statement.line = self.line;
                    statement.comment = "";
                } else if depth == 0 {
                    return Some(statement);
                }
                continue;
            }
            let token = self.token()?;
            match token {
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            statement.tokens.push(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_lines_or_parentheses() {
        let text = "// a\nSig=\"A \\\"B\" -m /u:\"m s\" /o:-1 /x\t// c d\r\n\nEnum=E(0=\"x\", // y\n 1=\"z\")\n[N]";
        let found: Vec<SymStatement<'_>> = SymStatements::new(text).collect();
        let lines: Vec<usize> = found.iter().map(|one| one.line).collect();
        assert_eq!(lines, [2, 4, 6]);
        assert_eq!(
            found[0].tokens,
            [
                Token::Word("Sig"),
                Token::Mark('='),
                Token::Text("A \"B".into()),
                Token::Word("-m"),
                Token::Option("u", "m s".into()),
                Token::Option("o", "-1".into()),
                Token::Word("/x"),
            ]
        );
        assert_eq!(found[0].comment, "c d");
        assert_eq!(found[1].tokens.len(), 12);
        assert_eq!(found[2].tokens[1], Token::Word("N"));
        assert_eq!(SymStatements::new("a \"b\nc").count(), 2);
    }
}
