//! A whole TOML text.

use crate::{Diagnostic, Diagnostics, SourceText, TomlTable, foreign};
use toml::Spanned;
use toml::de::DeTable;

/// A TOML text as a tree of spanned values. Where the syntax is broken, it holds the part that
/// could be read nevertheless.
#[derive(Debug)]
pub struct TomlDocument<'s> {
    root: Spanned<DeTable<'s>>,
}

impl<'s> TomlDocument<'s> {
    /// Reads a TOML text and reports all errors in its syntax, one per line. A file of another
    /// known kind, such as a DBC, is reported as a single error.
    #[must_use]
    pub fn parse(source: &'s SourceText, found: &mut Diagnostics) -> Self {
        let (root, errors) = DeTable::parse_recoverable(&source.text);
        if !errors.is_empty()
            && let Some(diagnostic) = foreign::recognise(source)
        {
            // Each of its lines would be an error, and each key missing: this diagnostic covers
            // them all.
            found.syntax(diagnostic, 0..source.text.len());
            return Self { root };
        }
        for error in errors {
            if found.is_full() {
                found.count_only();
                continue;
            }
            let end = source.text.len();
            let span = error.span().unwrap_or(end..end);
            let line = source.line_start(span.start)..source.line_end(span.start);
            let message = format!("not valid TOML: {}", error.message());
            found.syntax(Diagnostic::error(span, message), line);
        }
        Self { root }
    }

    /// Returns the top-level table.
    #[must_use]
    pub fn root<'t>(&'t self) -> TomlTable<'t> {
        TomlTable::new(self.root.get_ref(), 0..0, "the file".to_owned())
    }
}
