//! The collection of all diagnostics.

use crate::{Diagnostic, Severity};
use std::ops::Range;

/// Number of diagnostics that are kept. Further ones are only counted, so that a hostile file
/// cannot exhaust memory.
const KEPT: usize = 1000;

/// All mistakes in a text, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    left_out: usize,
    syntax: Vec<Range<usize>>,
}

impl Diagnostics {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic. Where the TOML syntax was broken already, further diagnostics about the
    /// same line are left out: they only follow from that.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let start = diagnostic.span.start;
        if self.syntax.iter().any(|line| line.contains(&start)) {
            return;
        }
        self.keep(diagnostic);
    }

    /// Adds an error about something that is missing. It is left out where the TOML syntax is
    /// broken: the missing item may be the one that could not be read.
    pub fn missing(&mut self, diagnostic: Diagnostic) {
        if self.syntax.is_empty() {
            self.push(diagnostic);
        }
    }

    /// Returns whether further diagnostics are kept, so that a hint is worth its cost.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.list.len() < KEPT
    }

    /// Returns whether the limit of syntax errors is reached, after which further ones are only
    /// counted.
    pub(crate) fn is_full(&self) -> bool {
        self.syntax.len() >= KEPT
    }

    /// Counts an error that is not kept.
    pub(crate) fn count_only(&mut self) {
        self.errors += 1;
        self.left_out += 1;
    }

    /// Adds an error in the TOML syntax; `line` is the whole line.
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

    /// Returns whether there is an error among the diagnostics.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of errors, including those that are not kept.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns the diagnostics that are kept.
    #[must_use]
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Returns all diagnostics that are kept, sorted by place, with a last one that counts the
    /// others.
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
