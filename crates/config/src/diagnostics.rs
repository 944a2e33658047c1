//! Where mistakes are collected.

use crate::{Diagnostic, Severity};
use std::ops::Range;

/// As many are kept; the rest is only counted, so that a hostile file cannot fill the memory.
const KEPT: usize = 1000;

/// All mistakes of a text, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    left_out: usize,
    syntax: Vec<Range<usize>>,
    heard: Option<Vec<Heard>>,
}

/// A table that was read to its end, and the keys that its reader asked for, present or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    /// What messages call the table.
    pub place: String,
    /// The keys.
    pub keys: Vec<&'static str>,
}

impl Diagnostics {
    /// Nothing found yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing found yet; which keys are asked for is remembered. For tests, which hold a schema
    /// against its reader.
    #[must_use]
    pub fn listening() -> Self {
        Self {
            heard: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Each table that was read to its end so far, if this is [listening](Self::listening).
    #[must_use]
    pub fn heard(&self) -> &[Heard] {
        self.heard.as_deref().unwrap_or_default()
    }

    pub(crate) fn hear(&mut self, place: &str, keys: &[&'static str]) {
        if let Some(heard) = &mut self.heard {
            heard.push(Heard {
                place: place.to_owned(),
                keys: keys.to_vec(),
            });
        }
    }

    /// Adds one. Where TOML's syntax was broken already, what is said about the same line is
    /// left out: it only follows from that.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let start = diagnostic.span.start;
        if self.syntax.iter().any(|line| line.contains(&start)) {
            return;
        }
        self.keep(diagnostic);
    }

    /// Adds an error that says that something is missing. Left out where TOML's syntax is
    /// broken: what is missing may be what could not be read.
    pub fn missing(&mut self, diagnostic: Diagnostic) {
        if self.syntax.is_empty() {
            self.push(diagnostic);
        }
    }

    /// Are further ones kept, so that a hint is worth its cost?
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.list.len() < KEPT
    }

    /// Are there so many errors of syntax that further ones are only counted?
    pub(crate) fn is_full(&self) -> bool {
        self.syntax.len() >= KEPT
    }

    /// Counts an error that is not kept.
    pub(crate) fn count_only(&mut self) {
        self.errors += 1;
        self.left_out += 1;
    }

    /// Adds an error of TOML's syntax; `line` is the whole line.
    pub(crate) fn syntax(&mut self, diagnostic: Diagnostic, line: Range<usize>) {
        let start = diagnostic.span.start;
        if self.syntax.iter().any(|line| line.contains(&start)) {
            return;
        }
        self.syntax.push(line.start..line.end + 1);
        self.keep(diagnostic);
    }

    fn keep(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() < KEPT {
            self.list.push(diagnostic);
        } else {
            self.left_out += 1;
        }
    }

    /// Is there an error among them?
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors there are, those that are not kept too.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Those that are kept.
    #[must_use]
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// All that are kept, sorted by place, with a last one that counts the others.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.span.start, d.span.end));
        if self.left_out > 0 {
            let end = self.list.last().map_or(0, |d| d.span.start);
            let text = format!("{} more mistakes are not shown", self.left_out);
            let mut last = Diagnostic::error(end..end, text);
            if self.errors == 0 {
                last.severity = Severity::Warning;
            }
            self.list.push(last);
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_counted() {
        let mut all = Diagnostics::new();
        for i in 0..2500 {
            all.push(Diagnostic::error(i..i, "x"));
        }
        assert_eq!(all.errors(), 2500);
        let list = all.into_sorted();
        assert_eq!(list.len(), KEPT + 1);
        assert_eq!(list[KEPT].message, "1500 more mistakes are not shown");
    }

    #[test]
    fn a_warning_is_no_error() {
        let mut all = Diagnostics::new();
        all.push(Diagnostic::warning(0..0, "x"));
        assert!(!all.has_errors());
    }
}
